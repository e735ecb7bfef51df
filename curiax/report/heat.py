"""The table of methods by worlds: a number in every cell, and a colour for its place on the scale of its world."""

from pathlib import Path
from typing import Any, NamedTuple

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes
from matplotlib.cm import ScalarMappable
from matplotlib.colors import Normalize, to_hex
from matplotlib.patches import Rectangle

from curiax.report.figure import save
from curiax.report.names import method_title
from curiax.report.read import Study
from curiax.report.scores import Interval, interval
from curiax.report.statistics import Estimate, solve_rate
from curiax.report.worlds import Scale, Worlds, all_or_nothing, normalise, num_solved
from curiax.studies.published import Published, published_in

MAP = "viridis"
GAP = 0.3  # above the published rows, in rows
EMPTY = ("#d9dce1", "#000000")  # background and text of a cell without a score
LIGHT = 0.179  # a background lighter than this has black text: the contrast with white is lower there


class Heat(NamedTuple):
    """A cell."""

    text: str
    more: str  # its interval, or the number of seeds that solved the world
    paint: str  # colour of the background
    ink: str  # colour of the text


def heat(study: Study, worlds: Worlds, setting: str, method: str) -> Heat:
    if (setting, method) not in worlds.seeds:
        return Heat("–", "", *EMPTY)
    values = worlds.seeds[setting, method]
    found = interval(values.tolist(), study.score_of(setting).bounds)
    more = spread(found)
    if all_or_nothing(worlds, setting):
        solved = num_solved(worlds, setting, method)
        more = solved_text(solved, len(values), solve_rate(solved, len(values)))
    return Heat(short(found.mean), more, *colours_of(values, worlds.scales[setting]))


def quoted(worlds: Worlds, setting: str, row: Published) -> Heat:
    """The cell of a published score, on the scale of the study."""
    if setting not in row.scores:
        return Heat("", "", "none", "#000000")
    score = row.scores[setting]
    more = "" if row.spread is None else f"± {short(row.spread)}"
    return Heat(short(score), more, *colours_of(np.array([score]), worlds.scales[setting]))


def colours_of(values: np.ndarray, scale: Scale) -> tuple[str, str]:
    """Background and text for a cell with these scores."""
    share = float(np.mean(normalise(values, scale)))
    paint = plt.get_cmap(MAP)(min(max(share, 0.0), 1.0))[:3]
    return to_hex(paint), "#000000" if luminance(paint) > LIGHT else "#ffffff"


def sources_of(rows: list[Published]) -> dict[str, str]:
    """Source -> the letter that stands for it."""
    return {source: "abcdefgh"[index] for index, source in enumerate(dict.fromkeys(row.source for row in rows))}


def luminance(paint: tuple[float, ...]) -> float:
    """Relative luminance as WCAG defines it."""
    linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in paint]
    return float(np.dot([0.2126, 0.7152, 0.0722], linear))


def short(value: float) -> str:
    """Two digits after the point below 10, one below 100, none above."""
    digits = 2 if abs(value) < 9.995 else 1 if abs(value) < 99.95 else 0
    return f"{value:,.{digits}f}"


def spread(found: Interval) -> str:
    return f"[{short(found.low)}, {short(found.high)}]" if np.isfinite(found.low) else "one seed"


def solved_text(num_solved: int, num_seeds: int, rate: Estimate) -> str:
    """`2 of 3 solved [21, 94] %`."""
    return f"{num_solved} of {num_seeds} solved [{100 * rate.low:.0f}, {100 * rate.high:.0f}] %"


def draw_heat(study: Study, worlds: Worlds, paths: list[Path]) -> None:
    """Writes the table as a picture: a row per method, a column per world; published scores below, with a gap."""
    published = published_in(worlds.settings)
    letters = sources_of(published)
    rows = [
        (float(index), method_title(method), [heat(study, worlds, name, method) for name in worlds.settings])
        for index, method in enumerate(study.methods)
    ]
    rows += [
        (len(study.methods) + GAP + index, f"{row.name} ({letters[row.source]})", quoted_cells(worlds, row))
        for index, row in enumerate(published)
    ]
    size = (2.6 + 1.25 * len(worlds.settings), 1.5 + 0.42 * len(rows))
    figure, axes = plt.subplots(figsize=size, layout="constrained")
    axes.set_xlim(0, len(worlds.settings))
    axes.set_ylim(rows[-1][0] + 1, 0)
    for top, _, cells in rows:
        for column, cell in enumerate(cells):
            draw_cell(axes, column, top, cell)
    if published:
        figure.supxlabel("\n".join(f"({letter}) published: {source}" for source, letter in letters.items()), fontsize=8)
    axes.set_xticks(np.arange(len(worlds.settings)) + 0.5, [wrap(name) for name in worlds.settings], fontsize=8.5)
    axes.set_yticks([top + 0.5 for top, _, _ in rows], [title for _, title, _ in rows])
    axes.xaxis.tick_top()
    axes.tick_params(length=0)
    axes.spines[:].set_visible(False)
    scale = ScalarMappable(Normalize(0, 1), MAP)
    figure.colorbar(scale, ax=axes, label="normalised score", location="bottom", shrink=0.5, aspect=40, pad=0.02)
    save(figure, paths, dpi=160)


def quoted_cells(worlds: Worlds, row: Published) -> list[Heat]:
    return [quoted(worlds, setting, row) for setting in worlds.settings]


def draw_cell(axes: Axes, column: int, top: float, cell: Heat) -> None:
    axes.add_patch(Rectangle((column, top), 1, 1, facecolor=cell.paint, edgecolor="white", linewidth=1.5))
    middle: dict[str, Any] = {"color": cell.ink, "ha": "center", "va": "center"}
    axes.text(column + 0.5, top + (0.36 if cell.more else 0.5), cell.text, fontsize=9.5, **middle)
    axes.text(column + 0.5, top + 0.74, cell.more.replace(" solved", ""), fontsize=6.5, **middle)


def wrap(name: str) -> str:
    """`doorkey-5x5-noisy` on lines of up to twelve letters, where it has a hyphen."""
    lines = [""]
    for part in name.replace("-", "- ").split():
        lines = [*lines, part] if len(lines[-1] + part) > 12 and lines[-1] else [*lines[:-1], lines[-1] + part]
    return "\n".join(lines)

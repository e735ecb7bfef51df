"""The paper's figures: scores against steps, a panel per setting; and the losses, separately and together."""

from pathlib import Path
from typing import NamedTuple

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import MaxNLocator

from curiax.report.names import method_title
from curiax.report.read import RunData, Study
from curiax.report.scores import ERRORS, Curve, curve, grid
from curiax.types import Score

# Okabe and Ito's palette, for colour-blind readers too; a method has the same colour everywhere.
COLOURS = {
    "byol-hindsight": "#0072b2",
    "byol-explore": "#d55e00",
    "rnd": "#009e73",
    "icm": "#cc79a7",
    "icm+hindsight": "#56b4e9",
}
MAX_COLUMNS = 6
SPARE = ("#e69f00", "#888888", "#b3a800")
MORE = ("#7a6ad8", "#b8406f", "#2f9e8f", "#a8582a", "#c77cd0", "#7d8f2b")  # for studies with many methods
# The rows of the losses' figure, from the top, if a run has logged them.
LOSSES = {
    "noise_dwell": "noise dwell",
    "prediction_error": "prediction error",
    "reconstruction_error": "reconstruction error",
    "hindsight_only_error": "error of z alone",
    "target_variance": "targets' variance",
    "contrastive_value": "contrastive value, nats",
    "entropy": "entropy of the policy",
}


class Stroke(NamedTuple):
    """How a loss is drawn."""

    title: str
    colour: str
    style: str = "-"


# Figures 15, 16 and 18, with the paper's names; highest first, as in the paper. The first four have the same unit.
OUTCOMES = {
    "target_variance": Stroke("variance of the target", "#6b7280", "--"),
    "hindsight_only_error": Stroke("hindsight-only loss: from z", "#009e73"),
    "prediction_error": Stroke("prediction loss: from x, a", "#d55e00"),
    "reconstruction_error": Stroke("reconstruction loss: from x, a, z", "#0072b2"),
    "contrastive_value": Stroke("invariance loss, nats", "#cc79a7", ":"),
}


def colours(methods: list[str]) -> dict[str, str]:
    """A colour per method. A variant of a method takes one that no method of the study has."""
    known = {name: COLOURS[name] for name in methods if name in COLOURS}
    spare = [colour for colour in (*SPARE, *COLOURS.values(), *MORE) if colour not in known.values()]
    variants = [name for name in methods if name not in known]
    return known | {name: spare[index % len(spare)] for index, name in enumerate(variants)}


def draw_figure(study: Study, paths: list[Path]) -> None:
    """Writes the figure to each path, in the format of its name. Every score starts a new row of panels."""
    edges, palette = grid(study), colours(study.methods)
    found = [(score, drawn) for score in study.scores if (drawn := drawn_settings(study, score))]
    width = min(max(len(drawn) for _, drawn in found), MAX_COLUMNS)
    rows = [(score, drawn[start : start + width]) for score, drawn in found for start in range(0, len(drawn), width)]
    size = (3.1 * width + 0.6, 2.8 * len(rows) + 0.6)
    figure, panels = plt.subplots(len(rows), width, figsize=size, squeeze=False, layout="constrained")
    lines = {}
    for (score, settings), row in zip(rows, panels, strict=True):
        for axes, setting in zip(row, settings, strict=False):
            lines |= draw_panel(study, axes, setting, score.metric, edges, palette)
            decorate(axes, setting, edges, study.step_name)
        row[0].set_ylabel(score.title)
        for axes in row[len(settings) :]:
            axes.set_axis_off()
        limit(study, score, list(row[: len(settings)]))
    add_legend(figure, lines, min(4, width + 1))
    save(figure, paths, dpi=160)


def save(figure: Figure, paths: list[Path], dpi: int) -> None:
    for path in paths:
        figure.savefig(path, dpi=dpi, metadata={"Date": None} if path.suffix == ".svg" else None)
    plt.close(figure)


def drawn_settings(study: Study, score: Score) -> list[str]:
    """The settings that have a score and logged it."""
    found = {run.setting for run in study.logged if score.metric in run.metrics}
    return [setting for setting in study.settings_with(score) if setting in found]


def limit(study: Study, score: Score, row: list[Axes]) -> None:
    """Panels show the whole range of a score if it is finite. Otherwise they start at zero or below, and panels of one
    environment have the same scale."""
    low, high = score.bounds
    if np.isfinite([low, high]).all():
        for axes in row:
            axes.set_ylim(low, high + (high - low) / 80)
            axes.yaxis.set_major_locator(MaxNLocator(5, integer=True))
            axes.tick_params(labelleft=axes is row[0])
        return
    limits = [axes.get_ylim() for axes in row]
    one_scale = one_environment(study)
    for axes, (low, high) in zip(row, limits, strict=True):
        top = max(limit[1] for limit in limits) if one_scale else high
        axes.set_ylim(min(0, min(limit[0] for limit in limits) if one_scale else low), max(top, 1))


def one_environment(study: Study) -> bool:
    return len({run.config.get("env") for run in study.logged}) == 1


def draw_panel(
    study: Study, axes: Axes, setting: str, name: str, edges: np.ndarray, palette: dict[str, str]
) -> dict[str, Line2D]:
    """Draws a curve for each method that logged the metric; returns the lines by title."""
    lines = {}
    for method in study.methods:
        found = curve(study.group(setting, method), name, edges)
        if found is not None:
            title = method_title(method)
            lines[title] = draw_curve(axes, edges, found, palette[method], title)
    if not any(np.isfinite(line.get_ydata()).any() for line in lines.values()):
        axes.text(0.5, 0.5, "no values so far", transform=axes.transAxes, ha="center", color="#6b7280")
    return lines


def draw_losses(study: Study, paths: list[Path]) -> None:
    """Dwell, losses and entropy against steps: a row for each, a column per setting; transposed if there are many
    settings."""
    edges, palette = grid(study), colours(study.methods)
    names = [name for name in LOSSES if any(np.any(run.metrics.get(name, 0) != 0) for run in study.logged)]
    for path in paths if not names else ():
        path.unlink(missing_ok=True)  # of an earlier report
    if not names:
        return
    turned = len(study.settings) > MAX_COLUMNS
    down, across = (study.settings, names) if turned else (names, study.settings)
    figure, panels = plt.subplots(
        len(down),
        len(across),
        figsize=(3.6 * len(across) + 0.8, 1.9 * len(down) + 0.8),
        sharex=True,
        sharey="col" if turned else "row",
        squeeze=False,
        layout="constrained",
    )
    panels, lines = (panels.T if turned else panels), {}
    for (row, column), axes in np.ndenumerate(panels):
        lines |= draw_panel(study, axes, study.settings[column], names[row], edges, palette)
        axes.set_xlim(0, edges[-1] / 1e6)
        axes.grid(axis="y", color="#e5e7ea", linewidth=0.8)
        axes.spines[["top", "right"]].set_visible(False)
    for row, name in zip(panels, names, strict=True):
        label(row[0], LOSSES[name], turned)
        if name in ERRORS and spans_decades(row):
            row[0].set_yscale("log")  # the others share it
        else:
            row[0].set_ylim(bottom=min(0, row[0].get_ylim()[0]))
    for axes, setting in zip(panels[0], study.settings, strict=True):
        label(axes, setting, not turned)
    for axes in panels[:, -1] if turned else panels[-1]:
        axes.set_xlabel(f"{study.step_name}, millions")
    add_legend(figure, lines, len(study.settings) + 1)
    save(figure, paths, dpi=130)


def spans_decades(row: np.ndarray) -> bool:
    """True if the curves of these panels are positive and differ by more than a hundred times."""
    curves = [np.asarray(line.get_ydata(), float) for axes in row for line in axes.get_lines()]
    values = np.concatenate([curve[np.isfinite(curve)] for curve in curves]) if curves else np.zeros(0)
    return bool(values.size and values.min() > 0 and values.max() > 100 * values.min())


def draw_outcomes(study: Study, paths: list[Path]) -> bool:
    """Draws all outcome losses of a method on one axis, a panel per setting. Returns False if there are none."""
    for path in paths:
        path.unlink(missing_ok=True)  # of an earlier report
    pairs = [(name, method) for method in study.methods for name in study.settings if compares(study, name, method)]
    if not pairs:
        return False
    edges, (settings, methods) = grid(study), (len(set(names)) for names in zip(*pairs, strict=True))
    width = min(settings if settings > 1 else methods, MAX_COLUMNS)
    height = -(-len(pairs) // width)
    size = (max(3.3 * width, 5.0) + 0.6, 2.9 * height + 0.8)
    figure, panels = plt.subplots(height, width, figsize=size, squeeze=False, layout="constrained")
    lines, drawn = {}, list(panels.flat)[: len(pairs)]
    for axes, (setting, method) in zip(drawn, pairs, strict=True):
        lines |= draw_together(axes, study.group(setting, method), edges)
        decorate(axes, f"{setting}\n{method_title(method)}" if methods > 1 else setting, edges, study.step_name)
    for axes in list(panels.flat)[len(pairs) :]:
        axes.set_axis_off()
    for axes in panels[:, 0]:
        axes.set_ylabel("loss")
    tops = [highest(study.group(*pair), edges) for pair in pairs]
    for axes, top in zip(drawn, tops, strict=True):
        top = max(tops) if one_environment(study) else top
        axes.set_ylim(-0.05 * top, 1.1 * top)
    titles = [stroke.title for stroke in OUTCOMES.values() if stroke.title in lines]
    add_legend(figure, {title: lines[title] for title in titles}, len(titles))
    save(figure, paths, dpi=130)
    return True


def compares(study: Study, setting: str, method: str) -> bool:
    """True if a run logged both the prediction and the reconstruction error."""
    both = ("prediction_error", "reconstruction_error")
    runs = study.group(setting, method)
    return any(all(np.any(np.isfinite(run.metrics.get(name, np.nan))) for name in both) for run in runs)


def draw_together(axes: Axes, runs: list[RunData], edges: np.ndarray) -> dict[str, Line2D]:
    """Draws a curve for each loss that was logged, the invariance loss behind the others: it has another unit. Returns
    the lines by title."""
    lines = {}
    for name, stroke in OUTCOMES.items():
        found = curve(runs, name, edges)
        if found is None:
            continue
        if name not in ERRORS:
            found = found._replace(seeds=found.seeds[:1])  # the mean alone
        line = draw_curve(axes, edges, found, stroke.colour, stroke.title)
        line.set(linestyle=stroke.style, zorder=2.0 if name in ERRORS else 1.9)
        lines[stroke.title] = line
    return lines


def highest(runs: list[RunData], edges: np.ndarray) -> float:
    """The largest mean error after the first tenth of training. Errors at the start are so much larger that the rest
    would look flat."""
    found = [curve(runs, name, edges) for name in ERRORS]
    later = [one.mean[len(one.mean) // 10 :] for one in found if one is not None]
    return float(np.max(np.nan_to_num(np.concatenate(later)), initial=1e-6))


def add_legend(figure: Figure, lines: dict[str, Line2D], most: int) -> None:
    """A legend below the panels, in as many columns as fit."""
    for columns in range(most, 0, -1):
        legend = figure.legend(lines.values(), lines.keys(), loc="outside lower center", ncols=columns, frameon=False)
        if legend.get_window_extent().width <= figure.bbox.width or columns == 1:
            return
        legend.remove()


def label(axes: Axes, text: str, above: bool) -> None:
    if above:
        axes.set_title(text, fontsize=11)
    else:
        axes.set_ylabel(text)


def draw_curve(axes: Axes, edges: np.ndarray, found: Curve, colour: str, label: str) -> Line2D:
    middle = (edges[:-1] + edges[1:]) / 2e6
    if len(found.seeds) > 2:  # the interval of two seeds is as wide as the panel
        axes.fill_between(middle, found.low, found.high, color=colour, alpha=0.15, linewidth=0)
    if len(found.seeds) > 1:
        axes.plot(middle, found.seeds.T, color=colour, alpha=0.35, linewidth=0.6)
    point = np.isfinite(found.mean).sum() == 1  # a line through one point is invisible
    return axes.plot(middle, found.mean, color=colour, linewidth=1.8, label=label, marker="o" if point else "")[0]


def decorate(axes: Axes, title: str, edges: np.ndarray, steps: str) -> None:
    axes.set_title(title, fontsize=11)
    axes.set_xlabel(f"{steps}, millions")
    axes.set_xlim(0, edges[-1] / 1e6)
    axes.grid(axis="y", color="#e5e7ea", linewidth=0.8)
    axes.set_axisbelow(True)
    axes.spines[["top", "right"]].set_visible(False)

"""The table of final scores, as HTML and as CSV."""

import csv
from html import escape
from pathlib import Path

import numpy as np

from curiax.report.figure import colours
from curiax.report.read import RunData, Study
from curiax.report.scores import CURVES, RANGES, TRACKERS, Interval, binned, final, first_reach, grid, interval
from curiax.report.subject import MAZE, Subject, logged_scores, subject_of
from curiax.report.words import method_title, setting_brief, steps
from curiax.studies.scores import Score

ROOMS = (("rooms", "Rooms of an episode"), ("rooms_found", "Rooms found"))  # metric, its column
WIDTH, HEIGHT, INSET = 130, 18, 6  # of the plot in a row, pixels


def scores_table(study: Study) -> str:
    head = "".join(f'<th scope="col">{text}</th>' for text in heads(study))
    bodies = "".join(setting_rows(study, setting) for setting in study.settings)
    return f"<table><thead><tr>{head}</tr></thead>{bodies}</table>"


def heads(study: Study) -> list[str]:
    """Of the columns: method, score, its plot, and others."""
    if subject_of(study) == MAZE:
        reached = [f"R{number} reached" for number in (1, 2, 3, 4)]
        return ["Method", "Regions per episode, 0 to 4", "", "Noise in view", *reached]
    noise = ["Noise dwell"] if any(map(noisy, study.logged)) else []
    return [
        "Method",
        "Return of an episode",
        "",
        *noise,
        *(title for name, title in ROOMS if name in logged_scores(study)),
    ]


def noisy(run: RunData) -> bool:
    """Was there noise laid over the game, or did the environment tell of any?"""
    laid = run.config.get("atari", {}).get("noise", "none") != "none"
    return laid or bool(np.any(np.nan_to_num(run.metrics.get("noise_dwell", 0.0))))


def setting_rows(study: Study, setting: str) -> str:
    title = f"{escape(setting)}<small>{escape(setting_brief(study, setting))}</small>"
    rows = [f'<tr class="setting"><th colspan="{len(heads(study))}" scope="rowgroup">{title}</th></tr>']
    palette, subject = colours(study.methods), subject_of(study)
    groups = {method: runs for method in study.methods if (runs := study.group(setting, method))}
    for method, runs in groups.items():
        first = f'<th scope="row">{swatch(palette[method])}{escape(method_title(method))}{so_far(runs)}</th>'
        bounds = subject.bounds or span([run for group in groups.values() for run in group])
        others = maze_cells(runs) if subject == MAZE else game_cells(study, runs)
        cells = [first, *score_cells(subject, runs, bounds, palette[method]), *others]
        rows.append(f"<tr>{''.join(cells)}</tr>")
    return f"<tbody>{''.join(rows)}</tbody>"


def swatch(colour: str) -> str:
    return f'<span class="swatch" style="background:{colour}"></span>'


def so_far(runs: list[RunData]) -> str:
    done = np.mean([run.progress for run in runs])
    return "" if done == 1 else f" <small>{100 * done:.0f} % done</small>"


def span(runs: list[RunData]) -> tuple[float, float]:
    """From zero to the largest return, or from the lowest if that is below zero."""
    returns = [value for run in runs if np.isfinite(value := final(run, "return"))]
    return min([0.0, *returns]), max([1.0, *returns])


def score_cells(subject: Subject, runs: list[RunData], bounds: tuple[float, float], colour: str) -> list[str]:
    name = next(iter(subject.scores))
    scores = [final(run, name) for run in runs]
    score = interval(scores, RANGES.get(name, (-np.inf, np.inf)))
    title = "Regions per episode" if subject == MAZE else "Return"
    return [
        cell(title, f"<b>{number(score.mean)}</b> <small>{spread(score)}</small>"),
        f'<td class="plot">{dot_plot(score, scores, bounds, colour)}</td>',
    ]


def maze_cells(runs: list[RunData]) -> list[str]:
    dwell = interval([final(run, "noise_dwell") for run in runs], RANGES["noise_dwell"])
    regions = [cell(f"R{index} reached", reach(runs, tracker)) for index, tracker in enumerate(TRACKERS, 1)]
    return [cell("Noise in view", percent(dwell)), *regions]


def game_cells(study: Study, runs: list[RunData]) -> list[str]:
    found = []
    if any(map(noisy, study.logged)):
        dwell = interval([final(run, "noise_dwell") for run in runs], RANGES["noise_dwell"])
        found.append(cell("Noise dwell", percent(dwell) if any(map(noisy, runs)) else "no noise"))
    for name, title in ROOMS:
        if name in logged_scores(study):
            rooms = interval([final(run, name) for run in runs], RANGES[name])
            found.append(cell(title, f"{number(rooms.mean)} <small>{spread(rooms)}</small>"))
    return found


def cell(label: str, content: str) -> str:
    return f'<td data-label="{label}"><span>{content}</span></td>'


def number(value: float) -> str:
    return f"{value:,.{places(value)}f}" if np.isfinite(value) else "–"


def places(value: float) -> int:
    """Digits after the point: of a large number none."""
    return 2 if abs(value) < 100 else 0


def spread(value: Interval) -> str:
    if np.isfinite(value.low):
        return f"[{number(value.low)}, {number(value.high)}]"
    return "one seed" if value.num_seeds else ""


def percent(value: Interval) -> str:
    """`12 % [8, 16]`."""
    bounds = f" <small>[{100 * value.low:.0f}, {100 * value.high:.0f}]</small>" if np.isfinite(value.low) else ""
    return f"{100 * value.mean:.0f} %{bounds}" if np.isfinite(value.mean) else "–"


def reach(runs: list[RunData], tracker: str) -> str:
    """The median over seeds, and how many seeds got there if not all. A seed that never did counts as infinite."""
    found = np.nan_to_num([first_reach(run, tracker) for run in runs], nan=np.inf)
    median = np.sort(found)[(len(found) - 1) // 2]
    share = f" <small>{np.isfinite(found).sum()} of {len(found)}</small>" if np.isinf(found).any() else ""
    return (steps(median) if np.isfinite(median) else "never") + (share if len(found) > 1 else "")


def dot_plot(score: Interval, seeds: list[float], bounds: tuple[float, float], colour: str) -> str:
    """Seeds as dots, the interval as a line, on a rail with five marks."""
    low, high = bounds

    def x(value: int | float) -> float:
        share = (min(max(value, low), high) - low) / (high - low)
        return INSET + (WIDTH - 2 * INSET) * share

    marks = [float(mark) for mark in np.linspace(low, high, 5)]
    middle = HEIGHT / 2
    parts = [f'<line class="rail" x1="{x(low)}" x2="{x(high)}" y1="{middle}" y2="{middle}"/>']
    parts += [f'<line class="rail" x1="{x(v)}" x2="{x(v)}" y1="{middle - 3}" y2="{middle + 3}"/>' for v in marks]
    if np.isfinite(score.low):
        line = f'x1="{x(score.low):.1f}" x2="{x(score.high):.1f}" y1="{middle}" y2="{middle}"'
        parts.append(f'<line {line} stroke="{colour}" stroke-width="6" stroke-linecap="round" opacity="0.25"/>')
    dots = [value for value in seeds if np.isfinite(value)]
    parts += [f'<circle cx="{x(value):.1f}" cy="{middle}" r="3.2" fill="{colour}"/>' for value in dots]
    return f'<svg class="dots" viewBox="0 0 {WIDTH} {HEIGHT}" aria-hidden="true">{"".join(parts)}</svg>'


def all_scores(study: Study) -> list[Score]:
    """The rows of scores.csv; of an unfinished run, how it stands at env_steps."""
    name = next(iter(subject_of(study).scores))
    return [
        Score(
            run.setting,
            run.method,
            run.seed,
            score=final(run, name),
            noise_dwell=final(run, "noise_dwell"),
            env_steps=run.env_steps,
            wall_minutes=float(run.metrics["seconds"][-1]) / 60,
            entropy=final(run, "entropy"),
            rooms=final(run, "rooms"),
            rooms_found=final(run, "rooms_found"),
        )
        for run in in_order(study)
    ]


def write_curves(study: Study, path: Path) -> None:
    """One row per run and bin: the points of the page's curves."""
    edges = grid(study)
    with path.open("w", newline="") as file:
        rows = csv.writer(file, lineterminator="\n")
        rows.writerow(["setting", "method", "seed", "env_steps", *CURVES])
        for run in in_order(study):
            values = [binned(run, name, edges) for name in CURVES]
            for middle, *row in zip((edges[:-1] + edges[1:]) / 2, *values, strict=True):
                if np.isfinite(row).any():
                    rows.writerow([run.setting, run.method, run.seed, round(middle), *map(digits, row)])


def in_order(study: Study) -> list[RunData]:
    return [run for setting in study.settings for method in study.methods for run in study.group(setting, method)]


def digits(value: float) -> str:
    """Four significant digits; nothing for NaN."""
    return f"{value:.4g}" if np.isfinite(value) else ""

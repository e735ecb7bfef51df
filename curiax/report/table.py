"""The table of final scores on the page, and the numbers as CSV files."""

import itertools
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from curiax.report.figure import colours
from curiax.report.names import (
    capital,
    has_noise,
    method_title,
    noise_title,
    noisy,
    score_title,
    setting_brief,
    steps,
)
from curiax.report.read import RunData, Study
from curiax.report.scores import Interval, binned, curve_names, final, final_interval, first_reach, grid
from curiax.report.templates import render
from curiax.studies.base import Member
from curiax.studies.scores import Result, result
from curiax.training.run.files import write_csv
from curiax.types import Score

WIDTH, HEIGHT, INSET = 130, 18, 6  # of the plot in a row, pixels
NUM_MARKS = 5  # on its axis


class Cell(NamedTuple):
    """`text` and beside it, smaller, `more`."""

    text: str
    more: str = ""


class Plot(NamedTuple):
    """Pixels from the left: the marks of the axis, the interval if there is one, a dot per seed."""

    marks: list[float]
    interval: tuple[float, float] | None
    dots: list[float]


class Row(NamedTuple):
    method: str
    colour: str
    progress: str  # "" if all runs are finished
    score: Cell
    plot: Plot
    others: list[Cell]


def scores_table(study: Study) -> str:
    """As HTML."""
    settings = [(name, setting_note(study, name), setting_rows(study, name)) for name in study.settings]
    return render("table.html", heads=heads(study), settings=settings, width=WIDTH, height=HEIGHT)


def setting_note(study: Study, setting: str) -> str:
    """What it is, and its score if that is not the score of all."""
    about, score = setting_brief(study, setting), study.score_of(setting)
    return about if score == study.score else f"{about}; score: {score_title(score)}"


def other_scores(study: Study) -> list[Score]:
    """The scores that are not the first of their environment."""
    return [score for score in study.scores if any(score in run.profile.scores[1:] for run in study.logged)]


def heads(study: Study) -> list[str]:
    """Heads of the columns: method, score, its plot, and the others."""
    first, others = study.score, other_scores(study)
    noise = [noise_title(study)] if has_noise(study) else []
    titles = [*noise, *(capital(score.title) for score in others), *(f"{part} reached" for _, part in first.parts)]
    return ["Method", score_title(first), "", *titles]


def setting_rows(study: Study, setting: str) -> list[Row]:
    """A row per method."""
    palette = colours(study.methods)
    groups = {method: runs for method in study.methods if (runs := study.group(setting, method))}
    span = plot_span(study.score_of(setting), [run for group in groups.values() for run in group])
    return [setting_row(study, method, runs, palette[method], span) for method, runs in groups.items()]


def setting_row(study: Study, method: str, runs: list[RunData], colour: str, span: tuple[float, float]) -> Row:
    first, *others = runs[0].profile.scores
    score, done = final_interval(runs, first.metric), np.mean([run.progress for run in runs])
    cells = [score_cell(runs, one) if one in others else Cell("–") for one in other_scores(study)]
    if has_noise(study):
        cells.insert(0, noise_cell(runs))
    return Row(
        method=method_title(method),
        colour=colour,
        progress="" if done == 1 else f"{100 * done:.0f} % done",
        score=Cell(number(score.mean), spread(score)),
        plot=plot(score, [final(run, first.metric) for run in runs], span),
        others=cells + [reach(runs, part) for part, _ in study.score.parts],
    )


def score_cell(runs: list[RunData], score: Score) -> Cell:
    found = final_interval(runs, score.metric)
    return Cell(number(found.mean), spread(found))


def plot_span(score: Score, runs: list[RunData]) -> tuple[float, float]:
    """The ends of the plot's axis: the score's bounds if they are finite, else zero and the extremes."""
    if np.isfinite(score.bounds).all():
        return score.bounds
    values = [value for run in runs if np.isfinite(value := final(run, score.metric))]
    return min([0.0, *values]), max([1.0, *values])


def noise_cell(runs: list[RunData]) -> Cell:
    """`12 %` and `[8, 16]`."""
    dwell = final_interval(runs, "noise_dwell")
    if not runs[0].profile.noise and not any(map(noisy, runs)):
        return Cell("no noise")
    bounds = f"[{100 * dwell.low:.0f}, {100 * dwell.high:.0f}]" if np.isfinite(dwell.low) else ""
    return Cell(f"{100 * dwell.mean:.0f} %", bounds) if np.isfinite(dwell.mean) else Cell("–")


def number(value: float) -> str:
    """With two digits after the point if it is below 100; `–` for NaN."""
    return f"{value:,.{2 if abs(value) < 100 else 0}f}" if np.isfinite(value) else "–"


def spread(value: Interval) -> str:
    if np.isfinite(value.low):
        return f"[{number(value.low)}, {number(value.high)}]"
    return "one seed" if value.num_seeds else ""


def reach(runs: list[RunData], part: str) -> Cell:
    """Steps until a part of the score is reached, median over seeds; also how many seeds reached it if not all did."""
    found = np.nan_to_num([first_reach(run, part) for run in runs], nan=np.inf)
    median = np.sort(found)[(len(found) - 1) // 2]
    some = len(found) > 1 and np.isinf(found).any()
    share = f"{np.isfinite(found).sum()} of {len(found)}" if some else ""
    return Cell(steps(median) if np.isfinite(median) else "never", share)


def plot(score: Interval, seeds: list[float], span: tuple[float, float]) -> Plot:
    low, high = span

    def place(value: float) -> float:
        share = (min(max(value, low), high) - low) / (high - low)
        return round(INSET + (WIDTH - 2 * INSET) * float(share), 1)

    return Plot(
        marks=[place(mark) for mark in np.linspace(low, high, NUM_MARKS)],
        interval=(place(score.low), place(score.high)) if np.isfinite(score.low) else None,
        dots=[place(value) for value in seeds if np.isfinite(value)],
    )


def all_results(study: Study) -> list[Result]:
    """The rows of scores.csv; an unfinished run has its values so far."""
    return [
        result(Member(run.setting, run.method, run.seed), run.metrics, run.profile.scores) for run in in_order(study)
    ]


def write_curves(study: Study, path: Path) -> None:
    """One row per run and bin: the points of the page's curves."""
    names = curve_names(study)
    rows = itertools.chain.from_iterable(curve_rows(run, names, grid(study)) for run in in_order(study))
    write_csv(path, ["setting", "method", "seed", "env_steps", *names], rows)


def curve_rows(run: RunData, names: list[str], edges: np.ndarray) -> Iterator[list[Any]]:
    """A row for each bin that has a value."""
    values = [binned(run, name, edges) for name in names]
    for middle, *row in zip((edges[:-1] + edges[1:]) / 2, *values, strict=True):
        if np.isfinite(row).any():
            yield [run.setting, run.method, run.seed, round(middle), *map(digits, row)]


def in_order(study: Study) -> list[RunData]:
    return [run for pair in study.pairs for run in study.group(*pair)]


def digits(value: float) -> str:
    """Four significant digits; "" for NaN."""
    return f"{value:.4g}" if np.isfinite(value) else ""

"""Methods over all worlds of a study: interquartile means, and probabilities of improvement over one method."""

from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes
from matplotlib.layout_engine import ConstrainedLayoutEngine

from curiax.errors import UserError, unknown_name
from curiax.report.figure import colours, save
from curiax.report.names import count, enumerate_words, method_title
from curiax.report.read import Study
from curiax.report.statistics import Estimate, estimate, interquartile_mean, probability_of_improvement
from curiax.report.worlds import Worlds, comparable

EVEN = 0.5  # the probability of improvement if neither is better


class Aggregate(NamedTuple):
    """A method over all worlds."""

    method: str
    mean: Estimate  # interquartile
    improvement: Estimate | None  # over the reference; None for the reference itself


def aggregates(worlds: Worlds, reference: str) -> list[Aggregate]:
    """Every method that has a score in all worlds, the best first."""
    scores = {method: worlds.normalised(method) for method in worlds.methods}
    found = [
        Aggregate(
            method,
            estimate(interquartile_mean, own),
            None if method == reference else estimate(probability_of_improvement, own, scores[reference]),
        )
        for method, own in scores.items()
    ]
    return sorted(found, key=lambda one: -one.mean.value)


def reference_of(worlds: Worlds, named: str | None) -> str | None:
    """The method that the others are compared with over all worlds: the named one, or the first; None if there are no
    others, or there is one world."""
    if named is None:
        return worlds.methods[0] if comparable(worlds) else None
    if named in worlds.missing:
        raise UserError(f"--against {named}: has no score in {enumerate_words(worlds.missing[named])}")
    if named not in worlds.methods:
        raise UserError(unknown_name("--against", named, worlds.methods))
    if not comparable(worlds):
        raise UserError(f"--against {named}: needs several worlds, and another method that has a score in all of them")
    return named


def draw_aggregate(study: Study, worlds: Worlds, reference: str, paths: list[Path]) -> None:
    """A row per method. Left: interquartile mean of normalised scores. Right: probability of improvement."""
    rows, palette = aggregates(worlds, reference), colours(study.methods)
    size = (9.6, 1.3 + 0.34 * len(rows))
    figure, (left, right) = plt.subplots(1, 2, figsize=size, sharey=True, layout=ConstrainedLayoutEngine(wspace=0.06))
    for height, row in enumerate(rows):
        draw_estimate(left, height, row.mean, palette[row.method])
        if row.improvement is not None:
            draw_estimate(right, height, row.improvement, palette[row.method])
    number = count(len(worlds.settings), "world")
    left.set_xlabel(f"interquartile mean of normalised scores, {number}")
    right.set_xlabel(f"probability of improvement over {method_title(reference)}")
    right.axvline(EVEN, color="#6b7280", linewidth=1, linestyle="--")
    widen(left, [one for row in rows for one in row.mean])
    widen(right, [])
    left.set_yticks(range(len(rows)), [method_title(row.method) for row in rows])
    left.set_ylim(len(rows) - 0.4, -0.6)
    save(figure, paths, dpi=160)


def draw_estimate(axes: Axes, height: int, found: Estimate, colour: str) -> None:
    axes.plot([found.low, found.high], [height] * 2, color=colour, alpha=0.35, linewidth=7, solid_capstyle="butt")
    axes.plot(found.value, height, "o", color=colour, markersize=6)


def widen(axes: Axes, values: Iterable[float]) -> None:
    """From 0 to 1, or to the values that lie outside."""
    known = [value for value in values if np.isfinite(value)]
    axes.set_xlim(min([0.0, *known]) - 0.02, max([1.0, *known]) + 0.02)
    axes.grid(axis="x", color="#e5e7ea", linewidth=0.8)
    axes.set_axisbelow(True)
    axes.spines[["top", "right", "left"]].set_visible(False)
    axes.tick_params(left=False)

"""The paper's figure, trackers per episode against environment steps, one panel per setting; the losses likewise."""

from pathlib import Path

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes
from matplotlib.lines import Line2D

from curiax.report.read import Study
from curiax.report.scores import Curve, curve, grid
from curiax.report.words import method_title

# Okabe and Ito's palette, told apart by colour-blind readers too; a method has one colour everywhere.
COLOURS = {
    "byol-hindsight": "#0072b2",
    "byol-explore": "#d55e00",
    "rnd": "#009e73",
    "icm": "#cc79a7",
    "icm+hindsight": "#56b4e9",
}
SPARE = ("#e69f00", "#888888", "#b3a800")
# What the losses' figure shows, from the top, where a run has logged it.
LOSSES = {
    "noise_dwell": "noise dwell",
    "prediction_error": "prediction error",
    "reconstruction_error": "reconstruction error",
    "hindsight_only_error": "error of z alone",
    "target_variance": "targets' variance",
    "contrastive_value": "contrastive value, nats",
    "entropy": "entropy of the policy",
}


def colours(methods: list[str]) -> dict[str, str]:
    """A variant of a method has no colour of its own: it takes one that no method of the study has."""
    known = {name: COLOURS[name] for name in methods if name in COLOURS}
    spare = [colour for colour in (*SPARE, *COLOURS.values()) if colour not in known.values()]
    variants = [name for name in methods if name not in known]
    return known | {name: spare[index % len(spare)] for index, name in enumerate(variants)}


def draw_figure(study: Study, paths: list[Path]) -> None:
    """Writes the same figure to each path, in the format of its name."""
    edges, palette = grid(study), colours(study.methods)
    size = (3.1 * len(study.settings) + 0.6, 3.4)
    figure, panels = plt.subplots(
        1, len(study.settings), figsize=size, sharey=True, squeeze=False, layout="constrained"
    )
    for axes, setting in zip(panels[0], study.settings, strict=True):
        for method in study.methods:
            found = curve(study.group(setting, method), "trackers", edges)
            if found is not None:
                draw_curve(axes, edges, found, palette[method], method_title(method))
        decorate(axes, setting, edges)
    panels[0, 0].set_ylabel("trackers touched per episode")
    handles = {line.get_label(): line for axes in panels[0] for line in axes.get_lines() if line.get_label()[0] != "_"}
    figure.legend(handles.values(), handles.keys(), loc="outside lower center", ncols=4, frameon=False)
    for path in paths:
        figure.savefig(path, dpi=160, metadata={"Date": None} if path.suffix == ".svg" else None)
    plt.close(figure)


def draw_losses(study: Study, paths: list[Path]) -> None:
    """Dwell, losses and entropy against environment steps: a row for each, a column for each setting."""
    edges, palette = grid(study), colours(study.methods)
    names = [name for name in LOSSES if any(name in run.metrics for run in study.logged)]
    size = (3.6 * len(study.settings) + 0.8, 1.9 * len(names) + 0.8)
    figure, panels = plt.subplots(
        len(names), len(study.settings), figsize=size, sharex=True, sharey="row", squeeze=False, layout="constrained"
    )
    lines = {}
    for (row, column), axes in np.ndenumerate(panels):
        for method in study.methods:
            found = curve(study.group(study.settings[column], method), names[row], edges)
            if found is not None:
                lines[method] = draw_curve(axes, edges, found, palette[method], method_title(method))
        axes.set_xlim(0, edges[-1] / 1e6)
        axes.grid(axis="y", color="#e5e7ea", linewidth=0.8)
        axes.spines[["top", "right"]].set_visible(False)
    for axes, name in zip(panels[:, 0], names, strict=True):
        axes.set_ylabel(LOSSES[name])
        axes.set_ylim(bottom=min(0, axes.get_ylim()[0]))
    for axes, setting in zip(panels[0], study.settings, strict=True):
        axes.set_title(setting, fontsize=11)
    for axes in panels[-1]:
        axes.set_xlabel("environment steps, millions")
    figure.legend(
        lines.values(),
        map(method_title, lines),
        loc="outside lower center",
        ncols=len(study.settings) + 1,
        frameon=False,
    )
    for path in paths:
        figure.savefig(path, dpi=130)
    plt.close(figure)


def draw_curve(axes: Axes, edges: np.ndarray, found: Curve, colour: str, label: str) -> Line2D:
    middle = (edges[:-1] + edges[1:]) / 2e6
    if len(found.seeds) > 2:  # the interval of two is as wide as the panel
        axes.fill_between(middle, found.low, found.high, color=colour, alpha=0.15, linewidth=0)
    if len(found.seeds) > 1:
        axes.plot(middle, found.seeds.T, color=colour, alpha=0.35, linewidth=0.6)
    return axes.plot(middle, found.mean, color=colour, linewidth=1.8, label=label)[0]


def decorate(axes: Axes, setting: str, edges: np.ndarray) -> None:
    axes.set_title(setting, fontsize=11)
    axes.set_xlabel("environment steps, millions")
    axes.set_xlim(0, edges[-1] / 1e6)
    axes.set_ylim(0, 4.05)
    axes.set_yticks(range(5))
    axes.grid(axis="y", color="#e5e7ea", linewidth=0.8)
    axes.set_axisbelow(True)
    axes.spines[["top", "right"]].set_visible(False)

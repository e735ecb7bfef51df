"""The paper's figure: trackers per episode against environment steps, one panel per setting."""

from pathlib import Path

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes

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


def colours(methods: list[str]) -> dict[str, str]:
    spare = [method for method in methods if method not in COLOURS]
    return {name: COLOURS[name] if name in COLOURS else SPARE[spare.index(name) % len(SPARE)] for name in methods}


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


def draw_curve(axes: Axes, edges: np.ndarray, found: Curve, colour: str, label: str) -> None:
    middle = (edges[:-1] + edges[1:]) / 2e6
    axes.fill_between(middle, found.low, found.high, color=colour, alpha=0.15, linewidth=0)
    if len(found.seeds) > 1:
        axes.plot(middle, found.seeds.T, color=colour, alpha=0.35, linewidth=0.6)
    axes.plot(middle, found.mean, color=colour, linewidth=1.8, label=label)


def decorate(axes: Axes, setting: str, edges: np.ndarray) -> None:
    axes.set_title(setting, fontsize=11)
    axes.set_xlabel("environment steps, millions")
    axes.set_xlim(0, edges[-1] / 1e6)
    axes.set_ylim(0, 4.05)
    axes.set_yticks(range(5))
    axes.grid(axis="y", color="#e5e7ea", linewidth=0.8)
    axes.set_axisbelow(True)
    axes.spines[["top", "right"]].set_visible(False)

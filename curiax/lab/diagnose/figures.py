"""The figures of a diagnosis. Each draws on axes, so that the page shows them one by one and the PNG all together."""

import io
from collections.abc import Callable
from pathlib import Path
from typing import Any

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import to_rgb
from matplotlib.figure import Figure, SubFigure
from matplotlib.ticker import PercentFormatter

from curiax.lab.diagnose.findings import MOST, Findings, Part
from curiax.lab.diagnose.names import action_names
from curiax.types import EnvSpec

# Okabe and Ito's palette, which colour-blind readers can tell apart
PREDICTED, NOISE, NOVELTY, INK, GRID = "#d9dde2", "#d55e00", "#0072b2", "#1d2127", "#e5e7ea"
LAYERS = ("#3b3f46", "#0072b2", "#e69f00", "#cc79a7", "#b3a800", "#d55e00", "#56b4e9", "#009e73")
UNSEEN = "#dfe3e8"  # places that were not visited
MAX_BARS = 16
Draw = Callable[[Figure | SubFigure], None]


def panels(spec: EnvSpec, findings: Findings) -> dict[str, tuple[Draw, tuple[float, float]]]:
    """The figures that this environment has, and the size of each in inches."""
    found: dict[str, tuple[Draw, tuple[float, float]]] = {
        "whole": (lambda figure: draw_whole(figure.subplots(), findings), (8.0, 1.3)),
        "lorenz": (lambda figure: draw_lorenz(figure.subplots(), findings), (8.0, 4.0)),
        "actions": (
            lambda figure: draw_parts(figure.subplots(), findings.actions, "per transition"),
            height(findings.actions),
        ),
        "groups": (
            lambda figure: draw_parts(figure.subplots(), findings.groups, "of all transitions"),
            height(findings.groups),
        ),
    }
    if findings.plane and min(next(iter(findings.plane.values())).shape) > 1:
        found["plane"] = (lambda figure: draw_pair(figure, findings.plane, None), (8.0, 3.6))
    if findings.cells and min(spec.map_shape) > 1:
        found["cells"] = (lambda figure: draw_pair(figure, findings.cells, walls(spec)), (8.0, 3.4))
    if findings.examples and len(spec.observation_shape) > 1:
        found["examples"] = (lambda figure: draw_examples(figure, spec, findings), (8.0, 2.9))
    return found


def height(parts: list[Part]) -> tuple[float, float]:
    """The size of a bar chart."""
    return 8.0, 1.1 + 0.3 * min(len(parts), MAX_BARS + 1)


def to_svg(draw: Draw, size: tuple[float, float]) -> str:
    """A figure as SVG, for the page. Text stays text."""
    with plt.rc_context({"svg.fonttype": "none", "font.family": "sans-serif", "svg.hashsalt": "curiax"}):
        whole = plt.figure(figsize=size, layout="constrained")
        draw(whole)
        file = io.StringIO()
        whole.savefig(file, format="svg", metadata={"Date": None}, facecolor="white")
        plt.close(whole)
    text = file.getvalue()
    return text[text.index("<svg") :]


def to_png(found: dict[str, tuple[Draw, tuple[float, float]]], title: str, path: Path) -> None:
    """Writes all figures into one picture."""
    sizes = [size for _, size in found.values()]
    whole = plt.figure(figsize=(8.6, sum(high for _, high in sizes) + 0.6 + 0.3 * len(sizes)))
    whole.set_layout_engine("constrained", w_pad=0.12)
    whole.suptitle(title, fontsize=12)
    rows: Any = whole.subfigures(len(found), 1, height_ratios=[high + 0.3 for _, high in sizes])
    for (name, (draw, _)), figure in zip(found.items(), rows, strict=True):
        draw(figure)
        figure.suptitle(TITLES[name], fontsize=10, x=0.02, ha="left", fontweight="bold")
    whole.savefig(path, dpi=110)
    plt.close(whole)


TITLES = {
    "whole": "What changes from one observation to the next",
    "lorenz": "Share of noise and novelty in the largest transitions",
    "actions": "By action",
    "groups": "By part of the observation",
    "plane": "By place in the observation",
    "cells": "By place in the world",
    "examples": "The noisiest transitions",
}


def draw_whole(axes: Axes, findings: Findings) -> None:
    """One bar: predicted, noise, novelty."""
    total = findings.total
    shares = {"predicted": max(1 - total.error, 0.0), "noise": total.noise, "novelty": total.novelty}
    left = 0.0
    for (name, share), colour in zip(shares.items(), (PREDICTED, NOISE, NOVELTY), strict=True):
        axes.barh(0, share, left=left, color=colour, height=0.6, label=f"{name} {percent(share)}")
        left += share
    axes.set_xlim(0, max(left, 1))
    axes.set_yticks([])
    axes.xaxis.set_major_formatter(PercentFormatter(1))
    axes.spines[["top", "right", "left"]].set_visible(False)
    axes.legend(loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=3, frameon=False)


def draw_lorenz(axes: Axes, findings: Findings) -> None:
    """Lorenz curves of noise and novelty."""
    x = np.linspace(0, 1, len(findings.lorenz["noise"]))
    for name, colour in (("noise", NOISE), ("novelty", NOVELTY)):
        axes.plot(x, findings.lorenz[name], color=colour, linewidth=2, label=name)
    axes.plot([0, 1], [0, 1], color="#9aa1aa", linewidth=1, linestyle="--", label="if all were alike")
    axes.plot([findings.needed] * 2 + [0], [0, MOST, MOST], color=NOISE, linewidth=1, linestyle=":")
    text = f"{percent(findings.needed)} of the transitions\nhold {percent(MOST)} of the noise"
    axes.annotate(text, (findings.needed, MOST), (min(findings.needed + 0.02, 0.5), 0.08), color=INK, va="center")
    axes.set_xlabel("share of the transitions, the largest first")
    axes.set_ylabel("share of what they hold")
    tidy(axes)
    axes.set_xlim(0, 1)
    axes.set_ylim(0, 1.01)
    for axis in (axes.xaxis, axes.yaxis):
        axis.set_major_formatter(PercentFormatter(1))
    axes.legend(loc="lower right", frameon=False)


def draw_parts(axes: Axes, parts: list[Part], of: str) -> None:
    """Stacked bars, the noisiest on top. At most MAX_BARS are drawn."""
    shown = sorted(parts, key=lambda one: -(one.noise + 1e-9 * one.novelty))[:MAX_BARS]
    names = [one.name for one in shown]
    noise, novelty = (np.array([getattr(one, field) for one in shown]) for field in ("noise", "novelty"))
    where = np.arange(len(shown))
    axes.barh(where, noise, color=NOISE, height=0.7, label="noise")
    axes.barh(where, novelty, left=noise, color=NOVELTY, height=0.7, label="novelty")
    top = max(float((noise + novelty).max()), 1e-9)
    for y, one in enumerate(shown):
        axes.text(
            one.noise + one.novelty + 0.01 * top,
            y,
            f"{percent(one.share_of_noise)} of the noise",
            va="center",
            fontsize=8,
        )
    axes.set_yticks(where, [short(name) for name in names])
    axes.set_ylim(len(shown) - 0.4, -0.6)
    axes.set_xlim(0, 1.25 * top)
    left_out = f"; {len(parts) - len(shown)} more are in the table" if len(parts) > len(shown) else ""
    axes.set_xlabel(f"error {of}, in percent of the variance of all changes{left_out}")
    axes.xaxis.set_major_formatter(PercentFormatter(1))
    tidy(axes)
    axes.legend(loc="lower right", frameon=False)


def draw_pair(figure: Figure | SubFigure, maps: dict[str, np.ndarray], wall: np.ndarray | None) -> None:
    """Maps of noise and novelty side by side, on one scale."""
    left, right = figure.subplots(1, 2)
    known = np.concatenate([maps[name][np.isfinite(maps[name])] for name in ("noise", "novelty")])
    top = max(float(np.quantile(known, 0.995)), 1e-9)
    for axes, name, colours in ((left, "noise", "Oranges"), (right, "novelty", "Blues")):
        image = axes.imshow(np.ma.masked_invalid(maps[name]), cmap=colours, vmin=0, vmax=top, interpolation="nearest")
        if wall is not None:
            axes.imshow(np.ma.masked_where(~wall, np.ones(wall.shape)), cmap="Greys", vmin=0, vmax=1.6)
        axes.set_facecolor(UNSEEN)
        axes.set_title(name, fontsize=10)
        axes.set_xticks([])
        axes.set_yticks([])
        axes.spines[:].set_color("#c3c8ce")
        figure.colorbar(image, ax=axes, shrink=0.8, format=PercentFormatter(1))


def walls(spec: EnvSpec) -> np.ndarray | None:
    from curiax.envs import maze

    if not spec.name.startswith("maze/"):
        return None
    wall = maze.parse(maze.MAP).wall
    return wall if wall.shape == spec.map_shape else None


def draw_examples(figure: Figure | SubFigure, spec: EnvSpec, findings: Findings) -> None:
    """The noisiest transitions: the observation before above the one after."""
    names = action_names(spec)
    grid = figure.subplots(2, len(findings.examples), squeeze=False)
    for column, example in enumerate(findings.examples):
        for axes, obs in zip(grid[:, column], (example.before, example.after), strict=True):
            axes.imshow(picture(obs, spec.observation_scale), interpolation="nearest", cmap="gray", vmin=0, vmax=1)
            axes.set_xticks([])
            axes.set_yticks([])
        grid[0, column].set_title(f"{short(names[example.action])}\n{example.noise:.0f} × the mean", fontsize=8)
    grid[0, 0].set_ylabel("before", fontsize=9)
    grid[1, 0].set_ylabel("after", fontsize=9)


def picture(obs: np.ndarray, scale: float) -> np.ndarray:
    """An observation as an image. Grey and RGB stay as they are; layers get one colour each, the last on top."""
    x = obs.astype(np.float32) / scale
    if x.ndim == 2 or x.shape[-1] == 3:
        return np.clip(x, 0, 1)
    if x.shape[-1] == 1:
        return np.clip(x[..., 0], 0, 1)
    canvas = np.ones((*x.shape[:2], 3))
    for layer in range(x.shape[-1]):
        colour = np.array(to_rgb(LAYERS[layer % len(LAYERS)]))
        weight = np.clip(x[..., layer : layer + 1], 0, 1) * (0.55 if layer else 1.0)
        canvas = canvas * (1 - weight) + colour * weight
    return canvas


def tidy(axes: Axes) -> None:
    axes.grid(axis="x", color=GRID, linewidth=0.8)
    axes.set_axisbelow(True)
    axes.spines[["top", "right"]].set_visible(False)


def short(name: str, most: int = 24) -> str:
    return name if len(name) <= most else name[: most - 1] + "…"


def percent(share: float) -> str:
    """A share in percent, with a decimal if it is small: `0.4 %`, `5.0 %`, `80 %`."""
    value = 100 * share
    if value and abs(value) < 0.1:
        return "< 0.1 %" if value > 0 else "−0.1 %"
    return f"{value:.1f} %" if abs(value) < 9.95 else f"{value:.0f} %"

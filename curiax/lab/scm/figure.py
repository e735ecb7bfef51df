"""The figure of the study: which methods can tell noise from novelty."""

from collections.abc import Sequence
from pathlib import Path

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
from matplotlib.axes import Axes

from curiax.lab.scm.table import Errors, Row

COLOURS = {"independent": "#0072b2", "state": "#e69f00", "action": "#009e73"}  # Okabe and Ito's palette
MARKERS = {"independent": "o", "state": "s", "action": "^"}
SMALLEST = 1e-3  # smaller rewards on noise are drawn here; AMA's may be negative


def draw(path: Path, rows: Sequence[Row], errors: Sequence[Errors]) -> None:
    """Left: the reward of noise at the end, over the reward of novelty until it is learned. Right: the reward with
    hindsight over the prediction error, for noise and for novelty."""
    methods = list(dict.fromkeys(row.method for row in rows))[::-1]
    with_z = [method for method in methods if "hindsight" in method]
    figure, (left, right) = plt.subplots(1, 2, figsize=(11, 1.2 + 0.32 * len(methods)), layout="constrained")
    for kind, colour in COLOURS.items():
        style = {"color": colour, "marker": MARKERS[kind], "linestyle": "", "markersize": 5, "alpha": 0.8}
        offset = 0.22 * (list(COLOURS).index(kind) - 1)
        some = [error for error in errors if error.kind == kind and error.novelty > 0]  # AMA's may be negative
        ratio = [max(error.noise_end / error.novelty, SMALLEST) for error in some]
        left.plot(ratio, [methods.index(error.method) - offset for error in some], label=f"{kind} noise", **style)
        hindsight = [row for row in rows if row.kind == kind and row.method in with_z]
        height = [with_z.index(row.method) - offset for row in hindsight]
        right.plot([max(row.noise_reward_ratio, SMALLEST) for row in hindsight], height, **style)
        right.plot([row.novelty_reward_ratio for row in hindsight], height, **(style | {"markerfacecolor": "none"}))
    left.set_xscale("log")
    left.axvline(1, color="black", linewidth=1)
    left.set_xlabel("reward on noise, at the end  /  reward on novelty, before it is learned")
    left.set_title("left of the line, novelty pays more than noise")
    left.legend(frameon=False, loc="upper left")
    right.set_xlabel("reward with hindsight  /  prediction error without")
    right.set_title("filled: noise; open: novelty")
    label(left, methods)
    label(right, with_z)
    figure.savefig(path, dpi=130)
    plt.close(figure)


def label(axes: Axes, methods: list[str]) -> None:
    axes.set_yticks(range(len(methods)), methods)
    axes.set_ylim(-0.6, len(methods) - 0.4)
    axes.grid(color="#eeeeee")

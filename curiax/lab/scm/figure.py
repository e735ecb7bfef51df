"""The picture of the structural-causal study: which methods can tell noise from novelty."""

from collections.abc import Sequence
from pathlib import Path

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
from matplotlib.axes import Axes

from curiax.lab.scm.table import Errors, Row

COLOURS = {"independent": "#0072b2", "state": "#e69f00", "action": "#009e73"}  # Okabe and Ito's palette
MARKERS = {"independent": "o", "state": "s", "action": "^"}
SMALLEST = 1e-3  # where a reward on noise is below that, or below zero as AMA's may be


def draw(path: Path, rows: Sequence[Row], errors: Sequence[Errors]) -> None:
    """Left, what noise pays when it is old beside what the lamps pay when they are new. Right, what hindsight leaves of
    the prediction error: little of it on noise, nearly all on the lamps."""
    methods = list(dict.fromkeys(row.method for row in rows))[::-1]
    with_z = [method for method in methods if "hindsight" in method]
    figure, (left, right) = plt.subplots(1, 2, figsize=(11, 1.2 + 0.32 * len(methods)), layout="constrained")
    for kind, colour in COLOURS.items():
        style = {"color": colour, "marker": MARKERS[kind], "linestyle": "", "markersize": 5, "alpha": 0.8}
        offset = 0.22 * (list(COLOURS).index(kind) - 1)
        some = [error for error in errors if error.kind == kind and error.novelty > 0]  # AMA's may be below zero
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
    right.axvline(0.1, color="#888888", linewidth=1, linestyle="--")
    right.axvline(0.8, color="#888888", linewidth=1, linestyle="--")
    right.set_xlabel("reward with hindsight  /  prediction error without")
    right.set_title("filled: noise (goal < 0.1); open: novelty (≥ 0.8)")
    label(left, methods)
    label(right, with_z)
    figure.savefig(path, dpi=130)
    plt.close(figure)


def label(axes: Axes, methods: list[str]) -> None:
    axes.set_yticks(range(len(methods)), methods)
    axes.set_ylim(-0.6, len(methods) - 0.4)
    axes.grid(color="#eeeeee")

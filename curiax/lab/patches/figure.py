"""The figure of the study: the errors of the five functions on a few held-out transitions."""

from collections.abc import Sequence
from pathlib import Path

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np
from jaxtyping import Float, Shaped

from curiax.lab.patches.functions import FUNCTIONS

INPUTS = {
    "identity": r"$x_{t+1}$",
    "prediction": r"$x_t, a_t$",
    "reconstruction": r"$x_t, a_t, z_{t+1}$",
    "hindsight-only": r"$z_{t+1}$",
    "hindsight-and-action": r"$a_t, z_{t+1}$",
}
DARKEST = 96  # grey levels of error that are black in the figure


def draw(
    path: Path,
    before: Shaped[np.ndarray, "n h w"],
    target: Float[np.ndarray, "n h w"],
    guesses: Float[np.ndarray, "functions n h w"],
    actions: Sequence[int],
) -> None:
    """Draws one transition per row: the two frames, then |error| of every function, white for zero."""
    num_rows, num_columns = len(target), 2 + len(FUNCTIONS)
    size = (1.75 * num_columns, 1.8 * num_rows + 0.5)
    figure, axes = plt.subplots(num_rows, num_columns, figsize=size, layout="constrained", squeeze=False)
    errors = np.abs(guesses - target[None])
    for row in range(num_rows):
        for column, frame in enumerate((before[row], target[row])):
            axes[row, column].imshow(frame, cmap="gray", vmin=0, vmax=255, interpolation="nearest")
        for column, error in enumerate(errors[:, row], start=2):
            axes[row, column].imshow(error, cmap="gray_r", vmin=0, vmax=DARKEST, interpolation="nearest")
        axes[row, 0].set_ylabel(f"action {actions[row]}")
    titles = [r"$o_t$", r"$o_{t+1}$", *(f"{name.replace('-and-', ' and ')}\n{INPUTS[name]}" for name in FUNCTIONS)]
    for axis, title in zip(axes[0], titles, strict=True):
        axis.set_title(title, fontsize=9)
    for axis in axes.flat:
        axis.set_xticks([])
        axis.set_yticks([])
    figure.savefig(path, dpi=130)
    plt.close(figure)

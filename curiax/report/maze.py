"""A picture of the maze.

python -m curiax.report.maze docs/images/maze.png
"""

import io
import sys

import matplotlib
import matplotlib.colors

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np
from markupsafe import Markup
from matplotlib.axes import Axes
from matplotlib.patches import Rectangle

from curiax.envs import maze
from curiax.report.templates import inline_svg

# Okabe and Ito's palette, for colour-blind readers too
WALL, FLOOR, AGENT, BLOCK, COIN = "#3b3f46", "#ffffff", "#0072b2", "#e69f00", "#f0e442"
REGIONS = ("#ffffff", "#eef4f8", "#dce9f1", "#c9dfeb", "#b7d4e4")  # floor, R1..R4: darker with the distance
BLOCK_NAMES = ("V1", "V2", "H1", "H2")


def draw_maze(axes: Axes, layout: maze.Layout) -> None:
    """Walls and regions; cell (row, column) is the unit square around (column, row)."""
    rows, columns = layout.wall.shape
    colours = np.array([matplotlib.colors.to_rgb(colour) for colour in REGIONS])[layout.region]
    colours[layout.wall] = matplotlib.colors.to_rgb(WALL)
    axes.imshow(colours, extent=(-0.5, columns - 0.5, rows - 0.5, -0.5), interpolation="nearest")
    axes.set_axis_off()


def draw_things(axes: Axes, layout: maze.Layout) -> None:
    """The agent and its view, the blocks in their doorways, coins, and the names of the regions."""
    rng = np.random.default_rng(3)
    middle = layout.doorways.shape[1] // 2
    for name, doorway in zip(BLOCK_NAMES, layout.doorways, strict=True):
        for row, column in doorway:
            axes.add_patch(Rectangle((column - 0.5, row - 0.5), 1, 1, facecolor="#faecd0", edgecolor="none"))
        row, column = doorway[middle]
        axes.add_patch(Rectangle((column - 0.5, row - 0.5), 1, 1, facecolor=BLOCK))
        axes.text(column, row, name, color="#20242a", ha="center", va="center", fontsize=7, fontweight="bold")
    for row, column in layout.coins[rng.choice(len(layout.coins), 2, replace=False)]:
        axes.plot(column, row, "o", color=COIN, markersize=9, markeredgecolor="#8a5f00")
    row, column = layout.start
    axes.plot(column, row, "o", color=AGENT, markersize=10)
    reach = maze.VIEW // 2
    corner = (column - reach - 0.5, row - reach - 0.5)
    axes.add_patch(Rectangle(corner, maze.VIEW, maze.VIEW, fill=False, edgecolor=AGENT, linewidth=1.8, linestyle="--"))
    for number in range(1, 5):
        cells = np.argwhere(layout.region == number)
        row, column = cells.mean(axis=0)
        axes.text(column, row, f"R{number}", color="#1f4e6b", ha="center", va="center", fontsize=15, alpha=0.8)


def picture(path: str | io.StringIO, form: str | None = None) -> None:
    """Writes the picture, in the format of the path's name or in `form`."""
    layout = maze.parse(maze.MAP)
    figure, axes = plt.subplots(figsize=(7.5, 5.4), layout="constrained")
    draw_maze(axes, layout)
    draw_things(axes, layout)
    figure.savefig(
        path, format=form, dpi=110, transparent=form == "svg", metadata={"Date": None} if form == "svg" else None
    )
    plt.close(figure)


def svg() -> Markup:
    """The picture as SVG."""
    file = io.StringIO()
    picture(file, "svg")
    label = "The maze: rooms in a row from the start, top right, to the lower right; a block stands in each doorway"
    return inline_svg(file.getvalue(), label)


if __name__ == "__main__":
    picture(sys.argv[1])

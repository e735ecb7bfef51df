"""A map of rooms, where an environment has them: how much of its time each agent spent in which."""

from pathlib import Path

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np
from matplotlib.colors import LogNorm

from curiax.envs.atari.rooms import ROOMS
from curiax.report.read import RunData, Study
from curiax.report.words import count, method_title
from curiax.training.run.directory import read_maps

LEAST = 1e-4  # share of the time; below it is drawn alike
NEVER = "#d9dce1"  # colour of a room in which nobody was


def draw_rooms(study: Study, path: Path) -> bool:
    """Writes a heat map for each setting and method whose game has rooms; nothing, and False, if none has."""
    maps = {
        (setting, method): found
        for setting in study.settings
        for method in study.methods
        if (found := visits(study.group(setting, method))) is not None
    }
    path.unlink(missing_ok=True)
    if not maps:
        return False
    settings, methods = (list(dict.fromkeys(names)) for names in zip(*maps, strict=True))
    height = max(0.6 + 3.2 * found.shape[0] / found.shape[1] for found in maps.values())
    size = (3.4 * len(methods) + 1.0, height * len(settings) + 0.3)
    figure, panels = plt.subplots(len(settings), len(methods), figsize=size, squeeze=False, layout="constrained")
    for axes in panels.ravel():
        axes.set_axis_off()
    colours = plt.get_cmap("viridis").with_extremes(bad="white", under=NEVER)
    picture = None
    for (setting, method), found in maps.items():
        axes = panels[settings.index(setting), methods.index(method)]
        share = np.where(found == 0, LEAST / 2, np.maximum(found / np.nansum(found), LEAST))  # NaN stays NaN: no room
        picture = axes.pcolormesh(share, cmap=colours, norm=LogNorm(LEAST, 1), edgecolors="white", linewidth=1)
        axes.set_aspect("equal")
        axes.invert_yaxis()
        axes.set_title(f"{setting}\n{method_title(method)}: {count(int((found > 0).sum()), 'room')}", fontsize=9)
    assert picture is not None
    figure.colorbar(picture, ax=panels, label="share of the time, logarithmic", shrink=0.8)
    figure.savefig(path, dpi=130)
    plt.close(figure)
    return True


def visits(runs: list[RunData]) -> np.ndarray | None:
    """Of every room, over all training and all seeds; NaN where the map has no room, None where there is no map."""
    game = runs[0].config["env"].removeprefix("atari/") if runs else ""
    if game not in ROOMS:
        return None
    rooms = ROOMS[game]
    total = sum(read_maps(run.directory)[:, 0].sum(axis=0, dtype=np.float64) for run in runs)
    cells, numbers = np.unique(rooms.cells, return_counts=True)
    place = np.full(rooms.map_shape, np.nan).ravel()
    place[cells[numbers < 3]] = 0  # where many numbers lie, they are no rooms
    found = place.reshape(rooms.map_shape) + total
    return found if np.nansum(found) > 0 else None

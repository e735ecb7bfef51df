"""A map of rooms: the share of its time that each agent spent in each room."""

from pathlib import Path

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np
from matplotlib.colors import LogNorm

from curiax.envs.atari.rooms import Rooms
from curiax.report.names import count, method_title
from curiax.report.read import RunData, Study
from curiax.training.run.directory import read_maps

LEAST = 1e-4  # share of the time at the lower end of the scale
NEVER = "#d9dce1"  # colour of a room that was never visited


def draw_rooms(study: Study, path: Path) -> bool:
    """Writes a heat map for each setting and method whose game has rooms. Returns False if there are none."""
    maps = {pair: found for pair in study.pairs if (found := visits(study.group(*pair))) is not None}
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
    """Visits to every room over all training and all seeds; NaN where the map has no room, None if there is no map."""
    rooms = runs[0].profile.map
    if not isinstance(rooms, Rooms):
        return None
    total = sum(read_maps(run.directory, rooms.map_shape)[:, 0].sum(axis=0, dtype=np.float64) for run in runs)
    cells, numbers = np.unique(rooms.cells, return_counts=True)
    place = np.full(rooms.map_shape, np.nan).ravel()
    place[cells[numbers < 3]] = 0  # the numbers that are no rooms share one cell
    found = place.reshape(rooms.map_shape) + total
    return found if np.nansum(found) > 0 else None

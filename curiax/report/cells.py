"""Maps of a grid world: the error of each cell, before it is normalised to a reward."""

from pathlib import Path

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np
from matplotlib.cm import ScalarMappable
from matplotlib.colors import ListedColormap, LogNorm

from curiax.envs.maze import Layout
from curiax.errors import UserError
from curiax.report.maps import MIN_VISITS
from curiax.report.names import method_title
from curiax.report.read import RunData, Study
from curiax.report.scores import divide
from curiax.training.run.directory import MAPS, read_maps
from curiax.training.statistics import in_last_quarter

NOT_VISITED = "#d9dce1"
WALL = "#5a606b"


def draw_errors(study: Study, path: Path) -> bool:
    """Writes a map for each setting and method: the mean error per visit in the last quarter of training, all seeds
    together. Returns False if no run has maps."""
    found = {pair: errors for pair in study.pairs if (errors := error_map(study.group(*pair))) is not None}
    known = np.concatenate([errors[errors > 0] for errors in found.values()]) if found else np.zeros(0)
    if not known.size:
        return False
    settings, methods = (list(dict.fromkeys(names)) for names in zip(*found, strict=True))
    scale = LogNorm(max(known.min(), known.max() / 1e4), known.max())
    # A row per method: a study has few settings and may have many variants.
    size = (3.2 * len(settings) + 1.0, 2.5 * len(methods) + 0.3)
    figure, panels = plt.subplots(len(methods), len(settings), figsize=size, squeeze=False, layout="constrained")
    for axes in panels.ravel():
        axes.set_axis_off()
    colours = plt.get_cmap("viridis").with_extremes(bad=NOT_VISITED)
    for (setting, method), errors in found.items():
        axes = panels[methods.index(method), settings.index(setting)]
        wall = study.group(setting, method)[0].profile.map.wall
        axes.imshow(np.ma.masked_invalid(errors), cmap=colours, norm=scale, interpolation="nearest")
        axes.imshow(np.ma.masked_array(np.ones(wall.shape), ~wall), cmap=ListedColormap([WALL]))
        axes.set_title(f"{setting}: {method_title(method)}", fontsize=9)
    colour = ScalarMappable(scale, colours)
    figure.colorbar(colour, ax=panels, label="error per visit, before normalisation", aspect=60, pad=0.02)
    figure.savefig(path, dpi=90, bbox_inches="tight")
    plt.close(figure)
    return True


def error_map(runs: list[RunData]) -> np.ndarray | None:
    """The mean error per visit of each cell in the last quarter of training; NaN with few visits, None without maps."""
    layout = runs[0].profile.map
    if not isinstance(layout, Layout):
        return None
    total = np.zeros((len(MAPS), *layout.wall.shape))
    for run in runs:
        try:
            maps = read_maps(run.directory, layout.wall.shape)
        except UserError:  # a damaged file; the page has a note on it
            continue
        late = in_last_quarter(run.metrics["update"])[: len(maps)]  # the newest row may have no map yet
        total += maps[: len(late)][late].sum(axis=0, dtype=np.float64)
    visits, error = total[MAPS.index("visits")], total[MAPS.index("error")]
    return divide(error, visits, MIN_VISITS) if visits.any() else None

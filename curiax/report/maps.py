"""Maps of a grid world: where each agent was and what it wanted, cell by cell, in slices of training."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from curiax.envs import maze
from curiax.errors import UserError
from curiax.report.read import Pair, RunData, Study
from curiax.report.scores import divide
from curiax.report.words import notes_on_missing
from curiax.training.run.directory import MAPS, read_maps

NUM_SLICES = 40
MIN_VISITS = 10  # with fewer visits in a slice, the reward of a cell is not known
DECADES = 3  # of the logarithmic scale of visits, from 1/1000 of the time to all of it
TOP = 255  # levels are bytes; 0 means hardly any visit


class Maps(NamedTuple):
    """One method in one setting, summed over seeds. Cells are those without a wall, in reading order."""

    share: np.ndarray  # [slices, cells] of the time; NaN in a slice that no run has reached
    wanted: np.ndarray  # [slices, cells] intrinsic reward per visit; NaN with few visits


def all_maps(study: Study) -> tuple[dict[Pair, Maps], list[str]]:
    """The maps of each setting and method, and notes on those that are missing."""
    edges, found, missing = slice_edges(study), {}, {}
    for pair in study.pairs:
        if not isinstance(study.profile_of(pair[0]).map, maze.Layout):
            continue
        try:
            maps = sliced(study.group(*pair), edges)
        except UserError as error:  # a damaged file
            missing[pair] = str(error)
            continue
        if maps is None:
            missing[pair] = "the runs have not logged any"
        else:
            found[pair] = maps
    return found, notes_on_missing("maps", missing, study)


def slice_edges(study: Study) -> np.ndarray:
    num_rows = max(len(run.metrics["update"]) for run in study.logged)
    return np.linspace(0, max(run.env_steps for run in study.logged), min(NUM_SLICES, num_rows) + 1)


def sliced(runs: Sequence[RunData], edges: np.ndarray) -> Maps | None:
    """Sums over the log intervals of each slice, and over seeds; None if no run has maps."""
    floor = ~runs[0].profile.map.wall
    total = np.zeros((len(edges) - 1, len(MAPS), floor.sum()))
    for run in runs:
        for row, slice_index in zip(read_maps(run.directory, floor.shape), slices_of(run, edges), strict=False):
            total[slice_index] += row[:, floor]
    visits, reward = total[:, 0], total[:, 1]
    if not visits.any():
        return None
    share = divide(visits, visits.sum(axis=1, keepdims=True), 1)
    return Maps(share, divide(reward, visits, MIN_VISITS))


def slices_of(run: RunData, edges: np.ndarray) -> np.ndarray:
    """The slice in which each log interval ends."""
    return np.clip(np.searchsorted(edges, run.metrics["env_steps"], side="left") - 1, 0, len(edges) - 2)


def levels_of_share(share: np.ndarray) -> np.ndarray:
    """Bytes on a logarithmic scale: time in one cell may be a hundred times that in another, and both should show."""
    scaled = 1 + np.log10(np.maximum(np.nan_to_num(share), 10.0**-DECADES)) / DECADES
    return np.round(TOP * scaled).astype(np.uint8)


def levels_of_reward(wanted: np.ndarray, top: float) -> np.ndarray:
    """Bytes on a linear scale up to `top`; 1 is no reward, 0 is unknown."""
    scaled = 1 + (TOP - 1) * np.clip(np.nan_to_num(wanted) / top, 0, 1)
    return np.where(np.isfinite(wanted), np.round(scaled), 0).astype(np.uint8)


def top_reward(maps: Sequence[Maps]) -> float:
    """The upper end of the common scale: above the rewards of 99 % of the cells and of 99 % of the time.

    The cells alone would cut off the one cell in which an agent stays; the time alone, all others.
    """
    known = [np.isfinite(one.wanted) for one in maps]
    if not any(mask.any() for mask in known):
        return 1.0
    wanted = np.concatenate([one.wanted[mask] for one, mask in zip(maps, known, strict=True)])
    share = np.concatenate([one.share[mask] for one, mask in zip(maps, known, strict=True)])
    of_time = np.quantile(wanted, 0.99, weights=share, method="inverted_cdf")
    return max(float(np.quantile(wanted, 0.99)), float(of_time), 1e-6)


def place(layout: maze.Layout, row: int, column: int) -> str:
    """The name of a cell in a sentence."""
    if layout.region[row, column]:
        return f"R{layout.region[row, column]}"
    return "the first room" if column > layout.doorways[0, :, 1].max() else "a doorway"


def layout_payload(layout: maze.Layout) -> dict[str, Any]:
    """What the page needs to draw the map."""
    rows, columns = layout.wall.shape
    cells = layout.doorways[..., 0] * columns + layout.doorways[..., 1]
    floor = np.argwhere(~layout.wall)
    return {
        "rows": rows,
        "columns": columns,
        "floor": np.flatnonzero(~layout.wall).tolist(),
        "places": [place(layout, row, column) for row, column in floor.tolist()],
        "doorways": cells.tolist(),
        "blocks": cells[:, cells.shape[1] // 2].tolist(),
        "view": maze.VIEW,
    }

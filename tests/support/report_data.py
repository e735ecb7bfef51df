"""Studies made up for the tests of the report: the files that runs leave, with numbers that a test can foresee."""

import dataclasses
import json
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

from curiax.config import LAPTOP, Config, to_dict
from curiax.config.dotted import replaced
from curiax.config.presets import ATARI_LAPTOP
from curiax.envs import maze
from curiax.errors import UserError
from curiax.report import kinds
from curiax.report.films import make
from curiax.report.films.maze import Film
from curiax.training.run.directory import append_maps
from curiax.training.run.metrics import MetricsFile

LAYOUT = maze.parse(maze.MAP)
FLOOR = np.argwhere(~LAYOUT.wall)


def config_of(setting: str, method: str, seed: int, num_rows: int) -> Config:
    steps = num_rows * LAPTOP.log_every * LAPTOP.steps_per_update
    return dataclasses.replace(LAPTOP, env=f"maze/{setting}", curiosity=method, seed=seed, env_steps=steps)


def write_run(
    directory: Path,
    config: Config,
    trackers: Sequence[float],
    dwell: Sequence[float],
    maps: Sequence[dict[str, np.ndarray]] = (),
    **metrics: Sequence[float],
) -> None:
    """A run with one row per value of `trackers`; it is finished if that is all that the config asks for."""
    regions = {
        f"tracker_{number}": [float(np.clip(score + 1 - number, 0, 1)) for score in trackers] for number in (1, 2, 3, 4)
    }
    columns = {"trackers": list(map(float, trackers)), "noise_dwell": list(map(float, dwell))}
    write_columns(directory, config, {**columns, **regions, **metrics}, maps)


def write_columns(
    directory: Path,
    config: Config,
    columns: dict[str, Sequence[float]],
    maps: Sequence[dict[str, np.ndarray]] = (),
) -> None:
    """A run in any environment, with these metrics."""
    directory.mkdir(parents=True)
    (directory / "config.json").write_text(json.dumps(to_dict(config)))
    file = MetricsFile(directory / "metrics.csv")
    num_rows = len(next(iter(columns.values())))
    for row in range(num_rows):
        update = (row + 1) * config.log_every
        steps = update * config.steps_per_update
        values = {name: column[row] for name, column in columns.items()}
        file.append({"update": update, "env_steps": steps, "seconds": 20 + row * 2.56, **values})
        if len(maps):
            append_maps(directory / "cells.f32", maps[row], row)
    file.close()
    if num_rows * config.log_every >= config.num_updates:
        (directory / "DONE").write_text("{}")


def game_of(game: str, method: str, seed: int, num_rows: int, **fields: object) -> Config:
    """Of a run on Atari; fields by their dotted names."""
    steps = num_rows * ATARI_LAPTOP.log_every * ATARI_LAPTOP.steps_per_update
    identity = {"env": f"atari/{game}", "curiosity": method, "seed": seed, "env_steps": steps}
    return replaced(ATARI_LAPTOP, identity | fields)


def rooms_of(num_rows: int, cells: Sequence[tuple[int, int]]) -> list[dict[str, np.ndarray]]:
    """Maps of an agent in Montezuma's temple that is in each of these rooms equally often."""
    visits = np.zeros((4, 9), np.float32)
    for cell in cells:
        visits[cell] = 50.0
    return [{"visits": visits, "reward": 0.1 * visits, "error": 0.2 * visits}] * num_rows


def write_study_json(
    directory: Path,
    runs: Sequence[tuple[str, str, int]],
    command: str = "curiax study maze",
    name: str = "maze",
) -> None:
    entries = [
        {"directory": f"{setting}/{method}/{seed}", "setting": setting, "method": method, "seed": seed}
        for setting, method, seed in runs
    ]
    about = {
        "name": name,
        "command": command,
        "preset": "laptop",
        "fields": {},
        "started": "2026-01-02T03:04:05+00:00",
    }
    directory.mkdir(parents=True, exist_ok=True)
    (directory / "study.json").write_text(json.dumps(about | {"runs": entries}))


def staring(num_rows: int, cell: tuple[int, int], since: int) -> list[dict[str, np.ndarray]]:
    """Maps of an agent that walks everywhere, and from row `since` on stays in one cell, where its reward is."""
    maps = []
    for row in range(num_rows):
        visits = np.where(LAYOUT.wall, 0, 100).astype(np.float32)
        if row >= since:
            visits = np.where(LAYOUT.wall, 0, 10).astype(np.float32)
            visits[cell] = 20_000
        reward = 0.2 * visits
        reward[cell] = 2.0 * visits[cell]
        maps.append({"visits": visits, "reward": reward, "error": 2 * reward})
    return maps


def fake_films(patch: pytest.MonkeyPatch, seen: list[Path] | None = None) -> None:
    """Random films of 80 steps instead of episodes of the newest policy; none for ICM. `seen` gets the directories."""

    def load(directory: Path) -> tuple[Path, None]:
        if "icm" in directory.parts:
            raise UserError("no checkpoint")
        if seen is not None:
            seen.append(directory)
        return directory, None

    kind = kinds.KINDS[maze.Layout]
    assert kind.filming is not None
    filming = kind.filming._replace(shoot=lambda directory, _, seed: random_film(80, len(str(directory))))
    patch.setitem(kinds.KINDS, maze.Layout, kind._replace(filming=filming))
    patch.setattr(make, "load", load)


def random_film(num_steps: int = 80, seed: int = 0) -> Film:
    """A random walk in the maze with noise on demand."""
    rng = np.random.default_rng(seed)
    columns = LAYOUT.wall.shape[1]
    blocks = LAYOUT.doorways[:, 1]
    position, cells, actions = LAYOUT.start, [], rng.integers(0, 5, num_steps)
    for action in actions:
        target = position + maze.MOVES[action]
        free = not LAYOUT.wall[tuple(target)] and not (blocks == target).all(axis=1).any()
        position = target if free else position
        cells.append(position[0] * columns + position[1])
    noise = actions == 0
    regions = LAYOUT.region.ravel()[cells][:, None] == np.arange(1, 5)
    flat_blocks = blocks[:, 0] * columns + blocks[:, 1]
    coins = LAYOUT.coins[:2, 0] * columns + LAYOUT.coins[:2, 1]
    reward = np.where(noise, 2.0, rng.random(num_steps)).astype(np.float32)
    return Film(
        cell=np.array(cells, np.int32),
        action=actions.astype(np.int32),
        noise=noise,
        pixels=noise[:, None, None] & (rng.random((num_steps, 5, 5)) < 0.5),
        blocks=np.tile(flat_blocks, (num_steps, 1)).astype(np.int32),
        coins=np.tile(coins, (num_steps, 1)).astype(np.int32),
        trackers=np.logical_or.accumulate(regions),
        error=reward,
        reward=reward,
    )

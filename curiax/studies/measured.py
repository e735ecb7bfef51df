"""The structural-causal worlds of a study: `curiax study scm` measures there, in the directory scm beside the runs."""

import csv
import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from curiax.envs import modules
from curiax.envs.scm import PREFERENCE
from curiax.errors import UserError
from curiax.studies.base import Member
from curiax.studies.runner.launch import Task
from curiax.studies.scores import Result, result
from curiax.training.run.files import read_json

PLACE = "scm"  # the directory, and the start of the names of settings


class Measurement(NamedTuple):
    """A method, measured. As in a run with one row of metrics."""

    config: dict[str, Any]
    columns: dict[str, np.ndarray]


def read_measured(directory: Path) -> dict[Member, Measurement]:
    """What has been measured in a study's directory; {} if nothing has."""
    path = directory / PLACE / "errors.csv"
    if not path.is_file():
        return {}
    settings = read_json(directory / PLACE / "settings.json")
    try:
        num_updates = settings["chunk"] * (settings["dark"] + settings["lit"])
        env_steps = num_updates * settings["batch_size"] * settings["unroll"]
        with path.open(newline="") as file:
            return dict(measurement(row, num_updates, env_steps) for row in csv.DictReader(file))
    except (KeyError, ValueError, TypeError) as error:
        raise UserError(f"{path}: not a table of this version of curiax ({error})") from None


def measurement(row: dict[str, str], num_updates: int, env_steps: int) -> tuple[Member, Measurement]:
    member = Member(f"{PLACE}-{row['kind']}", row["method"], int(row["seed"]))
    score = preference(float(row["novelty"]), float(row["noise_end"]))
    config = {"env": f"scm/{row['kind']}/measured", "curiosity": member.method, "seed": member.seed}
    values = {"update": num_updates, "env_steps": env_steps, "seconds": math.nan, PREFERENCE.metric: score}
    columns = {name: np.array([float(value)]) for name, value in values.items()}
    return member, Measurement(config | {"env_steps": env_steps, "reward": "intrinsic"}, columns)


def measured_results(directory: Path) -> list[Result]:
    """Rows of scores.csv. Noise dwell is that of a random walk, the same for all methods, and left out."""
    found = read_measured(directory)
    return [result(member, one.columns, (PREFERENCE,)) for member, one in found.items()]


def preference(novelty: float, noise: float) -> float:
    """(p − q)/(|p| + |q|) of the rewards p for novelty and q for noise; methods have units of their own."""
    size = abs(novelty) + abs(noise)
    return (novelty - noise) / size if size else 0.0


def measuring(directory: Path, wanted: Sequence[Member]) -> list[Task]:
    """The task that measures what is wanted and not done, if anything is. Its table has all seeds, so it asks for all
    that earlier commands measured too."""
    done = read_measured(directory)
    if all(member in done for member in wanted):
        return []
    asked = dict.fromkeys([*done, *wanted])
    only = dict.fromkeys(f"{member.setting.removeprefix(f'{PLACE}-')}/{member.method}" for member in asked)
    seeds = sorted({member.seed for member in asked})
    words = ["study", "scm", "--out", str(directory / PLACE), "--seeds", *map(str, seeds)]
    words += [word for pattern in only for word in ("--only", pattern)]
    return [Task(PLACE, directory / PLACE, [*words, *modules.options()])]

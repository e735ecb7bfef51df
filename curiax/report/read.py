"""Reads a study from disk, finished or not: its runs, how far they are, and their metrics."""

import itertools
import json
import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any, Literal, NamedTuple

import numpy as np

from curiax import curiosity, envs
from curiax.errors import UserError
from curiax.studies import STUDIES
from curiax.studies.base import Member
from curiax.studies.document import read_document
from curiax.studies.scores import read_columns
from curiax.types import Profile, Score

FIRST = ("byol-hindsight", "byol-explore")  # the paper's method and its baseline come before the others
Status = Literal["finished", "unfinished", "failed", "not started"]
Pair = tuple[str, str]  # setting and method


class RunData(NamedTuple):
    """A run as a report sees it."""

    directory: Path
    setting: str
    method: str
    seed: int
    status: Status
    reason: str  # of a failure
    config: dict[str, Any]  # as it was saved: an older version of curiax may lack fields
    metrics: dict[str, np.ndarray]  # column of metrics.csv -> one value per log interval

    @property
    def env_steps(self) -> int:
        """Environment steps done so far."""
        return int(self.metrics["env_steps"][-1]) if self.metrics else 0

    @property
    def progress(self) -> float:
        """The share that is done. A run ends with a whole log interval, so the last few steps may be missing."""
        if self.status == "finished":
            return 1.0
        return min(self.env_steps / self.config["env_steps"], 0.99) if self.metrics and self.config else 0.0

    @property
    def profile(self) -> Profile:
        """What its environment says of itself."""
        return envs.profile_of(self.config.get("env", ""))

    @property
    def family(self) -> str:
        """The first part of its environment's name."""
        return self.config.get("env", "").partition("/")[0]

    @property
    def options(self) -> dict[str, Any]:
        """The options of its environment, which the config has under the name of the family."""
        return self.config.get(self.family, {})


class Study(NamedTuple):
    name: str
    command: str  # "" without a study.json
    started: str
    runs: tuple[RunData, ...]  # in the order of settings, methods, seeds

    @property
    def logged(self) -> tuple[RunData, ...]:
        """The runs that have metrics."""
        return tuple(run for run in self.runs if run.metrics)

    @property
    def settings(self) -> list[str]:
        planned = STUDIES[self.name].settings if self.name in STUDIES else ()
        return _in_order([run.setting for run in self.logged], (*map(envs.setting_of, envs.ENVS), *planned))

    @property
    def methods(self) -> list[str]:
        return _in_order([run.method for run in self.logged], (*FIRST, *curiosity.METHODS))

    @property
    def pairs(self) -> list[Pair]:
        """Every setting and method that has a run."""
        return [pair for pair in itertools.product(self.settings, self.methods) if self.group(*pair)]

    @property
    def scores(self) -> list[Score]:
        """The scores that some run has logged; the first is the score of the study."""
        found = [score for run in self.logged for score in run.profile.scores if score.metric in run.metrics]
        return list(dict.fromkeys(found))

    @property
    def step_name(self) -> str:
        """What a time step is called: a game may show several frames in one step of the agent."""
        several = all(run.profile.frames > 1 for run in self.logged)
        return "agent steps" if several else "environment steps"

    def group(self, setting: str, method: str) -> list[RunData]:
        """One run per seed."""
        return [run for run in self.logged if (run.setting, run.method) == (setting, method)]


def read_study(directory: Path) -> Study:
    """The study in a directory. Without a study.json, the runs below it, or the one run that it is."""
    if not directory.is_dir():
        raise UserError(f"{directory}: no such directory")
    about = read_document(directory) or {}
    planned = [(directory / run.name, run) for run in about.get("runs", ())] or find_runs(directory)
    runs = [read_run(path, member) for path, member in planned]
    study = Study(
        name=about.get("name") or directory.absolute().name,
        command=about.get("command", ""),
        started=about.get("started", ""),
        runs=tuple(sorted(runs, key=_sort_key)),
    )
    if not planned:
        raise UserError(f"{directory}: no runs here (no study.json and no config.json)")
    if not study.logged:
        raise UserError(f"{directory}: none of its {len(runs)} runs has logged anything yet")
    first = {run.profile.scores[0].label for run in study.logged}
    if len(first) > 1:
        raise UserError(f"{directory}: runs with different scores ({', '.join(sorted(first))}): report them apart")
    return study


def find_runs(directory: Path) -> list[tuple[Path, Member]]:
    """Every directory with a run's config.json, except NAME.1 beside NAME: an earlier run that was set aside."""
    paths = [path.parent for path in sorted(directory.rglob("config.json")) if not _set_aside(path.parent)]
    configs = {path: _read_json(path / "config.json") for path in paths}
    return [
        (path, Member(envs.setting_of(config["env"]), config["curiosity"], config["seed"]))
        for path, config in configs.items()
        if {"env", "curiosity", "seed", "env_steps"} <= config.keys()  # else it is another program's
    ]


def read_run(directory: Path, member: Member) -> RunData:
    config = _read_json(directory / "config.json") if (directory / "config.json").exists() else {}
    metrics = read_columns(directory / "metrics.csv")
    failed = directory / "FAILED"
    status: Status = "unfinished" if metrics else "not started"
    if (directory / "DONE").exists():
        status = "finished"
    elif failed.exists():
        status = "failed"
    reason = failed.read_text().strip().split("\n")[-1] if status == "failed" else ""
    run = RunData(directory, *member, status, reason, config, metrics)
    score = run.profile.scores[0].metric
    if metrics and score not in metrics:
        raise UserError(f"{directory}: a run in {config.get('env')} that has not logged its score, {score}")
    return run


def _sort_key(run: RunData) -> tuple[str, str, int, str]:
    return run.setting, run.method, run.seed, str(run.directory)


def _set_aside(path: Path) -> bool:
    earlier = re.fullmatch(r"(.+)\.\d+", path.name)
    return earlier is not None and (path.parent / earlier[1] / "config.json").exists()


def _in_order(names: Iterable[str], known: Iterable[str]) -> list[str]:
    """Each name once: the known ones in their order, then the others."""
    present = set(names)
    ordered = [name for name in dict.fromkeys(known) if name in present]
    return ordered + sorted(present - set(ordered))


def _read_json(path: Path) -> dict[str, Any]:
    try:
        return dict(json.loads(path.read_text()))
    except (OSError, ValueError, TypeError) as error:
        raise UserError(f"{path}: cannot be read ({error})") from None

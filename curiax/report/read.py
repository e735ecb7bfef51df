"""Reads a study from disk, finished or not: what runs there are, how far they got, what they logged."""

import json
import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any, Literal, NamedTuple

import numpy as np

from curiax import curiosity
from curiax.envs import maze
from curiax.errors import UserError
from curiax.studies import STUDIES
from curiax.studies.base import Member
from curiax.studies.runner.run import read_study as read_document
from curiax.training.run.directory import read_metrics

FIRST = ("byol-hindsight", "byol-explore")  # the paper's method and the one it mends
Status = Literal["finished", "unfinished", "failed", "not started"]


class RunData(NamedTuple):
    """A run as a report sees it."""

    directory: Path
    setting: str
    method: str
    seed: int
    status: Status
    reason: str  # why it failed
    config: dict[str, Any]  # as it was saved: an older version of curiax may lack fields
    metrics: dict[str, np.ndarray]  # column of metrics.csv -> one value per log interval

    @property
    def env_steps(self) -> int:
        """Done so far."""
        return int(self.metrics["env_steps"][-1]) if self.metrics else 0

    @property
    def progress(self) -> float:
        """Share of the run that is done. A run ends on a whole log interval, so the last few steps may be missing."""
        if self.status == "finished":
            return 1.0
        return min(self.env_steps / self.config["env_steps"], 0.99) if self.metrics and self.config else 0.0


class Study(NamedTuple):
    name: str
    command: str  # "" where there is no study.json
    started: str
    runs: tuple[RunData, ...]  # in the order of settings, methods, seeds

    @property
    def logged(self) -> tuple[RunData, ...]:
        """The runs that have something to show."""
        return tuple(run for run in self.runs if run.metrics)

    @property
    def settings(self) -> list[str]:
        planned = STUDIES[self.name].settings if self.name in STUDIES else ()
        return _in_order([run.setting for run in self.logged], (*maze.SETTINGS, *planned))

    @property
    def methods(self) -> list[str]:
        return _in_order([run.method for run in self.logged], (*FIRST, *curiosity.METHODS))

    def group(self, setting: str, method: str) -> list[RunData]:
        """One run per seed."""
        return [run for run in self.logged if (run.setting, run.method) == (setting, method)]


def read_study(directory: Path) -> Study:
    """The study in a directory; or the runs in it, if there is no study.json; or the one run that it is."""
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
    return study


def find_runs(directory: Path) -> list[tuple[Path, Member]]:
    """Every directory with a run's config.json; not NAME.1, an earlier run that was set aside for NAME."""
    paths = [path.parent for path in sorted(directory.rglob("config.json")) if not _set_aside(path.parent)]
    configs = {path: _read_json(path / "config.json") for path in paths}
    return [
        (path, Member(setting_of(config["env"]), config["curiosity"], config["seed"]))
        for path, config in configs.items()
        if {"env", "curiosity", "seed", "env_steps"} <= config.keys()  # else someone else's
    ]


def read_run(directory: Path, member: Member) -> RunData:
    config = _read_json(directory / "config.json") if (directory / "config.json").exists() else {}
    metrics = read_columns(directory / "metrics.csv")
    if metrics and not {"trackers", "return"} & metrics.keys():
        raise UserError(f"{directory}: a run in {config.get('env')}, which has neither trackers nor returns to report")
    failed = directory / "FAILED"
    status: Status = "unfinished" if metrics else "not started"
    if (directory / "DONE").exists():
        status = "finished"
    elif failed.exists():
        status = "failed"
    reason = failed.read_text().strip().split("\n")[-1] if status == "failed" else ""
    return RunData(directory, *member, status, reason, config, metrics)


def read_columns(path: Path) -> dict[str, np.ndarray]:
    """metrics.csv by column; {} before the first row."""
    if not path.exists():
        return {}
    whole = path.read_bytes().endswith(b"\n")  # else a kill left half a row
    rows = list(read_metrics(path))[: None if whole else -1]
    return {name: np.array([row[name] for row in rows]) for name in rows[0]} if rows else {}


def setting_of(env: str) -> str:
    return env.removeprefix("maze/").removeprefix("atari/")


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

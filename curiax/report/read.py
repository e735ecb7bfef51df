"""Reads a study from disk, finished or not: its runs, how far they are, and their metrics."""

import itertools
import os
import re
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, Literal, NamedTuple, TypeVar

import numpy as np

from curiax import curiosity, envs
from curiax.config import from_dict, validate
from curiax.errors import UserError
from curiax.studies import STUDIES
from curiax.studies.base import Member
from curiax.studies.document import read_document
from curiax.studies.measured import PLACE, read_measured
from curiax.studies.scores import scores_of_run
from curiax.training.run import metrics
from curiax.training.run.files import read_json
from curiax.training.run.outputs import MARK
from curiax.types import Profile, Score

USED = ("env", "curiosity", "seed", "env_steps", "reward")  # fields of the config that a report cannot do without
FIRST = ("byol-hindsight", "byol-explore")  # the paper's method and its baseline come before the others
Status = Literal["finished", "unfinished", "failed", "not started"]
Pair = tuple[str, str]  # setting and method
Found = TypeVar("Found")


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
        """What its environment says of itself. If the run evaluates its deterministic policy, that counts."""
        profile = envs.profile_of(env := self.config.get("env", ""))
        every = self.config.get("evaluate_every")  # of a damaged config, it may be anything
        return profile._replace(scores=scores_of_run(env, every if isinstance(every, int) else 0))

    @property
    def trained(self) -> bool:
        """Whether it is a run of an agent."""
        return not self.config.get("env", "").endswith("/measured")

    @property
    def family(self) -> str:
        """The first part of its environment's name."""
        return self.config.get("env", "").partition("/")[0]

    @property
    def options(self) -> dict[str, Any]:
        """The options of its environment, which the config has under the name of the family."""
        options = self.config.get(self.family)
        return options if isinstance(options, dict) else {}


class Study(NamedTuple):
    name: str
    command: str  # "" without a study.json
    started: str
    runs: tuple[RunData, ...]  # in the order of settings, methods, seeds
    notes: tuple[str, ...] = ()  # what is damaged and was left out

    @property
    def logged(self) -> tuple[RunData, ...]:
        """The runs that have metrics."""
        return tuple(run for run in self.runs if run.metrics)

    @property
    def settings(self) -> list[str]:
        planned = STUDIES[self.name].settings if self.name in STUDIES else ()
        named = planned if isinstance(planned, dict) else ()  # names of the study's own come in its order
        return _in_order([run.setting for run in self.logged], (*named, *map(envs.setting_of, envs.ENVS), *planned))

    @property
    def methods(self) -> list[str]:
        return _in_order([run.method for run in self.logged], (*FIRST, *curiosity.METHODS))

    @property
    def pairs(self) -> list[Pair]:
        """Every setting and method that has a run."""
        return [pair for pair in itertools.product(self.settings, self.methods) if self.group(*pair)]

    def profile_of(self, setting: str) -> Profile:
        """What the environment of a setting says of itself."""
        return next(run.profile for run in self.logged if run.setting == setting)

    def score_of(self, setting: str) -> Score:
        """The score of a setting: the first one of its environment."""
        return self.profile_of(setting).scores[0]

    @property
    def score(self) -> Score:
        """The score of all settings; one without a name of its own if they have different ones."""
        found = {self.score_of(setting) for setting in self.settings}
        return found.pop() if len(found) == 1 else Score("score", "score", "score", digits=2)

    def settings_with(self, score: Score) -> list[str]:
        """The settings whose environment has this score."""
        return [setting for setting in self.settings if score in self.profile_of(setting).scores]

    @property
    def scores(self) -> list[Score]:
        """The scores that some run has logged."""
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
    """The study in a directory. Without a study.json, the runs below it, or the one run that it is.

    What is damaged is left out, with a note.
    """
    if not os.path.isdir(directory):
        raise UserError(f"{directory}: no such directory")
    notes: list[str] = []
    about = _or_note(notes, read_document, directory) or {}
    planned = [(directory / run.name, run) for run in about.get("runs", ())] or find_runs(directory, notes)
    read = [_or_note(notes, read_run, path, member, notes) for path, member in planned]
    runs = [run for run in read if run is not None] + measured_runs(directory, notes)
    if not runs and not notes:
        raise UserError(f"{directory}: no runs here (no study.json and no config.json)")
    study = Study(
        name=about.get("name") or directory.absolute().name,
        command=about.get("command", ""),
        started=about.get("started", ""),
        runs=tuple(sorted(runs, key=_sort_key)),
        notes=tuple(f"Left out: {note}" for note in notes),
    )
    if not study.logged:
        raise UserError(notes[0] if notes else f"{directory}: none of its {len(runs)} runs has logged anything yet")
    return study


def measured_runs(directory: Path, notes: list[str]) -> list[RunData]:
    """What was measured without an agent, as finished runs."""
    found = _or_note(notes, read_measured, directory) or {}
    return [RunData(directory / PLACE, *member, "finished", "", *one) for member, one in found.items()]


def find_runs(directory: Path, notes: list[str]) -> list[tuple[Path, Member]]:
    """Every directory with a run's config.json, except NAME.1 beside NAME: an earlier run that was set aside."""
    paths = [path.parent for path in sorted(directory.rglob("config.json")) if not _set_aside(path.parent)]
    configs = {path: _or_note(notes if _is_run(path) else [], _read_config, path) for path in paths}
    return [
        (path, Member(envs.setting_of(config["env"]), config["curiosity"], config["seed"]))
        for path, config in configs.items()
        if config
    ]


def _is_run(directory: Path) -> bool:
    """Whether a directory is a run even if its config.json cannot be read; else it is another program's."""
    table = _or_note([], metrics.read, directory / "metrics.csv")
    return os.path.lexists(directory / MARK) or bool(table and table.names)


def read_run(directory: Path, member: Member, notes: list[str]) -> RunData:
    """A run. Raises a UserError if it is too damaged to be shown."""
    found = metrics.read(directory / "metrics.csv")
    config = _read_config(directory) if found.rows or os.path.lexists(directory / "config.json") else {}
    status, reason = _status(directory, bool(found.rows))
    run = RunData(directory, *member, status, reason, config, found.columns)
    if found.damaged:
        notes.append(f"{directory / 'metrics.csv'}: {found.note}")
    if status == "finished" and not found.rows:
        raise UserError(f"{directory}: a finished run without rows in metrics.csv")
    score = run.profile.scores[0].metric
    if found.rows and score not in found.names:
        raise UserError(f"{directory}: a run in {config['env']} that has not logged its score, {score}")
    return run


def _status(directory: Path, logged: bool) -> tuple[Status, str]:
    """How far a run is, and the reason of a failure."""
    if os.path.lexists(directory / "DONE"):
        return "finished", ""
    if not os.path.isfile(directory / "FAILED"):
        return "unfinished" if logged else "not started", ""
    return "failed", (directory / "FAILED").read_text(errors="replace").strip().split("\n")[-1]


def _read_config(directory: Path) -> dict[str, Any]:
    """The config as it was saved; only what a report uses is checked, so that it may be of another version."""
    path = directory / "config.json"
    config = read_json(path)
    if missing := [name for name in USED[:4] if name not in config]:
        raise UserError(f"{path}: has no {missing[0]}")
    try:
        validate(from_dict({name: config[name] for name in USED if name in config}))
    except (ValueError, UserError) as error:
        raise UserError(f"{path}: {error}") from None
    return config


def _or_note(notes: list[str], read: Callable[..., Found], *args: Any) -> Found | None:
    """What `read` returns. If it raises a UserError, adds that to the notes and returns None."""
    try:
        return read(*args)
    except UserError as error:
        notes.append(str(error))
        return None


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

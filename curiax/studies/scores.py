"""What the runs of a study reached."""

import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
from rich.table import Table

from curiax.envs import scores_of
from curiax.errors import UserError
from curiax.studies.base import Member
from curiax.training.run import metrics
from curiax.training.run.files import write_csv
from curiax.training.statistics import EVALUATION, in_last_quarter, nanmean, t_interval
from curiax.types import Score

Columns = Mapping[str, np.ndarray]  # column of metrics.csv -> one value per log interval


class Result(NamedTuple):
    """A row of scores.csv."""

    setting: str
    method: str
    seed: int
    score: float  # the environment's first score
    noise_dwell: float
    env_steps: int
    wall_minutes: float
    entropy: float = math.nan  # of the policy, in nats
    others: Mapping[str, float] = {}


def read_columns(path: Path) -> dict[str, np.ndarray]:
    """metrics.csv by column; {} if there is nothing to read."""
    try:
        return metrics.read(path).columns
    except UserError:
        return {}


def scores_of_run(env: str, evaluate_every: int) -> tuple[Score, ...]:
    """The scores of an environment. If the run evaluates its deterministic policy, that one's score is the first."""
    first, *others = scores_of(env)
    if not evaluate_every or first.accumulates:
        return (first, *others)
    played = first._replace(metric=EVALUATION + first.metric, title=f"{first.title}, deterministic policy")
    return (played, first, *others)


def final(columns: Columns, name: str, accumulates: bool = False) -> float:
    """The mean over the last quarter of training so far, or over the last tenth of the evaluations; the newest value if
    it accumulates. NaN if not logged."""
    values = columns.get(name)
    if values is None:
        return math.nan
    if name.startswith(EVALUATION):
        return last_evaluations(values)
    return float(values[-1]) if accumulates else nanmean(values[in_last_quarter(columns["update"])])


def last_evaluations(values: np.ndarray) -> float:
    """The mean over the last tenth of the evaluations of the deterministic policy; NaN if there is none."""
    known = values[~np.isnan(values)]
    return nanmean(known[-math.ceil(len(known) / 10) :])


def result(member: Member, columns: Columns, scores: Sequence[Score]) -> Result:
    """What a run has reached so far; `scores` are those of `scores_of_run`."""
    first, *others = scores
    return Result(
        *member,
        score=final(columns, first.metric, first.accumulates),
        noise_dwell=final(columns, "noise_dwell"),
        env_steps=int(columns["env_steps"][-1]),
        wall_minutes=float(columns["seconds"][-1]) / 60,
        entropy=final(columns, "entropy"),
        others={score.metric: final(columns, score.metric, score.accumulates) for score in others},
    )


def other_scores(results: Sequence[Result]) -> list[str]:
    """The metrics of the other scores that some run has."""
    found = [name for row in results for name, value in row.others.items() if not math.isnan(value)]
    return list(dict.fromkeys(found))


def write_scores(path: Path, results: Sequence[Result], settings: str = "setting") -> None:
    """`settings` is the head of their column."""
    others = other_scores(results)
    rows = ([*row[:-1], *(row.others.get(name, math.nan) for name in others)] for row in results)
    texts = ([value if isinstance(value, str) else metrics.number(value) for value in row] for row in rows)
    write_csv(path, [settings, *Result._fields[1:-1], *others], texts)


def score_table(results: Sequence[Result], label: str) -> Table:
    """Means over seeds; `label` is the head of the score's column."""
    title = "means over the last quarter of training ± 95 % interval over seeds"
    others = other_scores(results)
    heads = [label, "noise dwell", *(name.replace("_", " ") for name in others)]
    table = Table("setting", "method", "seeds", *heads, title=title)
    for setting, method in dict.fromkeys((row.setting, row.method) for row in results):
        rows = [row for row in results if (row.setting, row.method) == (setting, method)]
        values = [[row.score for row in rows], [row.noise_dwell for row in rows]]
        values += [[row.others.get(name, math.nan) for row in rows] for name in others]
        table.add_row(setting, method, str(len(rows)), *map(with_interval, values))
    return table


def with_interval(values: Sequence[float]) -> str:
    """`2.00 ± 0.48`, or `2.00` with one seed."""
    mean, half = map(float, t_interval(np.array(values)))
    if math.isnan(mean):
        return "…"
    return f"{mean:.2f}" if math.isnan(half) else f"{mean:.2f} ± {half:.2f}"

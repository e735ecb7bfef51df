"""What the runs of a study reached."""

import csv
import io
import math
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
from rich.table import Table

from curiax.studies.base import Member
from curiax.training.run.directory import last_quarter, nanmean, number, read_metrics
from curiax.training.run.files import write_atomically

ROOMS = ("rooms", "rooms_found")


class Score(NamedTuple):
    """A row of scores.csv."""

    setting: str
    method: str
    seed: int
    score: float  # the first score of the environment: mean over the last quarter of training
    noise_dwell: float  # likewise
    env_steps: int
    wall_minutes: float
    entropy: float = math.nan  # of the policy, in nats, mean over the last quarter
    rooms: float = math.nan  # of an episode, likewise; in environments that have rooms
    rooms_found: float = math.nan  # in the whole run


def score(member: Member, directory: Path, metric: str) -> Score:
    """What a finished run reached; `metric` is the score of its environment."""
    rows = list(read_metrics(directory / "metrics.csv"))
    last = last_quarter(rows)
    return Score(
        *member,
        score=nanmean(row.get(metric, math.nan) for row in last),
        noise_dwell=nanmean(row["noise_dwell"] for row in last),
        env_steps=int(rows[-1]["env_steps"]),
        wall_minutes=rows[-1]["seconds"] / 60,
        entropy=nanmean(row.get("entropy", math.nan) for row in last),
        rooms=nanmean(row.get("rooms", math.nan) for row in last),
        rooms_found=rows[-1].get("rooms_found", math.nan),
    )


def rooms_of(scores: Sequence[Score]) -> list[str]:
    """The columns of rooms, where one has any."""
    return [name for name in ROOMS if not all(math.isnan(getattr(row, name)) for row in scores)]


def write_scores(path: Path, scores: Sequence[Score]) -> None:
    text = io.StringIO()
    table = csv.writer(text, lineterminator="\n")
    rooms = rooms_of(scores)
    names = [name for name in Score._fields if name not in ROOMS or name in rooms]
    table.writerow(names)
    for row in scores:
        values = [getattr(row, name) for name in names]
        table.writerow([value if isinstance(value, str) else number(value) for value in values])
    write_atomically(path, text.getvalue())


def interval(values: Sequence[float]) -> tuple[float, float]:
    """Mean over seeds and half of its 95 % interval by Student's t; NaN for a single seed."""
    from scipy.stats import t

    known = np.array([value for value in values if not math.isnan(value)])
    if len(known) == 0:
        return math.nan, math.nan
    if len(known) == 1:
        return float(known[0]), math.nan
    half = t.ppf(0.975, len(known) - 1) * known.std(ddof=1) / math.sqrt(len(known))
    return float(known.mean()), float(half)


def score_table(scores: Sequence[Score], counted: str = "trackers") -> Table:
    """Means over seeds, in the order of the scores."""
    title = "means over the last quarter of training ± 95 % interval over seeds"
    names = ["score", "noise_dwell", *rooms_of(scores)]
    heads = [counted, *(name.replace("_", " ") for name in names[1:])]
    table = Table("setting", "method", "seeds", *heads, title=title)
    for setting, method in dict.fromkeys((row.setting, row.method) for row in scores):
        rows = [row for row in scores if (row.setting, row.method) == (setting, method)]
        measured = [[getattr(row, name) for row in rows] for name in names]
        table.add_row(setting, method, str(len(rows)), *map(with_interval, measured))
    return table


def with_interval(values: Sequence[float]) -> str:
    mean, half = interval(values)
    if math.isnan(mean):
        return "…"
    return f"{mean:.2f}" if math.isnan(half) else f"{mean:.2f} ± {half:.2f}"

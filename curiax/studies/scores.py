"""What the runs of a study reached."""

import csv
import io
import math
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
from rich.table import Table

from curiax.runs import last_quarter, number, read_metrics, write_atomically
from curiax.studies.base import Member
from curiax.studies.progress import nanmean


class Score(NamedTuple):
    """A row of scores.csv."""

    setting: str
    method: str
    seed: int
    score: float  # trackers per episode, mean over the last quarter of training
    noise_dwell: float  # likewise
    env_steps: int
    wall_minutes: float


def score(member: Member, directory: Path) -> Score:
    rows = list(read_metrics(directory / "metrics.csv"))
    last = last_quarter(rows)
    return Score(
        *member,
        score=nanmean(row.get("trackers", math.nan) for row in last),
        noise_dwell=nanmean(row["noise_dwell"] for row in last),
        env_steps=int(rows[-1]["env_steps"]),
        wall_minutes=rows[-1]["seconds"] / 60,
    )


def write_scores(path: Path, scores: Sequence[Score]) -> None:
    text = io.StringIO()
    table = csv.writer(text, lineterminator="\n")
    table.writerow(Score._fields)
    for row in scores:
        table.writerow([value if isinstance(value, str) else number(value) for value in row])
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


def score_table(scores: Sequence[Score]) -> Table:
    """Means over seeds, in the order of the scores."""
    title = "means over the last quarter of training ± 95 % interval over seeds"
    table = Table("setting", "method", "seeds", "trackers", "noise dwell", title=title)
    for setting, method in dict.fromkeys((row.setting, row.method) for row in scores):
        rows = [row for row in scores if (row.setting, row.method) == (setting, method)]
        measured = ([row.score for row in rows], [row.noise_dwell for row in rows])
        table.add_row(setting, method, str(len(rows)), *map(with_interval, measured))
    return table


def with_interval(values: Sequence[float]) -> str:
    mean, half = interval(values)
    if math.isnan(mean):
        return "…"
    return f"{mean:.2f}" if math.isnan(half) else f"{mean:.2f} ± {half:.2f}"

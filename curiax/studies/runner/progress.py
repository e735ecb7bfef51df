"""The progress of a study's runs and the time that is left, read from their metrics."""

import heapq
import math
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import NamedTuple

from curiax.config import Config
from curiax.config.dotted import differences
from curiax.envs import scores_of
from curiax.errors import UserError
from curiax.training.run.directory import read_config, read_done
from curiax.training.run.metrics import Row, parse, parse_header
from curiax.training.statistics import nanmean
from curiax.types import Score

LAST_ROWS = 8  # of metrics, averaged
TAIL_BYTES = 16_384


class Speed(NamedTuple):
    """The speed of a method with one core per run."""

    steps_per_second: float
    start: float  # seconds before the first step: compilation


class Progress(NamedTuple):
    env_steps: int
    total_steps: int
    shown: dict[str, float]  # title -> recent mean of a metric; NaN before there is one
    speed: Speed | None  # once there are two rows

    @property
    def share(self) -> float:
        return min(self.env_steps / self.total_steps, 1.0)


def glance(path: Path) -> list[Row]:
    """The first row of a metrics.csv and the last few, without reading all of it."""
    if not path.is_file():
        return []
    with path.open("rb") as file:
        header, first = file.readline(), file.readline()
        begin = file.tell()
        start = max(begin, path.stat().st_size - TAIL_BYTES)
        file.seek(start)
        *lines, _ = file.read().split(b"\n")  # after the last newline is an incomplete row
    lines = lines if start == begin else lines[1:]
    whole = [first.rstrip(b"\n")] if first.endswith(b"\n") else []
    try:
        return parse(parse_header(header.rstrip(b"\n")), whole + lines[-LAST_ROWS:]).rows if whole else []
    except ValueError:  # a damaged header; training will refuse it with a message
        return []


def progress(directory: Path, config: Config) -> Progress:
    rows = glance(directory / "metrics.csv")
    total = config.num_updates * config.steps_per_update
    last = rows[-LAST_ROWS:]
    shown = {score.label: recent(last, score) for score in scores_of(config.env)[:2]}
    shown["noise dwell"] = nanmean(row.get("noise_dwell", math.nan) for row in last)
    return Progress(int(rows[-1]["env_steps"]) if rows else 0, total, shown, speed(rows))


def recent(rows: Sequence[Row], score: Score) -> float:
    """The mean of a few rows; the newest value of a score that accumulates."""
    values = [row.get(score.metric, math.nan) for row in rows]
    return values[-1] if values and score.accumulates else nanmean(values)


def speed(rows: Sequence[Row]) -> Speed | None:
    """The speed over the last few rows; None before there are two."""
    recent = rows[-LAST_ROWS:]
    if len(recent) < 2 or recent[-1]["seconds"] == recent[0]["seconds"]:
        return None
    rate = (recent[-1]["env_steps"] - recent[0]["env_steps"]) / (recent[-1]["seconds"] - recent[0]["seconds"])
    return Speed(rate, max(rows[0]["seconds"] - rows[0]["env_steps"] / rate, 0.0))


def finished(directory: Path, config: Config) -> bool:
    """True if the run is complete and has this config."""
    if read_done(directory) < config.num_updates:
        return False
    try:
        return not set(differences(read_config(directory), config)) - {"env_steps"}
    except UserError:
        return False


def seconds_left(run: Progress, speed: Speed) -> float:
    """The time that is left of one run, without compilation."""
    return max(run.total_steps - run.env_steps, 0) / speed.steps_per_second


def makespan(seconds: Iterable[float], num_cores: int) -> float:
    """The time until all runs have ended, if each starts on the first free core."""
    cores = [0.0] * num_cores
    for run in seconds:
        heapq.heapreplace(cores, cores[0] + run)
    return max(cores)


def duration(seconds: float) -> str:
    """`45 s`, `12 min`, `3 h 05 min`, `6 days`; `…` for NaN."""
    if math.isnan(seconds):
        return "…"
    if seconds < 90:
        return f"{seconds:.0f} s"
    minutes, days = round(seconds / 60), seconds / 86_400
    if minutes < 100:
        return f"{minutes} min"
    if days < 4:
        return f"{minutes // 60} h {minutes % 60:02d} min"
    return f"{days:,.0f} days" if days < 1000 else f"{days / 365.25:,.0f} years"


def amount(number: int | float) -> str:
    """`640`, `3.2 k`, `2.0 M`, `12.3 G`."""
    for unit, name in ((1e9, " G"), (1e6, " M"), (1e3, " k")):
        if number >= unit:
            return f"{number / unit:,.1f}{name}"
    return f"{number:.0f}"

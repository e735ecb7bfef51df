"""From runs to numbers: final scores, intervals over seeds, curves on one grid."""

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import scipy.special

from curiax.report.read import RunData, Study
from curiax.training.run.directory import nanmean

NUM_BINS = 60  # points of a curve
LAST = 0.75  # scores are means over what comes after this share of training
REACHED = 0.5  # a tracker counts as reached once this share of the episodes of a log interval touch it
CONFIDENCE = 0.95
TRACKERS = tuple(f"tracker_{number}" for number in (1, 2, 3, 4))
NO_BOUNDS = (-np.inf, np.inf)
ERRORS = ("prediction_error", "reconstruction_error", "hindsight_only_error", "target_variance")
POSITIVE = (*ERRORS, "entropy", "rooms", "rooms_found")
RANGES = {  # what a value can be; intervals are cut to it
    "trackers": (0.0, 4.0),
    "noise_dwell": (0.0, 1.0),
} | {name: (0.0, math.inf) for name in POSITIVE}
CURVES = (
    "trackers",
    "return",
    "rooms",
    "rooms_found",
    "noise_dwell",
    "prediction_error",
    "reconstruction_error",
    "contrastive_value",
    "hindsight_only_error",
    "target_variance",
    "error_on_noise",
    "error_elsewhere",
    "intrinsic_reward",
    "entropy",
    "steps_per_second",
)


class Interval(NamedTuple):
    """A mean over seeds. With one seed the bounds are NaN: one value says nothing of the spread."""

    mean: float
    low: float
    high: float
    num_seeds: int


class Curve(NamedTuple):
    """One metric of one method in one setting, on the study's grid; NaN where there is nothing."""

    seeds: np.ndarray  # [seeds, bins]
    mean: np.ndarray  # [bins], over the seeds that got so far
    low: np.ndarray
    high: np.ndarray


def interval(values: Sequence[float], bounds: tuple[float, float] = NO_BOUNDS) -> Interval:
    """Student's t interval of the mean of the values that are not NaN."""
    mean, low, high = (float(part[0]) for part in intervals(np.reshape(values, (-1, 1)), bounds))
    return Interval(mean, low, high, int(np.isfinite(values).sum()))


def intervals(values: np.ndarray, bounds: tuple[float, float] = NO_BOUNDS) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Mean over the first axis and x̄ ± t_{n−1} s/√n, cut to what is possible; NaN values are left out."""
    known = np.isfinite(values)
    number = known.sum(axis=0)
    mean = divide(np.where(known, values, 0).sum(axis=0), number, 1)
    squares = np.where(known, np.square(values - mean), 0).sum(axis=0)
    half = t_quantile(np.maximum(number - 1, 1)) * np.sqrt(divide(squares, number * (number - 1), 1))
    return mean, np.clip(mean - half, *bounds), np.clip(mean + half, *bounds)


def divide(numerator: np.ndarray, denominator: np.ndarray, least: int) -> np.ndarray:
    """The ratio, or NaN where the denominator is less than `least`."""
    numerator, denominator = np.broadcast_arrays(numerator, denominator)
    return np.divide(numerator, denominator, out=np.full(numerator.shape, np.nan), where=denominator >= least)


def t_quantile(degrees: float | np.ndarray) -> float | np.ndarray:
    return scipy.special.stdtrit(degrees, (1 + CONFIDENCE) / 2)


def differ(left: Sequence[float], right: Sequence[float]) -> int:
    """1 if left is larger, −1 if smaller, 0 if the seeds cannot tell: Welch's t interval of the difference and zero."""
    a, b = np.asarray(left), np.asarray(right)
    if min(len(a), len(b)) < 2:
        return 0
    variances = np.array([a.var(ddof=1) / len(a), b.var(ddof=1) / len(b)])
    gap = float(a.mean() - b.mean())
    if variances.sum() == 0:
        return int(np.sign(gap))
    degrees = variances.sum() ** 2 / np.sum(variances**2 / np.array([len(a) - 1, len(b) - 1]))
    return int(np.sign(gap)) if abs(gap) > t_quantile(degrees) * np.sqrt(variances.sum()) else 0


def final(run: RunData, name: str) -> float:
    """Mean over the last quarter of training so far; of what is found and stays found, the last. NaN: not logged."""
    updates, values = run.metrics["update"], run.metrics.get(name)
    if values is None:
        return math.nan
    return float(values[-1]) if name == "rooms_found" else nanmean(values[updates > LAST * updates[-1]])


def first_reach(run: RunData, tracker: str) -> float:
    """Environment steps until at least half of the episodes of a log interval touch the region; NaN if never."""
    reached = np.flatnonzero(run.metrics[tracker] >= REACHED)
    return float(run.metrics["env_steps"][reached[0]]) if len(reached) else np.nan


def grid(study: Study) -> np.ndarray:
    """Edges of the bins that all curves of the study share."""
    num_rows = max(len(run.metrics["update"]) for run in study.logged)
    return np.linspace(0, max(run.env_steps for run in study.logged), min(NUM_BINS, num_rows) + 1)


def curve(runs: Sequence[RunData], name: str, edges: np.ndarray) -> Curve | None:
    """Means over bins, then over seeds; None where no run logged the metric."""
    if not any(name in columns(run) for run in runs):
        return None
    seeds = np.stack([binned(run, name, edges) for run in runs])
    return Curve(seeds, *intervals(seeds, RANGES.get(name, NO_BOUNDS)))


def binned(run: RunData, name: str, edges: np.ndarray) -> np.ndarray:
    """Mean of each bin's log intervals. A bin may be narrower than an interval: it then takes the one it lies in."""
    steps = run.metrics["env_steps"]
    values = columns(run).get(name, np.full(len(steps), np.nan))
    starts = np.searchsorted(steps, edges[:-1], side="right")
    ends = np.maximum(np.searchsorted(steps, edges[1:], side="right"), starts + 1)
    return np.array([nanmean(values[start:end]) for start, end in zip(starts, ends, strict=True)])


def columns(run: RunData) -> dict[str, np.ndarray]:
    """What was logged, and the speed. The first interval includes compilation and has none."""
    steps, seconds = np.diff(run.metrics["env_steps"]), np.diff(run.metrics["seconds"])
    speed = np.divide(steps, seconds, out=np.full(len(steps), np.nan), where=seconds > 0)
    return run.metrics | {"steps_per_second": np.concatenate([[np.nan], speed])}

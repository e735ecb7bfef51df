"""From metrics to numbers: final scores, intervals over seeds, curves on one grid."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from curiax.report.read import RunData, Study
from curiax.studies import scores
from curiax.training.statistics import nanmean, t_interval

NUM_BINS = 60  # points of a curve
REACHED = 0.5  # a part of a score is reached once this share of the episodes of a log interval reach it
NO_BOUNDS = (-np.inf, np.inf)
ERRORS = ("prediction_error", "reconstruction_error", "hindsight_only_error", "target_variance")
CURVES = (  # drawn besides the scores of the environment
    "noise_dwell",
    *ERRORS[:2],
    "contrastive_value",
    *ERRORS[2:],
    "error_on_noise",
    "error_elsewhere",
    "intrinsic_reward",
    "entropy",
    "steps_per_second",
)
BOUNDS = {"noise_dwell": (0.0, 1.0)} | dict.fromkeys((*ERRORS, "entropy"), (0.0, np.inf))  # possible values


class Interval(NamedTuple):
    """A mean over seeds. With one seed the bounds are NaN."""

    mean: float
    low: float
    high: float
    num_seeds: int


class Curve(NamedTuple):
    """One metric of one method in one setting, on the study's grid; NaN where there are no values."""

    seeds: np.ndarray  # [seeds, bins]
    mean: np.ndarray  # [bins], over the seeds that got so far
    low: np.ndarray
    high: np.ndarray


def interval(values: Sequence[float], bounds: tuple[float, float] = NO_BOUNDS) -> Interval:
    """Student's t interval of the mean of the values that are not NaN."""
    mean, low, high = (float(part[0]) for part in intervals(np.reshape(values, (-1, 1)), bounds))
    return Interval(mean, low, high, int(np.isfinite(values).sum()))


def intervals(values: np.ndarray, bounds: tuple[float, float] = NO_BOUNDS) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Mean over the first axis and x̄ ± t_{n−1} s/√n, clipped to the possible values. NaN values are left out."""
    mean, half = t_interval(values)
    return mean, np.clip(mean - half, *bounds), np.clip(mean + half, *bounds)


def bounds_of(run: RunData, name: str) -> tuple[float, float]:
    """The possible values of a metric."""
    known = BOUNDS | {score.metric: score.bounds for score in run.profile.scores}
    return known.get(name, NO_BOUNDS)


def divide(numerator: np.ndarray, denominator: np.ndarray, least: int) -> np.ndarray:
    """The ratio, or NaN where the denominator is less than `least`."""
    numerator, denominator = np.broadcast_arrays(numerator, denominator)
    return np.divide(numerator, denominator, out=np.full(numerator.shape, np.nan), where=denominator >= least)


def final(run: RunData, name: str) -> float:
    """The mean over the last quarter of training so far; the newest value of a score that accumulates."""
    accumulates = any(score.accumulates for score in run.profile.scores if score.metric == name)
    return scores.final(run.metrics, name, accumulates)


def final_interval(runs: Sequence[RunData], name: str) -> Interval:
    """The final value of a metric, over seeds."""
    return interval([final(run, name) for run in runs], bounds_of(runs[0], name))


def first_reach(run: RunData, part: str) -> float:
    """Environment steps until half of the episodes of a log interval reach a part of the score; NaN if never."""
    reached = np.flatnonzero(run.metrics.get(part, np.array([])) >= REACHED)
    return float(run.metrics["env_steps"][reached[0]]) if len(reached) else np.nan


def grid(study: Study) -> np.ndarray:
    """Edges of the bins that all curves of the study share."""
    num_rows = max(len(run.metrics["update"]) for run in study.logged)
    return np.linspace(0, max(run.env_steps for run in study.logged), min(NUM_BINS, num_rows) + 1)


def curve_names(study: Study) -> list[str]:
    return [*(score.metric for score in study.scores), *CURVES]


def curve(runs: Sequence[RunData], name: str, edges: np.ndarray) -> Curve | None:
    """Means over bins, then over seeds; None if no run logged the metric."""
    if not any(name in columns(run) for run in runs):
        return None
    seeds = np.stack([binned(run, name, edges) for run in runs])
    return Curve(seeds, *intervals(seeds, bounds_of(runs[0], name)))


def binned(run: RunData, name: str, edges: np.ndarray) -> np.ndarray:
    """The mean of each bin's log intervals. A bin inside a log interval has the value of that interval."""
    steps = run.metrics["env_steps"]
    values = columns(run).get(name, np.full(len(steps), np.nan))
    starts = np.searchsorted(steps, edges[:-1], side="right")
    ends = np.maximum(np.searchsorted(steps, edges[1:], side="right"), starts + 1)
    return np.array([nanmean(values[start:end]) for start, end in zip(starts, ends, strict=True)])


def columns(run: RunData) -> dict[str, np.ndarray]:
    """The metrics and the speed, which is NaN in the first interval: that one includes compilation."""
    steps, seconds = np.diff(run.metrics["env_steps"]), np.diff(run.metrics["seconds"])
    speed = np.divide(steps, seconds, out=np.full(len(steps), np.nan), where=seconds > 0)
    return run.metrics | {"steps_per_second": np.concatenate([[np.nan], speed])}

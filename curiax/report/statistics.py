"""Statistics over several worlds: interquartile mean, probability of improvement, share of runs that solve a world.

Agarwal et al., "Deep Reinforcement Learning at the Edge of the Statistical Precipice", NeurIPS 2021. A method's scores
are a list with an array for each world, seeds last. Numbers of seeds may differ: every world has the same weight.
"""

import math
from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from curiax.training.statistics import CONFIDENCE

NUM_RESAMPLES = 5000
TAILS = ((1 - CONFIDENCE) / 2, (1 + CONFIDENCE) / 2)

Scores = Sequence[np.ndarray]  # [..., seeds] of each world; resamples come first


class Estimate(NamedTuple):
    """A number and its 95 % interval; the ends are NaN if there is none."""

    value: float
    low: float = math.nan
    high: float = math.nan


def interquartile_mean(scores: Scores) -> np.ndarray:
    """The mean of all scores without the lowest and the highest quarter.

    Of n scores, ⌊n/4⌋ are left out at each end, as in rliable. With unequal numbers of seeds a score weighs one over
    the number of its world, and the same share of the weight is left out.
    """
    every = np.concatenate(scores, axis=-1)
    weights = np.concatenate([np.full(world.shape[-1], 1 / world.shape[-1]) for world in scores]) / len(scores)
    order = np.argsort(every, axis=-1)
    ends = np.cumsum(weights[order], axis=-1)
    num_scores = every.shape[-1]
    cut = num_scores // 4 / num_scores
    inside = np.clip(ends, cut, 1 - cut) - np.clip(ends - weights[order], cut, 1 - cut)
    kept = inside * np.take_along_axis(every, order, axis=-1)
    return np.asarray(np.sum(kept, axis=-1) / (1 - 2 * cut))


def probability_of_improvement(x: Scores, y: Scores) -> np.ndarray:
    """The mean over worlds of P(X > Y) + P(X = Y) / 2 for a seed of each, U / nm of Mann and Whitney."""
    return np.asarray(np.mean([share_above(*pair) for pair in zip(x, y, strict=True)], axis=0))


def share_above(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """The share of the pairs of a seed of x and a seed of y in which x is larger; a tie is half a pair."""
    won = np.sign(x[..., :, None] - y[..., None, :])
    return np.asarray(np.mean(won / 2 + 0.5, axis=(-2, -1)))


def estimate(statistic: Callable[..., np.ndarray], *methods: Scores) -> Estimate:
    """A statistic of the scores of one or more methods, with its stratified bootstrap interval: the seeds of each world
    are drawn anew, with replacement. No interval if a world has one seed, which would always draw itself.

    With few seeds the interval is too narrow, since n seeds drawn from n vary by (n − 1) / n as much as n new ones.
    """
    value = float(statistic(*methods))
    if min(len(world) for scores in methods for world in scores) < 2:
        return Estimate(value)
    rng = np.random.default_rng(0)  # the same interval in every report
    drawn = [[rng.choice(world, (NUM_RESAMPLES, len(world))) for world in scores] for scores in methods]
    return Estimate(value, *map(float, np.quantile(statistic(*drawn), TAILS)))


def solve_rate(num_solved: int, num_seeds: int) -> Estimate:
    """The share of seeds that solve a world, with Wilson's interval for a binomial share."""
    from scipy import stats  # slow to import

    found = stats.binomtest(num_solved, num_seeds).proportion_ci(CONFIDENCE, method="wilson")
    return Estimate(num_solved / num_seeds, float(found.low), float(found.high))

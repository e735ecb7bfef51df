"""Statistics of runs: the last quarter of training, means without NaN, intervals over seeds."""

import math
from collections.abc import Iterable, Sequence

import numpy as np
from jaxtyping import Bool, Float

CONFIDENCE = 0.95
EVALUATION = "evaluation/"  # begins the names of metrics of the deterministic policy


def in_last_quarter(updates: Float[np.ndarray, " N"]) -> Bool[np.ndarray, " N"]:
    """A mask of the log intervals in the last quarter of training so far. A run's score is the mean over them."""
    return updates > 0.75 * updates[-1]


def nanmean(values: Iterable[float]) -> float:
    """The mean of the numbers that are not NaN; NaN if there are none."""
    known = [value for value in values if not math.isnan(value)]
    return float(np.mean(known)) if known else math.nan


def t_interval(values: Float[np.ndarray, "seeds ..."]) -> tuple[np.ndarray, np.ndarray]:
    """Mean over seeds and half the width of its 95 % interval, t s/√n by Student's t. Values that are not finite are
    left out; the half width is NaN with fewer than two of them."""
    from scipy import stats  # slow to import

    known = np.ma.masked_invalid(values)
    number = known.count(axis=0)
    t = stats.t.ppf((1 + CONFIDENCE) / 2, number - 1)
    half = t * np.ma.filled(known.std(axis=0, ddof=1), np.nan) / np.sqrt(np.maximum(number, 1))
    return np.ma.filled(known.mean(axis=0), np.nan), np.asarray(half)


def differ(left: Sequence[float], right: Sequence[float]) -> int:
    """1 if the mean of `left` is larger, −1 if it is smaller, 0 if Welch's t-test at 5 % finds no difference."""
    from scipy import stats  # slow to import

    if min(len(left), len(right)) < 2:
        return 0
    moments = [(np.mean(side), np.std(side, ddof=1), len(side)) for side in (left, right)]
    test = stats.ttest_ind_from_stats(*moments[0], *moments[1], equal_var=False)
    return int(np.sign(test.statistic)) if test.pvalue < 1 - CONFIDENCE else 0

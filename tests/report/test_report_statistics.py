"""Interquartile means, probabilities of improvement and solve rates, beside numbers worked by hand."""

import numpy as np
import pytest
from scipy import stats

from curiax.report.statistics import (
    Estimate,
    estimate,
    interquartile_mean,
    probability_of_improvement,
    share_above,
    solve_rate,
)


def worlds(*seeds):
    return [np.array(world, float) for world in seeds]


def test_interquartile_mean_worked_by_hand():
    assert interquartile_mean(worlds([0, 10, 2, 3], [1, 100, 4, 5])) == pytest.approx((2 + 3 + 4 + 5) / 4)
    assert interquartile_mean(worlds([1, 2, 6])) == pytest.approx(3)  # of fewer than four scores, the mean


@pytest.mark.parametrize(("num_worlds", "num_seeds"), [(1, 5), (3, 3), (4, 5), (11, 3)])
def test_with_equal_numbers_of_seeds_it_is_the_trimmed_mean_of_rliable(num_worlds, num_seeds):
    scores = np.random.default_rng(0).normal(size=(num_worlds, num_seeds))
    assert interquartile_mean(list(scores)) == pytest.approx(stats.trim_mean(scores, 0.25, axis=None))


def test_a_world_with_twice_the_seeds_weighs_no_more():
    few, many = worlds([1, 2, 3, 4], [5, 6, 7, 8]), worlds([1, 1, 2, 2, 3, 3, 4, 4], [5, 6, 7, 8])
    assert interquartile_mean(many) == pytest.approx(interquartile_mean(few))


def test_two_worlds_of_unequal_seeds_worked_by_hand():
    # Weights 1/8 of 0, 1, 2, 3 and 1/4 of 10, 20. Of six scores one is left out at each end, a sixth of the weight.
    inside = (1 / 4 - 1 / 6) * 1 + 1 / 8 * 2 + 1 / 8 * 3 + 1 / 4 * 10 + (5 / 6 - 3 / 4) * 20
    assert interquartile_mean(worlds([0, 1, 2, 3], [10, 20])) == pytest.approx(inside / (2 / 3))


def test_one_outlier_does_not_move_the_interquartile_mean():
    scores = worlds([0.1, 0.2, 0.3, 0.4], [0.2, 0.3, 0.4, 0.5])
    before = interquartile_mean(scores)
    scores[1][3] = 1e9
    assert interquartile_mean(scores) == before


def test_probability_of_improvement_worked_by_hand():
    x, y = worlds([1, 3], [5, 5]), worlds([0, 2, 3], [5, 6])
    first = (1 + 2 + 0.5) / 6  # 1 > 0; 3 > 0, 3 > 2, 3 = 3
    second = (0.5 + 0.5) / 4
    assert probability_of_improvement(x, y) == pytest.approx((first + second) / 2)


def test_share_above_is_the_statistic_of_mann_and_whitney():
    rng = np.random.default_rng(0)
    x, y = rng.integers(0, 4, 7).astype(float), rng.integers(0, 4, 5).astype(float)
    assert share_above(x, y) == pytest.approx(stats.mannwhitneyu(x, y).statistic / 35)


def test_a_method_neither_improves_on_itself_nor_fails_to():
    x, better = worlds([1, 2, 3], [0, 0, 1]), worlds([4, 5, 6], [2, 2, 2])
    assert probability_of_improvement(x, x) == 0.5
    assert estimate(probability_of_improvement, better, x) == Estimate(1, 1, 1)
    assert estimate(probability_of_improvement, x, better) == Estimate(0, 0, 0)


def test_interval_of_seeds_that_agree_is_a_point_and_one_seed_has_none():
    assert estimate(interquartile_mean, worlds([2, 2], [2, 2, 2])) == pytest.approx(Estimate(2, 2, 2))
    found = estimate(interquartile_mean, worlds([2, 2], [3]))
    assert np.isfinite(found.value) and np.isnan([found.low, found.high]).all()


def test_bootstrap_resamples_within_a_world_and_not_between_worlds():
    apart = worlds([0.0, 0.1] * 4, [10.0, 10.1] * 4)
    found = estimate(interquartile_mean, apart)
    assert found.high - found.low < 1  # a draw from both worlds together would span most of 0 to 10


def coverage(num_worlds, num_seeds, trials=200):
    """How often the interval of seeds around 0 holds 0."""
    rng = np.random.default_rng(1)
    found = [estimate(interquartile_mean, list(rng.normal(size=(num_worlds, num_seeds)))) for _ in range(trials)]
    return np.mean([one.low <= 0 <= one.high for one in found])


@pytest.mark.slow
def test_interval_covers_what_it_claims_with_many_seeds_and_less_with_three():
    assert 0.91 <= coverage(4, 20) <= 0.98
    assert 0.8 <= coverage(10, 3) <= 0.93  # the docs say so
    assert coverage(1, 3) <= 0.8


def test_solve_rate_has_wilsons_interval():
    z = stats.norm.ppf(0.975)
    found = solve_rate(2, 3)
    middle, half = (2 / 3 + z**2 / 6) / (1 + z**2 / 3), z * np.sqrt(2 / 9 / 3 + z**2 / 36) / (1 + z**2 / 3)
    assert found == pytest.approx(Estimate(2 / 3, middle - half, middle + half))
    assert solve_rate(0, 3) == pytest.approx(Estimate(0, 0, z**2 / (3 + z**2)))
    assert solve_rate(3, 3) == pytest.approx(Estimate(1, 3 / (3 + z**2), 1))

"""Scores are means over the last quarter; intervals are Student's, differences Welch's."""

import math

import numpy as np
import pytest

from curiax.training.statistics import differ, in_last_quarter, nanmean, t_interval

NAN = math.nan


def test_the_last_quarter_is_of_the_updates_so_far():
    np.testing.assert_array_equal(in_last_quarter(np.arange(10.0, 50, 10)), [False, False, False, True])


def test_a_mean_leaves_out_nan():
    assert nanmean([1.0, NAN, 3.0]) == 2 and math.isnan(nanmean([NAN])) and math.isnan(nanmean([]))


def test_an_interval_over_seeds_is_students():
    mean, half = t_interval(np.array([1.0, 2.0, 3.0]))  # s = 1, t = 4.303 at two degrees of freedom
    assert (mean, half) == (pytest.approx(2), pytest.approx(4.3027 / math.sqrt(3), rel=1e-4))


def test_one_seed_has_no_interval_and_missing_values_are_left_out():
    mean, half = t_interval(np.array([[1.0, 5.0, NAN], [3.0, NAN, NAN]]))
    np.testing.assert_array_equal(mean, [2, 5, NAN])
    np.testing.assert_array_equal(np.isnan(half), [False, True, True])
    assert np.isnan(t_interval(np.array([]))).all()


def test_two_methods_differ_only_if_the_seeds_can_tell():
    assert differ([3.5, 3.6, 3.7], [1.0, 1.2, 1.1]) == 1
    assert differ([1.0, 1.2, 1.1], [3.5, 3.6, 3.7]) == -1
    assert differ([1.0, 3.0, 2.0], [1.5, 2.5, 3.5]) == 0
    assert differ([4.0], [0.0]) == 0  # one seed tells nothing
    assert differ([4.0, 4.0], [3.0, 3.0]) == 1
    assert differ([4.0, 4.0], [4.0, 4.0]) == 0


def test_difference_is_by_welch():
    left, right = [2.0, 4.0], [0.0, 0.0]  # t = 3 / 1 with one degree of freedom, where 12.7 is needed
    assert differ(left, right) == 0
    assert differ([2.9, 3.1], right) == 1  # t = 3 / 0.1

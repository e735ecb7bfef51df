"""Which pairs (t, i) are scored and which transition is paid for them, against loops that walk the stream."""

import hypothesis.strategies as st
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis.extra.numpy import arrays

from curiax.curiosity.base import cosine_distance, credit, squared_distance, valid_pairs

patient = settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.too_slow])  # on busy machines


def slow_pairs(last, horizon):
    """(t, i) is valid if one can walk from observation t to t + i without leaving a final observation."""
    num_steps, batch_size = last.shape[0] - 1, last.shape[1]
    pairs = np.zeros((horizon, num_steps, batch_size), bool)
    for i, t, b in np.ndindex(pairs.shape):
        end = t + i + 1  # the array's first row is i = 1
        pairs[i, t, b] = end <= num_steps and not last[t:end, b].any()
    return pairs


def slow_credit(error, pairs):
    """Each valid pair pays the transition that its walk ends with."""
    total = np.zeros(error.shape[1:])
    for i, t, b in np.argwhere(pairs):
        total[t + i, b] += error[i, t, b]
    return total


@st.composite
def streams(draw):
    """Where observations are final, and a horizon."""
    shape = draw(st.sampled_from([(2, 1), (5, 3), (7, 2)]))
    return draw(arrays(bool, shape)), draw(st.integers(1, min(3, shape[0] - 1)))


def pairs_of(last, horizon):
    return np.asarray(valid_pairs(jnp.asarray(~last[:-1]), horizon))


def errors(shape):
    return np.random.default_rng(0).uniform(0.5, 4, shape).astype(np.float32)


@patient
@given(streams())
def test_valid_pairs_are_those_that_one_can_walk(stream):
    np.testing.assert_array_equal(pairs_of(*stream), slow_pairs(*stream))


@patient
@given(streams())
def test_credit_is_the_sum_over_valid_pairs_that_end_with_the_transition(stream):
    last, horizon = stream
    pairs = slow_pairs(last, horizon)
    error = errors(pairs.shape)
    result = credit(jnp.asarray(error), jnp.asarray(pairs))
    np.testing.assert_allclose(result, slow_credit(error, pairs), rtol=1e-5)


def test_the_pair_that_reaches_the_final_observation_is_valid_and_the_one_that_crosses_it_is_not():
    # Observations 0 1 2* 3 4; * is final, so step 2 → 3 is a reset.
    last = np.array([False, False, True, False, False])[:, None]
    pairs = pairs_of(last, 3)[..., 0]
    np.testing.assert_array_equal(pairs[0], [True, True, False, True])  # 0→1, 1→2*, not 2*→3, 3→4
    np.testing.assert_array_equal(pairs[1], [True, False, False, False])  # 0→2*; 1→3 crosses, 3→5 is beyond the end
    np.testing.assert_array_equal(pairs[2], [False, False, False, False])


def test_the_first_transitions_of_a_sequence_have_fewer_terms():
    pairs = jnp.asarray(pairs_of(np.zeros((6, 1), bool), 3))
    ones = jnp.ones(pairs.shape)
    np.testing.assert_array_equal(credit(ones, pairs)[:, 0], [1, 2, 3, 3, 3])


def test_credit_of_one_step_is_the_error_itself():
    last = np.array([[False, False], [False, True], [False, False]])
    pairs = jnp.asarray(pairs_of(last, 1))
    error = errors(pairs.shape)
    expected = error[0] * ~last[:-1]
    np.testing.assert_array_equal(credit(jnp.asarray(error), pairs), expected)


def test_a_reset_is_paid_nothing_even_if_its_error_is_not_a_number():
    pairs = jnp.array([True, False, True])[None, :, None]
    error = jnp.array([1.0, jnp.nan, 2.0])[None, :, None]
    np.testing.assert_array_equal(credit(error, pairs)[:, 0], [1.0, 0.0, 2.0])


def test_cosine_distance_is_2_minus_2_cos():
    # (3, 4) with itself 0, with a multiple 0, at a right angle 2, opposed 4;  with (1, 0): 2 − 2·0.6 = 0.8
    target = jnp.array([[3.0, 4.0]] * 5)
    output = jnp.array([[3.0, 4.0], [30.0, 40.0], [-4.0, 3.0], [-0.3, -0.4], [1.0, 0.0]])
    np.testing.assert_allclose(cosine_distance(target, output), [0, 0, 2, 4, 0.8], atol=1e-6)


@pytest.mark.parametrize("scale", [1e-3, 1e3])
def test_cosine_distance_does_not_see_lengths(scale):
    target, output = jnp.asarray(errors((4, 3))), jnp.asarray(errors((4, 3))[::-1])
    plain = cosine_distance(target, output)
    np.testing.assert_allclose(cosine_distance(target, scale * output), plain, rtol=1e-4)
    np.testing.assert_allclose(cosine_distance(scale * target, output), plain, rtol=1e-4)


def test_squared_distance_golden():
    # differences 1, −3: (1 + 9)/2
    np.testing.assert_allclose(squared_distance(jnp.array([2.0, 0.0]), jnp.array([1.0, 3.0])), 5.0)

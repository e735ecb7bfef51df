"""Returns: worked by hand, in their limits, and against a slow loop over episodes."""

import hypothesis.strategies as st
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis.extra.numpy import arrays

from curiax.agent.returns import endless_returns, vtrace_returns

T, B = 7, 2
patient = settings(max_examples=50, deadline=None, suppress_health_check=[HealthCheck.too_slow])  # on busy machines
compiled = jax.jit(vtrace_returns, static_argnums=4)
compiled_endless = jax.jit(endless_returns, static_argnums=(2, 4))


def returns(values, rewards, discounts, valid, lambda_):
    floats = (jnp.asarray(x, jnp.float32) for x in (values, rewards, discounts))
    return np.asarray(compiled(*floats, jnp.asarray(valid, bool), lambda_))


def endless(values, rewards, discount, valid, lambda_):
    floats = (jnp.asarray(x, jnp.float32) for x in (values, rewards))
    return np.asarray(compiled_endless(*floats, discount, jnp.asarray(valid, bool), lambda_))


def column(*values):
    return np.array(values)[:, None]


def slow_returns(values, rewards, discounts, valid, lambda_):
    """Trajectory by trajectory and episode by episode, backwards in time."""
    result = values[:-1].copy()  # a reset is no transition: its return is its value
    for b in range(values.shape[1]):
        following = values[-1, b]
        for t in reversed(range(len(rewards))):
            if valid[t, b]:
                ahead = (1 - lambda_) * values[t + 1, b] + lambda_ * following
                following = result[t, b] = rewards[t, b] + discounts[t, b] * ahead
            else:
                following = values[t, b]  # the final observation: the episode before bootstraps from it
    return result


@st.composite
def streams(draw):
    """Values, rewards, discounts and validity of T steps of B streams whose episodes end anywhere."""
    numbers = st.floats(-2, 2, width=32)
    last = draw(arrays(bool, (T + 1, B)))
    terminated = last[1:] & ~last[:-1] & draw(arrays(bool, (T, B)))
    values = draw(arrays(np.float32, (T + 1, B), elements=numbers))
    rewards = draw(arrays(np.float32, (T, B), elements=numbers))
    return values, rewards, np.where(terminated, 0.0, 0.9), ~last[:-1]


def test_returns_golden():
    # γ = λ = 0.5
    # G_2 = 2 + 0.5·4 = 4;  G_1 = 0 + 0.5 (0.5·3 + 0.5·4) = 1.75;  G_0 = 1 + 0.5 (0.5·2 + 0.5·1.75) = 1.9375
    result = returns(column(1, 2, 3, 4), column(1, 0, 2), np.full((3, 1), 0.5), np.ones((3, 1)), 0.5)
    np.testing.assert_allclose(result, column(1.9375, 1.75, 4.0))


def test_lambda_one_is_the_discounted_return_to_the_end_of_the_unroll():
    # G_0 = 1 + 0.5·2 + 0.25·3 + 0.125·10 = 4, whatever the values in between are
    for between in (0.0, 100.0):
        values = column(between, between, between, 10.0)
        result = returns(values, column(1, 2, 3), np.full((3, 1), 0.5), np.ones((3, 1)), 1.0)
        np.testing.assert_allclose(result, column(4.0, 6.0, 8.0), rtol=1e-5)


def test_lambda_zero_is_the_one_step_target():
    values, rewards = column(5.0, 1.0, 2.0, 3.0), column(1.0, 2.0, 3.0)
    result = returns(values, rewards, np.full((3, 1), 0.5), np.ones((3, 1)), 0.0)
    np.testing.assert_allclose(result, rewards + 0.5 * values[1:])


@pytest.mark.parametrize("lambda_", [0.0, 0.5, 1.0])
def test_termination_cuts_and_truncation_bootstraps_from_the_final_observation(lambda_):
    # Step 1 ends the episode, step 2 is the reset, step 3 belongs to the next one. V(final observation) = 8.
    values, rewards, valid = column(1, 1, 8, 50, 60), column(1, 2, 100, 100), column(True, True, False, True)
    terminated = returns(values, rewards, column(0.5, 0.0, 0.5, 0.5), valid, lambda_)
    truncated = returns(values, rewards, column(0.5, 0.5, 0.5, 0.5), valid, lambda_)
    assert terminated[1, 0] == pytest.approx(2.0)
    assert truncated[1, 0] == pytest.approx(2.0 + 0.5 * 8.0)


@pytest.mark.parametrize("lambda_", [0.5, 1.0])
def test_nothing_flows_across_a_reset(lambda_):
    valid = column(True, True, False, True)
    discounts = np.full((4, 1), 0.9)
    one = returns(column(1, 2, 3, 4, 5), column(1, 1, 1, 1), discounts, valid, lambda_)
    other = returns(column(1, 2, 3, -40, 50), column(1, 1, -70, 80), discounts, valid, lambda_)
    np.testing.assert_array_equal(one[:2], other[:2])
    assert one[3, 0] != other[3, 0]


def test_the_filter_runs_over_time_and_not_over_trajectories():
    values, discounts, valid = np.zeros((4, 3)), np.full((3, 3), 0.5), np.ones((3, 3))
    rewards = np.zeros((3, 3))
    rewards[2, 1] = 8.0
    expected = np.zeros((3, 3))
    expected[:, 1] = [2.0, 4.0, 8.0]
    np.testing.assert_allclose(returns(values, rewards, discounts, valid, 1.0), expected)


@patient
@given(streams(), st.sampled_from([0.0, 0.8, 1.0]))
def test_returns_are_those_of_the_episodes_one_by_one(stream, lambda_):
    np.testing.assert_allclose(returns(*stream, lambda_), slow_returns(*stream, lambda_), rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("lambda_", [0.0, 0.5, 1.0])
def test_returns_are_those_of_rlax(lambda_):
    import rlax  # slow to import, and workers collect every file

    values, rewards = jax.random.normal(jax.random.key(0), (T + 1,)), jax.random.normal(jax.random.key(1), (T,))
    discounts = jnp.full(T, 0.9).at[3].set(0.0)
    with jax.numpy_dtype_promotion("standard"):  # rlax relies on it
        expected = rlax.lambda_returns(rewards, discounts, values[1:], lambda_)
    found = returns(values[:, None], rewards[:, None], discounts[:, None], np.ones((T, 1)), lambda_)
    np.testing.assert_allclose(found[:, 0], expected, rtol=1e-5, atol=1e-6)


def test_returns_are_targets_and_carry_no_gradient():
    values, rewards, ones = jnp.ones((4, 1)), jnp.ones((3, 1)), jnp.ones((3, 1))
    valid = jnp.ones((3, 1), bool)
    gradient = jax.jit(jax.grad(lambda values: jnp.sum(vtrace_returns(values, rewards, ones, valid, 0.5))))(values)
    np.testing.assert_array_equal(gradient, np.zeros((4, 1)))


def test_endless_returns_golden():
    # o_2 is the final observation of an episode, o_3 the first of the next; V = 1, 2, 100, 4, 8 and r = 1, 3, 50, 5.
    # γ = λ = 0.5:  G_3 = 5 + 0.5·8 = 9;  the reset pays nothing and takes no time: G_2 = 9
    # G_1 = 3 + 0.5 (0.5·4 + 0.5·9) = 6.25, of V_3, not V_2;  G_0 = 1 + 0.5 (0.5·2 + 0.5·6.25) = 3.0625
    values, rewards, valid = column(1, 2, 100, 4, 8), column(1, 3, 50, 5), column(True, True, False, True)
    np.testing.assert_allclose(endless(values, rewards, 0.5, valid, 0.5), column(3.0625, 6.25, 9.0, 9.0))


def test_an_endless_return_bootstraps_from_the_final_observation_only_where_the_unroll_ends_with_it():
    # o_2 = o_T is final, and the next episode unknown:  G_1 = 3 + 0.5·8 = 7
    assert endless(column(1, 2, 8), column(1, 3), 0.5, column(True, True), 1.0)[1, 0] == 7.0
    # o_1 is final and o_2 = o_T the first of the next episode: G_0 = 1 + 0.5·8, and so is G of the final observation.
    found = endless(column(1, 2, 8), column(1, 3), 0.5, column(True, False), 1.0)
    np.testing.assert_allclose(found, column(5.0, 8.0))


@patient
@given(streams(), st.sampled_from([0.0, 0.8, 1.0]))
def test_endless_returns_are_those_of_one_episode_from_which_the_resets_were_cut(stream, lambda_):
    values, rewards, _, valid = stream
    found = endless(values, rewards, 0.9, valid, lambda_)
    for b in range(B):
        steps = np.flatnonzero(valid[:, b])
        kept, num_steps = np.append(values[steps, b], values[-1, b]), len(steps)
        expected = slow_returns(
            kept[:, None], rewards[steps, b][:, None], np.full((num_steps, 1), 0.9), np.ones((num_steps, 1)), lambda_
        )
        np.testing.assert_allclose(found[steps, b], expected[:, 0], rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("lambda_", [0.0, 0.8, 1.0])
def test_without_an_end_endless_returns_are_the_episodic_ones(lambda_):
    rng = np.random.default_rng(0)
    values, rewards, valid = rng.normal(size=(T + 1, B)), rng.normal(size=(T, B)), np.ones((T, B))
    expected = returns(values, rewards, np.full((T, B), 0.9), valid, lambda_)
    np.testing.assert_allclose(endless(values, rewards, 0.9, valid, lambda_), expected, rtol=1e-6)


def test_endless_returns_carry_no_gradient():
    rewards, valid = jnp.ones((3, 1)), jnp.array([[True], [False], [True]])
    gradient = jax.jit(jax.grad(lambda values: jnp.sum(endless_returns(values, rewards, 0.9, valid, 0.5))))
    np.testing.assert_array_equal(gradient(jnp.ones((4, 1))), np.zeros((4, 1)))

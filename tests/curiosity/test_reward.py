"""From errors to rewards, worked by hand."""

import functools

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from curiax.config import BonusConfig
from curiax.curiosity.reward import (
    bonus_init,
    intrinsic_reward,
    mean_and_scale,
    mix,
    moments_init,
    moments_update,
    reward_streams,
)

HALF = BonusConfig(decay=0.5)
DEFAULT = BonusConfig()
pay = jax.jit(intrinsic_reward, static_argnums=0)
update = jax.jit(moments_update, static_argnums=3)


@functools.partial(jax.jit, static_argnums=(0, 1))
def mixed(config, regime, error, extrinsic, valid):
    """The reward, and its intrinsic part."""
    _, rewards = reward_streams(config, bonus_init(), error, extrinsic, valid)
    return mix(config, regime, rewards), rewards.intrinsic


def row(*values):
    return jnp.array([values], jnp.float32)


def everywhere(x):
    return jnp.ones(x.shape, bool)


def statistics(batches, decay):
    state = functools.reduce(lambda state, x: update(state, x, everywhere(x), decay), batches, moments_init())
    return np.array(mean_and_scale(state, decay))


def test_the_first_statistics_are_those_of_the_batch():
    # The bias correction 1 − 0.99¹ undoes the step size 0.01. Mean 2, mean square 5, σ = √(5 − 4).
    np.testing.assert_allclose(statistics([row(1, 3)], 0.99), [2, 1], rtol=1e-4)


def test_moving_averages_golden():
    # decay ½; means 2, 6 and mean squares 5, 37; correction 1 − ½² = ¾
    # μ = (½·½·2 + ½·6)/¾ = 4.666667;  μ₂ = (½·½·5 + ½·37)/¾ = 26.333333;  σ = √(26.333333 − 21.777778) = 2.134375
    np.testing.assert_allclose(statistics([row(1, 3), row(5, 7)], 0.5), [4.666667, 2.134375], rtol=1e-5)


def test_the_statistics_of_a_repeated_batch_are_its_own():
    np.testing.assert_allclose(statistics([row(1, 3)] * 5, 0.99), [2, 1], rtol=1e-3)


def test_the_scale_grows_when_errors_vary_more():
    scales = [statistics([row(-spread, spread)], 0.99)[1] for spread in (0.5, 1, 4)]
    np.testing.assert_allclose(scales, [0.5, 1, 4], rtol=1e-4)


def test_prioritised_reward_golden():
    # μ = 4.666667, σ = 2.134375 as above: (5 − μ)/σ = 0.156174, (7 − μ)/σ = 1.093216
    state, first = pay(HALF, moments_init(), row(1, 3), everywhere(row(1, 3)))
    _, second = pay(HALF, state, row(5, 7), everywhere(row(5, 7)))
    np.testing.assert_allclose(first, [[0, 1]], atol=1e-5)  # (1 − 2)/1 is cut off at zero
    np.testing.assert_allclose(second, [[0.156174, 1.093216]], rtol=1e-4)


def test_prioritisation_leaves_about_half_with_nothing():
    error = jnp.asarray(np.random.default_rng(0).normal(3, 1, (64, 16)), jnp.float32)
    _, reward = pay(DEFAULT, moments_init(), error, everywhere(error))
    assert reward.min() == 0
    assert np.mean(reward == 0) == pytest.approx(0.5, abs=0.05)


def test_without_prioritisation_the_reward_is_the_error_over_its_scale():
    _, reward = pay(BonusConfig(prioritise=False), moments_init(), row(1, 3), everywhere(row(1, 3)))
    np.testing.assert_allclose(reward, [[1, 3]], rtol=1e-4)  # σ = 1; the mean is not taken off


def test_without_normalisation_the_reward_keeps_the_units_of_the_error():
    error = row(1, 5)  # mean 3, σ = 2
    _, reward = pay(BonusConfig(normalise=False), moments_init(), error, everywhere(error))
    np.testing.assert_allclose(reward, [[0, 2]], rtol=1e-4)
    _, reward = pay(BonusConfig(normalise=False, prioritise=False), moments_init(), error, everywhere(error))
    np.testing.assert_allclose(reward, error, rtol=1e-6)


@pytest.mark.parametrize("prioritise", [True, False])
def test_resets_get_nothing_and_do_not_enter_the_statistics(prioritise):
    config = BonusConfig(prioritise=prioritise)
    alone_state, alone = pay(config, moments_init(), row(1, 3), everywhere(row(1, 3)))
    state, reward = pay(config, moments_init(), row(1, 3, 1e6), jnp.array([[True, True, False]]))
    np.testing.assert_allclose(state, alone_state, rtol=1e-6)
    np.testing.assert_allclose(reward[:, :2], alone, rtol=1e-6)
    assert reward[0, 2] == 0


@pytest.mark.parametrize("error", [0.0, 0.3])
def test_constant_errors_are_no_news_and_no_nan(error):
    state, constant = moments_init(), jnp.full((4, 2), error)
    for _ in range(3):
        state, reward = pay(DEFAULT, state, constant, everywhere(constant))
        np.testing.assert_allclose(reward, 0.0, atol=1e-2)  # a rounding error over the smallest scale, 1e-4


def test_intrinsic_regime_ignores_the_environment_s_reward():
    error, extrinsic = row(1, 3), row(0, 2)
    reward, intrinsic = mixed(DEFAULT, "intrinsic", error, extrinsic, everywhere(error))
    np.testing.assert_allclose(reward, [[0, 1]], atol=1e-4)
    np.testing.assert_array_equal(reward, intrinsic)


def test_mixed_regime_golden():
    # r_ext = 0, 2 with mean 1, mean square 2, σ_ext = 1: r = r_ext/1 + 0.2·(0, 1).  Twice the reward: 0, 4 over 2.
    for scale in (1, 2):
        error, extrinsic = row(1, 3), row(0, 2 * scale)
        reward, intrinsic = mixed(DEFAULT, "mixed", error, extrinsic, everywhere(error))
        np.testing.assert_allclose(reward, [[0, 2.2]], atol=1e-3)
        np.testing.assert_allclose(intrinsic, [[0, 1]], atol=1e-4)


def test_mixed_regime_pays_a_reset_nothing():
    error, extrinsic = row(1, 3, 9), row(0, 2, 7)
    reward, _ = mixed(DEFAULT, "mixed", error, extrinsic, jnp.array([[True, True, False]]))
    np.testing.assert_allclose(reward, [[0, 2.2, 0]], atol=1e-3)


def test_mixed_regime_without_extrinsic_reward_is_the_intrinsic_one_weighed():
    error = row(1, 3)
    reward, intrinsic = mixed(DEFAULT, "mixed", error, row(0, 0), everywhere(error))
    np.testing.assert_allclose(reward, 0.2 * intrinsic, rtol=1e-6)


def test_streams_golden():
    # As above: r_ext/σ_ext = 0, 2 and r_int = 0, 1, apart and not weighed; at a reset neither is paid.
    error, extrinsic = row(1, 3, 9), row(0, 2, 7)
    _, rewards = reward_streams(DEFAULT, bonus_init(), error, extrinsic, jnp.array([[True, True, False]]))
    np.testing.assert_allclose(rewards.extrinsic, [[0, 2, 0]], atol=1e-3)
    np.testing.assert_allclose(rewards.intrinsic, [[0, 1, 0]], atol=1e-4)

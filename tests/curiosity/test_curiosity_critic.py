"""Curiosity-Critic: the error before and after the model's step, and what the critic leaves to be paid."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from curiax.config import Config, WorldConfig
from curiax.curiosity.base import Represented, Sizes, squared_distance
from curiax.curiosity.measures.curiosity_critic import curiosity_critic, replay
from curiax.curiosity.measures.predict import open_loop
from curiax.curiosity.measures.recent import SIZE
from tests.support.small_measure import (
    CONFIG,
    CREDITED,
    PAIRS,
    SIZES,
    VALID,
    B,
    T,
    constant,
    make_represented,
    score,
    start,
    train,
)


def by_hand(expected, prediction=1.0):
    """Parameters that predict 1, and expect an error of `expected` to be left; targets 4."""
    params, state = start("critic")
    params |= {"predictor": constant(params["predictor"], prediction), "critic": constant(params["critic"], expected)}
    return params, state, make_represented()._replace(target=jnp.full((T, B, SIZES.target), 4.0))


@pytest.mark.parametrize(("expected", "paid"), [(2.0, 1.0), (5.0, -2.0), (-1.0, 3.0)])
def test_reward_golden(expected, paid):
    # e = √(4 − 1)² = 3; an expectation below zero counts as zero, and the reward may be below it
    np.testing.assert_allclose(score("critic", *by_hand(expected)).error, CREDITED * paid, rtol=1e-6)


def test_the_critic_regresses_the_last_batch_s_error_by_the_parameters_of_now():
    params, state, represented = by_hand(2.0)
    first = score("critic", params, state, represented)
    assert first.losses["error_after"].value == 0 and not first.losses["error_after"].mask  # nothing is remembered
    params, _, _ = by_hand(2.0, prediction=3.5)  # after the step
    other = represented._replace(target=jnp.zeros((T, B, SIZES.target)))  # the next batch does not matter
    second = score("critic", params, first.critic, other)
    np.testing.assert_allclose(second.losses["error_after"].value, (2.0 - 0.5) ** 2, rtol=1e-5)  # e⁺ = ½


def test_the_error_after_a_step_that_changes_nothing_is_the_error_before_it():
    params, state = start("critic")
    represented = make_represented()
    last = score("critic", params, state, represented).critic

    @jax.jit
    def errors(params):
        loops = replay(params["core"], last), open_loop(params["core"], represented, VALID, CONFIG.world.horizon)
        return [(squared_distance(loop.target, params["predictor"](loop.after)), loop.valid) for loop in loops]

    (after, kept), (before, valid) = errors(params)
    assert kept.shape == (CONFIG.world.horizon, SIZE) and kept.sum() == valid.sum() == PAIRS
    np.testing.assert_allclose(np.sort(after[kept]), np.sort(before[valid]), rtol=1e-5)


SMALL = Config(world=WorldConfig(horizon=1, hidden=(16,)))


@pytest.mark.slow
def test_it_pays_about_zero_for_noise_it_knows_and_more_for_what_is_new():
    def noise(key):  # in a state of its own; 16 × 16 transitions
        target = jax.random.normal(key, (16, 16, 4))
        return Represented(jnp.ones((16, 16, 2)), jnp.zeros((16, 16, 2)), target, {}, {})

    sizes = Sizes(2, 2, 4)
    params, state, (reward, error) = train("critic", noise, 400, SMALL, sizes)
    assert error[-100:].mean() > 0.9 and reward[:5].mean() > 0.5
    assert abs(reward[-100:].mean()) < 0.05

    new = noise(jax.random.key(9))._replace(target=jnp.full((16, 16, 4), 5.0))
    valid = jnp.ones((16, 16), bool)

    @jax.jit
    def paid(new):
        return curiosity_critic(SMALL).score(params, state, new, valid, squared_distance, jax.random.key(0)).error

    assert paid(new).min() > 2

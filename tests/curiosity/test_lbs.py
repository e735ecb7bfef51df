"""Latent Bayesian surprise: the KL of two Gaussians, the loss, and what β does."""

from dataclasses import replace

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from curiax.config import Config, WorldConfig
from curiax.curiosity.base import Represented, Sizes
from curiax.curiosity.measures.lbs import kl
from tests.support.small_measure import CONFIG, CREDITED, SIZES, B, T, constant, make_represented, score, start, train


def gaussians(*pairs):
    """Means and log variances of Gaussians given by mean and variance."""
    mean, variance = (jnp.array(x) for x in zip(*pairs, strict=True))
    return mean, jnp.log(variance)


def test_kl_golden():
    # ½ [log 4 + (1 + 1)/4 − 1] = 0.4431472; the other way round ½ [−log 4 + (4 + 1)/1 − 1] = 1.3068528
    one, other = gaussians((0.0, 1.0)), gaussians((1.0, 4.0))
    np.testing.assert_allclose(kl(one, other), 0.4431472, rtol=1e-6)
    np.testing.assert_allclose(kl(other, one), 1.3068528, rtol=1e-6)
    both = gaussians((0.0, 1.0), (1.0, 4.0)), gaussians((1.0, 4.0), (0.0, 1.0))
    np.testing.assert_allclose(kl(*both), 1.75, rtol=1e-6)  # coordinates add up
    np.testing.assert_allclose(kl(one, one), 0.0, atol=1e-7)


def test_reward_and_losses_golden():
    # q = N(1, 1), p = N(0, 1) in two coordinates: KL = 2 · ½. Targets 3, reconstructed as 1: ½ · 5 · 2².
    params, state = start("lbs")
    params |= {
        "prior": constant(params["prior"], 0.0),
        "posterior": constant(params["posterior"], jnp.array([1.0, 1.0, 0.0, 0.0])),
        "head": constant(params["head"], 1.0),
    }
    output = score("lbs", params, state, make_represented()._replace(target=jnp.full((T, B, SIZES.target), 3.0)))
    np.testing.assert_allclose(output.error, CREDITED * 1.0, rtol=1e-6)
    np.testing.assert_allclose(output.losses["surprise"].value, 1.0, rtol=1e-6)
    np.testing.assert_allclose(output.losses["likelihood"].value, 10.0, rtol=1e-6)
    assert output.losses["likelihood"].weight == CONFIG.world.reconstruction_weight


def test_the_reward_is_never_below_zero():
    params, state = start("lbs")
    for seed in range(5):
        assert score("lbs", params, state, make_represented(seed)).error.min() >= 0


def test_an_outcome_that_changes_no_belief_is_worth_nothing_however_wrong_the_reconstruction():
    params, state = start("lbs")
    params |= {name: constant(params[name], jnp.arange(4.0)) for name in ("prior", "posterior")}
    output = score("lbs", params, state, make_represented())
    assert not np.any(output.error) and output.losses["likelihood"].value.min() > 0


@pytest.mark.slow
def test_with_a_large_beta_the_surprise_vanishes_and_with_a_small_one_z_holds_the_noise():
    def noise(key):  # of two numbers, each ±1
        target = jnp.sign(jax.random.normal(key, (16, 16, 2)))
        return Represented(jnp.ones((16, 16, 2)), jnp.zeros((16, 16, 2)), target, {}, {})

    world = WorldConfig(horizon=1, hidden=(16,), latent=2)
    surprise = {}
    for beta in (100.0, 0.01):
        config = Config(world=replace(world, reconstruction_weight=1 / beta))
        _, _, (reward, _) = train("lbs", noise, 500, config, Sizes(2, 2, 2))
        surprise[beta] = reward[-50:].mean()
    assert surprise[100.0] < 0.01
    assert surprise[0.01] > 0.9 * 2 * np.log(2)  # nats of two fair coins: lbs pays for noise that it can encode

"""Policies over numbered actions and over vectors: what their heads' numbers mean."""

import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest
import scipy.stats

from curiax.agent.distributions import (
    CATEGORICAL,
    GAUSSIAN,
    distribution_for,
    distribution_of,
    entropy_of,
    mean_and_deviation,
    no_action,
)
from curiax.agent.policy import make_agent
from curiax.agent.vmpo import PAPER, init_duals, project_duals, vmpo_losses
from curiax.config import NetworkConfig, VMPOConfig
from curiax.types import EnvSpec

T, B, D = 3, 2, 2
RNG = np.random.default_rng(0)
OUTPUTS = jnp.asarray(RNG.standard_normal((T, B, 2 * D)), jnp.float32)
ACTING = jnp.asarray(RNG.standard_normal((T, B, 2 * D)), jnp.float32)
ACTION = jnp.asarray(RNG.standard_normal((T, B, D)), jnp.float32)
ADVANTAGE = jnp.asarray(RNG.standard_normal((T, B)), jnp.float32)
VALID = jnp.ones((T, B), bool).at[1, 0].set(False)
CONFIG = VMPOConfig(epsilon_temperature=0.1)
FORM = PAPER._replace(temperature=0.7, alpha=0.4)
SPEC = EnvSpec("box", observation_shape=(3,), num_actions=D, time_limit=5, action_parts=())


def numbers(outputs):
    """Mean and standard deviation, by numpy in double precision."""
    mean, raw = np.split(np.asarray(outputs, float), 2, axis=-1)
    return mean, np.log1p(np.exp(raw)) + 1e-3


def kls(acting, outputs):
    """KL(acting ‖ new) of full covariance matrices: of the mean alone, and of the covariance alone."""
    (mean, deviation), (acting_mean, acting_deviation) = numbers(outputs), numbers(acting)
    both = np.zeros((2, T, B))
    for place in np.ndindex(T, B):
        old, new = np.diag(acting_deviation[place] ** 2), np.diag(deviation[place] ** 2)
        step = mean[place] - acting_mean[place]
        volume = np.log(np.linalg.det(new) / np.linalg.det(old))
        both[0][place] = 0.5 * step @ np.linalg.inv(old) @ step
        both[1][place] = 0.5 * (np.trace(np.linalg.inv(new) @ old) - D + volume)
    return both


def loss_by_numpy(duals, outputs):
    """L_π + L_η + L_αμ + L_αΣ, step by step as the paper writes them."""
    valid, advantage = np.asarray(VALID), np.asarray(ADVANTAGE, float)
    mean, deviation = numbers(outputs)
    log_prob = scipy.stats.norm.logpdf(np.asarray(ACTION, float), mean, deviation).sum(axis=-1)
    top = np.argsort(np.where(valid, advantage, -np.inf).ravel())[::-1][: T * B // 2]
    best, eta = advantage.ravel()[top], float(duals["temperature"])
    weights = np.exp(best / eta) / np.exp(best / eta).sum()
    policy = -(weights * log_prob.ravel()[top]).sum()
    temperature = eta * 0.1 + eta * np.log(np.exp(best / eta).mean())
    limits = []
    for name, limit, kl in zip(("alpha_mean", "alpha_covariance"), (0.01, 1e-4), kls(ACTING, outputs), strict=True):
        multiplier = float(duals[name])
        limits.append(multiplier * (limit - kl[valid].mean()) + multiplier * kl[valid].mean())
    return policy + temperature + sum(limits)


def policy_loss(duals, outputs):
    return vmpo_losses(CONFIG, duals, outputs, ACTING, ACTION, ADVANTAGE, VALID).policy


@pytest.fixture(scope="module")
def duals():
    return init_duals(FORM, GAUSSIAN)


@pytest.fixture(scope="module")
def gradients(duals):
    return jax.jit(jax.value_and_grad(policy_loss, argnums=(0, 1)))(duals, OUTPUTS)


def test_the_loss_of_a_gaussian_policy_is_the_papers(duals, gradients):
    np.testing.assert_allclose(gradients[0], loss_by_numpy(duals, OUTPUTS), rtol=1e-5)


def test_each_multiplier_has_its_own_kl_and_its_own_limit(gradients):
    valid, (kl_mean, kl_covariance) = np.asarray(VALID), kls(ACTING, OUTPUTS)
    by_dual = gradients[1][0]
    np.testing.assert_allclose(by_dual["alpha_mean"], 0.01 - kl_mean[valid].mean(), rtol=1e-4)
    np.testing.assert_allclose(by_dual["alpha_covariance"], 1e-4 - kl_covariance[valid].mean(), rtol=1e-4)


def test_where_the_policy_has_not_moved_each_multiplier_falls_by_its_limit(duals):
    by_dual = jax.jit(jax.grad(policy_loss))(duals, ACTING)
    np.testing.assert_allclose([by_dual["alpha_mean"], by_dual["alpha_covariance"]], [0.01, 1e-4], rtol=1e-2)


def test_the_gradient_of_the_head_is_that_of_the_papers_loss(duals, gradients):
    """By central differences of the numpy loss, with the multipliers of the penalties as they are."""

    def penalised(outputs):
        valid = np.asarray(VALID)
        limited = loss_by_numpy({**duals, "alpha_mean": 0.0, "alpha_covariance": 0.0}, outputs)
        return limited + 0.4 * sum(kl[valid].mean() for kl in kls(ACTING, outputs))

    expected, step = np.zeros((T, B, 2 * D)), 1e-4
    for place in np.ndindex(T, B, 2 * D):
        change = np.zeros((T, B, 2 * D))
        change[place] = step
        above, below = (penalised(np.asarray(OUTPUTS, float) + sign * change) for sign in (1, -1))
        expected[place] = (above - below) / (2 * step)
    np.testing.assert_allclose(gradients[1][1], expected, atol=1e-4)
    assert not np.any(gradients[1][1][1, 0]), "a reset has no influence"


def test_entropy_and_kl_of_one_policy_golden():
    terms = GAUSSIAN.terms(OUTPUTS, OUTPUTS, ACTION)
    _, deviation = numbers(OUTPUTS)
    np.testing.assert_allclose(terms.entropy, scipy.stats.norm.entropy(0, deviation).sum(axis=-1), rtol=1e-5)
    for kl in terms.kls.values():
        np.testing.assert_allclose(kl, 0, atol=1e-6)
    two = entropy_of(jnp.array([[0.0, 0.0], [jnp.log(3.0), 0.0]]), jnp.zeros(2, jnp.int32))
    np.testing.assert_allclose(two, [np.log(2), 0.562335], rtol=1e-5)


def test_samples_have_the_mean_and_deviation_of_the_head():
    normal = GAUSSIAN.draw(jax.random.key(0), (4000, T, B, D))
    action = GAUSSIAN.sample(jnp.broadcast_to(OUTPUTS, (4000, *OUTPUTS.shape)), normal)
    mean, deviation = numbers(OUTPUTS)
    np.testing.assert_allclose(action.mean(axis=0), mean, atol=0.1)
    np.testing.assert_allclose(action.std(axis=0), deviation, rtol=0.1)


def test_actions_tell_which_policy_they_come_from():
    assert distribution_for(SPEC) is distribution_of(no_action(SPEC, 4)) is GAUSSIAN
    numbered = SPEC._replace(action_parts=None)
    assert distribution_for(numbered) is distribution_of(no_action(numbered, 4)) is CATEGORICAL
    assert no_action(SPEC, 4).shape == (4, D) and no_action(numbered, 4).shape == (4,)
    network = NetworkConfig(embedding=4, belief=3)
    assert make_agent(network, SPEC, jax.random.key(0)).policy.layers[-1].weight.shape == (3, 2 * D)
    assert set(init_duals(FORM)) == {"temperature", "alpha"}


@jax.jit
def practise(outputs, duals, optimizer_state, normal):
    """One policy iteration on one state, paid by the distance from (0.5, −1); what acted is what was before."""
    spread = jnp.broadcast_to(outputs, (*normal.shape[:2], 2 * D))
    action = GAUSSIAN.sample(spread, normal)
    reward = -jnp.sum(jnp.square(action - jnp.array([[[0.5, -1.0]]])), axis=-1)
    advantage, valid = reward - reward.mean(), jnp.ones(reward.shape, bool)

    def loss(params):
        new = jnp.broadcast_to(params[0], spread.shape)
        return vmpo_losses(CONFIG, params[1], new, spread, action, advantage, valid).policy

    gradient = jax.grad(loss)((outputs, duals))
    with jax.numpy_dtype_promotion("standard"):
        updates, optimizer_state = optax.adam(0.03).update(gradient, optimizer_state)
    outputs, duals = optax.apply_updates((outputs, duals), updates)
    return outputs, project_duals(duals), optimizer_state, reward.mean()


def test_a_gaussian_policy_learns_where_to_aim_and_then_to_aim_well():
    outputs, duals = jnp.zeros(2 * D), init_duals(FORM, GAUSSIAN)
    state, rewards = optax.adam(0.03).init((outputs, duals)), []
    for step in range(400):
        normal = GAUSSIAN.draw(jax.random.key(step), (16, 4, D))
        outputs, duals, state, reward = practise(outputs, duals, state, normal)
        rewards.append(float(reward))
    mean, deviation = mean_and_deviation(outputs)
    np.testing.assert_allclose(mean, [0.5, -1.0], atol=0.15)
    assert np.mean(rewards[-20:]) > -0.2 > -1.5 > np.mean(rewards[:5])
    assert np.all(deviation < 0.4), "it was ln 2"

"""V-MPO where rewards are rare: the temperature that is solved for, the whole batch, and L_π in expectation."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from curiax.agent.distributions import distribution_of
from curiax.agent.vmpo import PAPER, init_duals, weighted_losses
from curiax.agent.vmpo_sparse import FORMS, MEMORY, SPARSE, solve_temperature, sparse_losses
from curiax.config import VMPOConfig

# Two time steps of two trajectories, as in test_vmpo.py.
ADVANTAGE = jnp.array([[1.0, 0.0], [-1.0, 2.0]])
ACTION = jnp.array([[0, 1], [1, 1]], jnp.int32)
ACTING = jnp.zeros((2, 2, 2))
LOGITS = ACTING.at[0, 0, 0].set(jnp.log(3.0))  # π = (0.75, 0.25) at (0, 0), uniform elsewhere
ALL = jnp.ones((2, 2), bool)
BATCH = {"logits": LOGITS, "acting": ACTING, "action": ACTION, "advantage": ADVANTAGE, "valid": ALL}

LIMIT = 0.2  # ε_η
CONFIG = VMPOConfig(form="sparse", epsilon_temperature=LIMIT, epsilon_alpha=0.005)

STANDS_OUT = jnp.arange(128).reshape(16, 8) % 61 == 0  # three of them
MANY = jax.random.normal(jax.random.key(0), (16, 8)) + jnp.where(STANDS_OUT, 9.0, 0.0)

solve = jax.jit(solve_temperature, static_argnums=2)


def duals():
    return init_duals(SPARSE)


@jax.jit
def evaluate(duals, logits, acting, action, advantage, valid):
    """The loss and the temperature it used, and the loss's gradients by the duals and by the logits."""

    def loss(duals, logits):
        losses = sparse_losses(CONFIG, duals, logits, acting, action, advantage, valid)
        return losses.policy, losses.temperature

    return jax.value_and_grad(loss, argnums=(0, 1), has_aux=True)(duals, logits)


@jax.jit
def evaluate_samples(duals, temperature, logits, acting, action, advantage, valid):
    """The loss by the samples alone, over all of the batch, and its gradients by temperature and logits."""

    def loss(temperature, logits):
        terms = distribution_of(action).terms(logits, acting, action)
        return weighted_losses(CONFIG, duals, temperature, terms, advantage, valid, valid).policy

    return jax.value_and_grad(loss, argnums=(0, 1))(temperature, logits)


def kl_from_uniform(advantages, temperature):
    scaled = np.asarray(advantages, np.float64) / float(temperature)
    weights = np.exp(scaled - scaled.max()) / np.exp(scaled - scaled.max()).sum()
    return np.sum(weights * np.log(weights * len(weights)))


def test_each_form_is_found_by_its_name():
    assert FORMS == {"paper": PAPER, "sparse": SPARSE}
    assert SPARSE.keeps_temperature and not PAPER.keeps_temperature  # the paper's follows its gradient


def test_loss_golden():
    # η = 2 is remembered, and more than is needed: ψ = softmax(1/2, 0, −1/2, 1) = 0.276004 0.167405 0.101536 0.455054
    # log π = −0.287682 at (0, 0) and −0.693147 elsewhere; KL = 0.143841 at (0, 0) and 0 elsewhere
    # L_π = −Σ (ψ − 1/4) log π + mean KL = 0.581237 − 0.591781 + 0.035960 = 0.025416
    # L_η = 2 (0.2 + log((e^½ + e⁰ + e^−½ + e¹)/4))                       = 1.202089
    # L_α = 0.1 (0.005 − KL) + 0.1 KL, its value whatever the KL          = 0.0005
    (loss, temperature), _ = evaluate(duals() | {"temperature": jnp.float32(2 / MEMORY)}, **BATCH)
    np.testing.assert_allclose(temperature, 2.0, rtol=1e-6)
    np.testing.assert_allclose(loss, 0.025416 + 1.202089 + 0.0005, rtol=1e-5)


@pytest.mark.parametrize("size", [1e-3, 1.0, 1e3])
def test_solved_temperature_meets_the_limit_whatever_the_size_of_advantages(size):
    temperature = solve(size * MANY, jnp.ones(MANY.shape, bool), LIMIT)
    np.testing.assert_allclose(kl_from_uniform(size * np.ravel(MANY), temperature), LIMIT, rtol=1e-3)


def test_solved_temperature_is_where_the_loss_has_no_slope():
    gradient, _ = evaluate_samples(duals(), solve(ADVANTAGE, ALL, LIMIT), **BATCH)[1]
    np.testing.assert_allclose(gradient, 0.0, atol=1e-4)


def test_solved_temperature_does_not_see_masked_steps():
    valid = jnp.ones(MANY.shape, bool).at[0].set(False)
    other = MANY.at[0].set(100.0)
    np.testing.assert_allclose(solve(other, valid, LIMIT), solve(MANY, valid, LIMIT), rtol=1e-6)
    np.testing.assert_allclose(kl_from_uniform(np.ravel(MANY[1:]), solve(MANY, valid, LIMIT)), LIMIT, rtol=1e-3)


def test_temperature_rises_at_once_and_falls_no_faster_than_it_may():
    needed = solve(ADVANTAGE, ALL, LIMIT)
    for old, used in ((0.0, needed), (float(needed), needed), (100.0, 99.0)):
        (_, temperature), (gradient, _) = evaluate(duals() | {"temperature": jnp.float32(old)}, **BATCH)
        np.testing.assert_allclose(temperature, used, rtol=1e-6)
        assert gradient["temperature"] == 0, "it is solved for and follows no gradient"


def test_all_of_the_batch_is_followed_and_advantages_are_constants():
    def loss(advantage):
        return sparse_losses(CONFIG, duals(), LOGITS, ACTING, ACTION, advantage, ALL).policy

    for place in np.ndindex(2, 2):
        assert not np.isclose(loss(ADVANTAGE.at[place].add(0.5)), loss(ADVANTAGE))
    np.testing.assert_array_equal(jax.jit(jax.grad(loss))(ADVANTAGE), np.zeros((2, 2)))


def test_masked_steps_count_as_if_they_were_not_there():
    valid = jnp.array([[True, True], [False, False]])
    first = {name: array[:1] for name, array in BATCH.items()}
    masked, masked_gradient = evaluate(duals(), **BATCH | {"valid": valid})
    alone, alone_gradient = evaluate(duals(), **first)
    np.testing.assert_allclose(masked, alone, rtol=1e-6)
    np.testing.assert_allclose(masked_gradient[1][:1], alone_gradient[1], rtol=1e-5, atol=1e-7)
    np.testing.assert_array_equal(masked_gradient[1][1:], np.zeros((1, 2, 2)))
    jax.tree.map(lambda a, b: np.testing.assert_allclose(a, b, rtol=1e-5), masked_gradient[0], alone_gradient[0])


def test_without_differences_in_advantage_the_acting_policy_is_left_alone():
    level = BATCH | {"acting": LOGITS, "advantage": jnp.ones((2, 2))}
    _, by_samples = evaluate_samples(duals(), jnp.float32(1.0), **level)[1]
    assert np.abs(by_samples).max() > 0.1  # by the samples alone it would move, whatever they are
    _, gradient = evaluate(duals(), **level)[1]
    np.testing.assert_allclose(gradient, np.zeros((2, 2, 2)), atol=1e-6)


def test_the_expectation_changes_nothing_on_average_over_actions():
    # Every pair of actions of a uniform acting policy, as often as each other; the policy has moved away from it.
    actions = jnp.array([[[i, j]] for i in (0, 1) for j in (0, 1)], jnp.int32)
    batch = {"logits": jnp.array([[[0.7, -0.2], [0.1, 0.4]]]), "acting": jnp.zeros((1, 2, 2))}
    # The advantages are the same for all actions; those that depend on them enter both sides alike.
    batch |= {"advantage": jnp.array([[1.0, 2.0]]), "valid": ALL[:1]}
    found, expected = [], []
    for action in actions:
        (_, temperature), (_, gradient) = evaluate(duals(), action=action, **batch)
        found.append(gradient)
        expected.append(evaluate_samples(duals(), temperature, action=action, **batch)[1][1])
    assert not np.allclose(found[0], expected[0])
    np.testing.assert_allclose(np.mean(found, axis=0), np.mean(expected, axis=0), atol=1e-6)

"""E-values against a table kept by hand, and what is paid for them."""

import functools
import importlib
from dataclasses import replace

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from curiax.config import Config, NetworkConfig, WorldConfig
from curiax.curiosity.dora import counter, dora, first_logit, minus_log_evalue, sarsa_target
from curiax.curiosity.world_model import masked_mean
from curiax.types import EnvSpec, Experience

NUM_STATES, NUM_ACTIONS, RATE, DISCOUNT, STEP = 3, 2, 0.1, 0.9, 0.05
SPEC = EnvSpec("table", observation_shape=(NUM_STATES,), num_actions=NUM_ACTIONS, time_limit=100)
CONFIG = Config(
    curiosity="dora",
    network=NetworkConfig(encoder_hidden=(), feature_hidden=(), embedding=NUM_STATES, belief=3),
    world=WorldConfig(hidden=()),
)
KEY = jax.random.key(0)


@pytest.fixture(autouse=True)
def larger_constants(monkeypatch):
    """A visit then shows in a table of a few visits."""
    module = importlib.import_module("curiax.curiosity.dora")
    monkeypatch.setattr(module, "RATE", RATE)
    monkeypatch.setattr(module, "DISCOUNT", DISCOUNT)


def make_table():
    """E-values as a table: states are one-hot, the encoder is the identity, the head is linear."""
    params, critic, targets = jax.jit(lambda: dora(CONFIG, SPEC).init(KEY, ()))()
    assert critic == targets == ()
    return eqx.tree_at(lambda p: p["encoder"].mlp.layers[0].weight, params, jnp.eye(NUM_STATES))


def experience(states, actions, valid=None) -> Experience:
    """One trajectory of states 0, 1, 2, … by number."""
    length = len(actions)
    valid = np.ones(length, bool) if valid is None else np.array(valid)
    return Experience(
        obs=jax.nn.one_hot(jnp.array(states), NUM_STATES)[:, None],
        action=jnp.array(actions, jnp.int32)[:, None],
        valid=jnp.asarray(valid)[:, None],
        belief=jnp.zeros((length + 1, 1, 3)),
        action_embedding=jnp.zeros((length, 1, 2)),
    )


@jax.jit
def learn(params, batch):
    """A step of gradient descent on the table alone, of size STEP for each transition."""

    def loss(params):
        loss = dora(CONFIG, SPEC).score(params, (), (), batch, KEY).losses["evalue"]
        return jnp.sum(jnp.where(loss.mask, loss.value, 0.0))

    step = STEP * jax.grad(loss)(params)["head"].layers[0].weight
    return eqx.tree_at(lambda p: p["head"].layers[0].weight, params, params["head"].layers[0].weight - step)


@functools.partial(jax.jit, static_argnums=0)
def score(config, params, batch):
    return dora(config, SPEC).score(params, (), (), batch, KEY)


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def table(params):
    return sigmoid(np.log(9) + np.asarray(params["head"].layers[0].weight))


def set_table(values):
    """The table with given E-values."""
    logits = jnp.log(values / (1 - values)) - np.log(9)
    return eqx.tree_at(lambda p: p["head"].layers[0].weight, make_table(), logits)


def test_e_values_start_as_after_one_visit():
    config = replace(
        CONFIG,
        world=WorldConfig(hidden=(4,)),
        network=replace(CONFIG.network, encoder_hidden=(5,), feature_hidden=(5,)),
    )
    params, _, _ = jax.jit(lambda: dora(config, SPEC).init(KEY, ()))()
    output = score(config, params, experience([0, 1, 2], [0, 1]))
    np.testing.assert_allclose([output.metrics["evalue"], output.metrics["visits"]], [1 - RATE, 1.0], rtol=1e-5)
    np.testing.assert_allclose(sigmoid(first_logit(RATE)), 1 - RATE, rtol=1e-6)


def test_e_values_are_those_of_a_table_kept_by_hand():
    """Against the logits' own update, which is exact, and against SARSA on E, of which it is the first order."""
    params = make_table()
    logits = np.full((NUM_STATES, NUM_ACTIONS), np.log(9))
    evalues = sigmoid(logits)
    rng = np.random.default_rng(0)
    for _ in range(300):
        states, actions = rng.integers(0, NUM_STATES, 3), rng.integers(0, NUM_ACTIONS, 2)
        params = learn(params, experience(states, actions))
        pair, following = (states[0], actions[0]), (states[1], actions[1])
        logits[pair] -= STEP * (sigmoid(logits[pair]) - DISCOUNT * sigmoid(logits[following]))
        rate = STEP * evalues[pair] * (1 - evalues[pair])
        evalues[pair] = (1 - rate) * evalues[pair] + rate * DISCOUNT * evalues[following]
    np.testing.assert_allclose(table(params), sigmoid(logits), rtol=1e-4)
    np.testing.assert_allclose(table(params), evalues, atol=2e-3)
    assert evalues.max() < 0.89 and np.ptp(evalues) > 0.005


def test_a_visit_takes_an_e_value_down_and_trains_no_other_pair():
    params = make_table()
    for _ in range(20):
        params = learn(params, experience([1, 2, 0], [1, 0], valid=[True, False]))  # an episode's end
    values = table(params)
    assert values[1, 1] < 0.8
    np.testing.assert_allclose(np.delete(values, 3), 0.9, rtol=1e-6)


def test_without_discount_a_step_of_sarsa_counts_a_visit():
    # E = (1 − α)ⁿ after n visits in a table: the counter is n.
    visits = np.array([1.0, 2.0, 5.0, 20.0])
    np.testing.assert_allclose(counter(-jnp.asarray(visits * np.log(1 - RATE)), RATE), visits, rtol=1e-5)


def test_an_episode_s_end_is_worth_zero_and_the_last_step_of_a_sequence_teaches_nothing():
    value = jnp.array([0.9, 0.8, 0.7, 0.6])[:, None]
    # Observation 2 is final: step 1 reaches it, step 2 is the reset.
    valid = jnp.array([True, True, False, True])[:, None]
    target, known = sarsa_target(value, valid, 0.5)
    np.testing.assert_allclose(target[:2, 0], [0.4, 0.0], rtol=1e-6)
    np.testing.assert_array_equal(known[:, 0], [True, True, False, False])


def test_minus_log_evalue_golden():
    # E = ¼: ln 4.  A pair never visited counts as visited once, E = 0.9.  E = e^{−50} is as exact.
    surprise = minus_log_evalue(jnp.array([-np.log(3.0), 40.0, -50.0]), 0.1)
    np.testing.assert_allclose(surprise, [np.log(4.0), -np.log(0.9), 50.0], rtol=1e-5)


def test_the_pair_that_was_taken_is_paid_and_a_reset_is_not():
    params = set_table(jnp.array([[0.9, 0.8], [0.7, 0.6], [0.5, 0.4]]))
    batch = experience([0, 1, 2, 0], [1, 0, 1], valid=[True, False, True])
    error = score(CONFIG, params, batch).error[:, 0]
    np.testing.assert_allclose(error, [(-np.log(0.8)) ** -0.5, 0, (-np.log(0.4)) ** -0.5], rtol=1e-5)


def test_the_loss_is_least_at_the_target():
    # From E(0, 0) with target 0.9 · E(1, 1) = 0.54
    losses = []
    for value in (0.5, 0.54, 0.58):
        params = set_table(jnp.array([[value, 0.8], [0.7, 0.6], [0.5, 0.4]]))
        losses.append(float(score(CONFIG, params, experience([0, 1, 2], [0, 1])).losses["evalue"].value[0, 0]))
    assert losses[1] < losses[0] and losses[1] < losses[2]
    np.testing.assert_allclose(losses[1], -0.54 * np.log(0.54) - 0.46 * np.log(0.46), rtol=1e-4)


def test_the_bonus_falls_with_visits():
    params, batch = make_table(), experience([0, 0, 0], [0, 0])
    paid = []
    for _ in range(20):
        paid.append(float(score(CONFIG, params, batch).error[0, 0]))
        params = learn(params, batch)
    assert paid[-1] < 0.99 * paid[0] and all(np.diff(paid) < 0)


def test_the_loss_trains_every_leaf_by_the_value_and_not_by_its_target():
    config = replace(
        CONFIG,
        world=WorldConfig(hidden=(4,)),
        network=replace(CONFIG.network, encoder_hidden=(5,), feature_hidden=(5,)),
    )
    rng = np.random.default_rng(3)
    shapes, _, _ = jax.eval_shape(dora(config, SPEC).init, KEY, ())
    params = jax.tree.map(lambda leaf: jnp.asarray(0.5 * rng.standard_normal(leaf.shape), leaf.dtype), shapes)
    batch = experience([0, 1, 2], [0, 1])

    def loss(params):
        return masked_mean(dora(config, SPEC).score(params, (), (), batch, KEY).losses["evalue"])

    grads = jax.jit(jax.grad(loss))(params)
    assert all(np.any(leaf) for leaf in jax.tree.leaves(grads))
    # Only the value of the first pair is trained: its action's column of the head moves, that of the next one does not.
    np.testing.assert_array_equal(np.any(grads["head"].layers[-1].weight, axis=0), [True, False])

"""E-values against a table kept by hand, and what is paid for them."""

import functools
from dataclasses import replace

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from curiax.config import Config, MethodConfig, NetworkConfig, WorldConfig
from curiax.curiosity.dora import bonus, counter, dora, sarsa_target
from curiax.learner import masked_mean
from curiax.types import EnvSpec, Experience

NUM_STATES, NUM_ACTIONS, RATE = 3, 2, 0.1
SPEC = EnvSpec("table", observation_shape=(NUM_STATES,), num_actions=NUM_ACTIONS, time_limit=100)
CONFIG = Config(
    curiosity="dora",
    network=NetworkConfig(encoder_hidden=(), embedding=NUM_STATES, action_embedding=2, belief=3, head_hidden=(3,)),
    world=WorldConfig(hidden=()),
    method=MethodConfig(dora_discount=0.9, dora_rate=RATE),
)
KEY = jax.random.key(0)
QUICK = {"xla_backend_optimization_level": 0}  # compiling these programs is what costs, not running them


def make_table():
    """E-values as a table: states are one-hot, the encoder is the identity, the head is linear."""
    params, critic, targets = jax.jit(lambda: dora(CONFIG, SPEC).init(KEY, ()), compiler_options=QUICK)()
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


@functools.partial(jax.jit, static_argnums=2, compiler_options=QUICK)
def learn(params, batch, discount):
    """A step of gradient descent on the table alone, of size α_E for each transition."""
    config = replace(CONFIG, method=MethodConfig(dora_discount=discount, dora_rate=RATE))

    def loss(params):
        loss = dora(config, SPEC).score(params, (), (), batch, KEY).losses["evalue"]
        return jnp.sum(jnp.where(loss.mask, loss.value, 0.0))

    step = RATE * jax.grad(loss)(params)["head"].layers[0].weight
    return eqx.tree_at(lambda p: p["head"].layers[0].weight, params, params["head"].layers[0].weight - step)


@functools.partial(jax.jit, static_argnums=0, compiler_options=QUICK)
def score(config, params, batch):
    return dora(config, SPEC).score(params, (), (), batch, KEY)


def table(params):
    return 1 + np.asarray(params["head"].layers[0].weight)


def test_e_values_start_at_1():
    config = replace(CONFIG, world=WorldConfig(hidden=(4,)), network=replace(CONFIG.network, encoder_hidden=(5,)))
    params, _, _ = jax.jit(lambda: dora(config, SPEC).init(KEY, ()), compiler_options=QUICK)()
    output = score(config, params, experience([0, 1, 2], [0, 1]))
    assert output.metrics["evalue"] == 1.0


def test_e_values_are_those_of_a_table_kept_by_hand():
    params, by_hand = make_table(), np.ones((NUM_STATES, NUM_ACTIONS))
    rng = np.random.default_rng(0)
    for _ in range(30):
        states, actions = rng.integers(0, NUM_STATES, 3), rng.integers(0, NUM_ACTIONS, 2)
        params = learn(params, experience(states, actions), 0.9)
        (x, x_next), (a, a_next) = states[:2], actions
        by_hand[x, a] = (1 - RATE) * by_hand[x, a] + RATE * 0.9 * by_hand[x_next, a_next]
    np.testing.assert_allclose(table(params), by_hand, rtol=1e-5)
    assert np.unique(by_hand).size == by_hand.size and np.ptp(by_hand) > 0.03


@pytest.mark.parametrize("visits", [1, 2, 5, 20])
def test_without_discount_the_counter_counts_visits(visits):
    params = make_table()
    for _ in range(visits):
        params = learn(params, experience([1, 2, 0], [1, 0]), 0.0)
    np.testing.assert_allclose(table(params)[1, 1], (1 - RATE) ** visits, rtol=1e-5)
    np.testing.assert_allclose(counter(jnp.asarray(table(params)[1, 1]), RATE), visits, rtol=1e-4)
    assert (np.delete(table(params), 3) == 1).all()  # no other pair was visited, or trained


def test_an_episode_s_end_is_worth_zero_and_the_last_step_of_a_sequence_teaches_nothing():
    value = jnp.array([0.9, 0.8, 0.7, 0.6])[:, None]
    # Observation 2 is final: step 1 reaches it, step 2 is the reset.
    valid = jnp.array([True, True, False, True])[:, None]
    target, known = sarsa_target(value, valid, 0.5)
    np.testing.assert_allclose(target[:2, 0], [0.4, 0.0], rtol=1e-6)
    np.testing.assert_array_equal(known[:, 0], [True, True, False, False])


def test_targets_stay_between_0_and_1():
    target, _ = sarsa_target(jnp.array([0.0, 1.7, -0.3, 0.0])[:, None], jnp.ones((4, 1), bool), 0.5)
    np.testing.assert_allclose(target[:3, 0], [0.5, 0.0, 0.0])


def test_bonus_golden():
    # E = e^{−4}: 1/√4;  counter: 4 / −ln 0.9.  A pair never visited is paid as one visited once, E = 0.9.
    np.testing.assert_allclose(bonus(jnp.exp(-4.0), 0.1), 0.5, rtol=1e-6)
    np.testing.assert_allclose(counter(jnp.exp(-4.0), 0.1), 4 / -np.log(0.9), rtol=1e-5)
    np.testing.assert_allclose(bonus(jnp.array([1.0, 1.3]), 0.1), (-np.log(0.9)) ** -0.5, rtol=1e-5)
    assert np.isfinite(bonus(jnp.array([0.0, -1.0]), 0.1)).all()


def test_the_pair_that_was_taken_is_paid_and_a_reset_is_not():
    params = make_table()
    values = jnp.array([[0.9, 0.8], [0.7, 0.6], [0.5, 0.4]])
    params = eqx.tree_at(lambda p: p["head"].layers[0].weight, params, values - 1)
    batch = experience([0, 1, 2, 0], [1, 0, 1], valid=[True, False, True])
    error = score(CONFIG, params, batch).error[:, 0]
    np.testing.assert_allclose(error, [(-np.log(0.8)) ** -0.5, 0, (-np.log(0.4)) ** -0.5], rtol=1e-5)


def test_the_bonus_falls_with_visits():
    params, batch = make_table(), experience([0, 0, 0], [0, 0])
    paid = []
    for _ in range(20):
        paid.append(float(score(CONFIG, params, batch).error[0, 0]))
        params = learn(params, batch, 0.9)
    assert paid[-1] < paid[2] and all(np.diff(paid) <= 1e-6)


def test_the_loss_trains_every_leaf_by_the_value_and_not_by_its_target():
    config = replace(CONFIG, world=WorldConfig(hidden=(4,)), network=replace(CONFIG.network, encoder_hidden=(5,)))
    rng = np.random.default_rng(3)
    shapes, _, _ = jax.eval_shape(dora(config, SPEC).init, KEY, ())
    params = jax.tree.map(lambda leaf: jnp.asarray(0.5 * rng.standard_normal(leaf.shape), leaf.dtype), shapes)
    batch = experience([0, 1, 2], [0, 1])

    def loss(params):
        return masked_mean(dora(config, SPEC).score(params, (), (), batch, KEY).losses["evalue"])

    grads = jax.jit(jax.grad(loss), compiler_options=QUICK)(params)
    assert all(np.any(leaf) for leaf in jax.tree.leaves(grads))
    # Only the value of the first pair is trained: its action's column of the head moves, that of the next one does not.
    np.testing.assert_array_equal(np.any(grads["head"].layers[-1].weight, axis=0), [True, False])

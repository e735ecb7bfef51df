"""Aleatoric mapping: the Gaussian loss, what is paid, and who is trained."""

import functools

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from curiax.config import Config, NetworkConfig, WorldConfig
from curiax.curiosity.base import Represented, Sizes, cosine_distance, squared_distance
from curiax.curiosity.measures.aleatoric import aleatoric, clamp
from curiax.curiosity.measures.predict import open_loop, predict
from curiax.curiosity.world_model import masked_mean

T, B, D, E, F = 4, 3, 3, 2, 5
CONFIG = Config(
    network=NetworkConfig(encoder_hidden=(5,), feature_hidden=(5,), embedding=4, belief=D),
    world=WorldConfig(horizon=2, hidden=(6,)),
)
KEY = jax.random.key(0)
VALID = jnp.ones((T, B), bool).at[1, 0].set(False)


def random_like(shapes, seed=0):
    rng = np.random.default_rng(seed)
    return jax.tree.map(lambda leaf: jnp.asarray(0.5 * rng.standard_normal(leaf.shape), leaf.dtype), shapes)


def make_represented() -> Represented:
    rng = np.random.default_rng(1)
    state, action, target = (jnp.asarray(rng.standard_normal((T, B, n)), jnp.float32) for n in (D, E, F))
    return Represented(state, action, target, {}, {})


REPRESENTED = make_represented()


def make_params(measure):
    return random_like(jax.eval_shape(lambda: measure(CONFIG).init(KEY, Sizes(D, E, F))[0]))


def constant(mean, log_variance):
    """A predictor that says the same of every outcome."""
    params = make_params(aleatoric)
    silent = jax.tree.map(jnp.zeros_like, params["predictor"])
    bias = jnp.concatenate([jnp.full(F, mean), jnp.full(F, log_variance)])
    return params | {"predictor": eqx.tree_at(lambda mlp: mlp.layers[-1].bias, silent, bias)}


@functools.partial(jax.jit, static_argnums=2)
def score(params, represented=REPRESENTED, distance=squared_distance):
    return aleatoric(CONFIG).score(params, (), represented, VALID, distance, KEY)


def pairs(target):
    """Targets of the pairs (t, i), as [H, T, B, F]."""
    return np.stack([target, np.roll(target, -1, axis=0)])


def test_loss_and_reward_golden():
    # y = 3, μ = 1, s = log 2: loss 4/2 + log 2, reward 4 − 2 in every coordinate
    represented = REPRESENTED._replace(target=jnp.full((T, B, F), 3.0))
    output = score(constant(1.0, np.log(2.0)), represented)
    loss = output.losses["likelihood"]
    np.testing.assert_allclose(np.asarray(loss.value)[loss.mask], 2 + np.log(2), rtol=1e-6)
    # The first transition of a sequence and of an episode is reached by one pair, the others by two; a reset by none.
    np.testing.assert_allclose(output.error, [[2, 2, 2], [0, 4, 4], [2, 4, 4], [4, 4, 4]], rtol=1e-6)


@pytest.mark.parametrize("distance", [squared_distance, cosine_distance])
def test_loss_and_reward_are_the_paper_s_in_the_coordinates_of_the_representation(distance):
    params = make_params(aleatoric)
    output = score(params, REPRESENTED, distance)
    loop = open_loop(params["core"], REPRESENTED, VALID, CONFIG.world.horizon)
    mean, s = np.split(np.asarray(params["predictor"](loop.after)), 2, axis=-1)
    y, reduce = pairs(np.asarray(REPRESENTED.target)), np.mean
    if distance is cosine_distance:
        y, reduce = y / np.linalg.norm(y, axis=-1, keepdims=True), np.sum
    loss = output.losses["likelihood"]
    expected = reduce(np.exp(-s) * (y - mean) ** 2 + s, axis=-1)
    np.testing.assert_allclose(loss.value, expected, rtol=1e-4)
    np.testing.assert_array_equal(loss.mask, loop.valid)
    excess = np.where(loop.valid, reduce((y - mean) ** 2 - np.exp(s), axis=-1), 0)
    np.testing.assert_allclose(output.error, excess[0] + np.roll(excess[1], 1, axis=0), rtol=1e-4, atol=1e-5)
    assert (np.asarray(output.error) < 0).any()  # an outcome less surprising than expected costs


def test_log_variance_is_clamped_to_10():
    for raw, s in ((-30.0, -10.0), (30.0, 10.0)):
        represented = REPRESENTED._replace(target=jnp.zeros((T, B, F)))
        output = score(constant(0.0, raw), represented)
        np.testing.assert_allclose(output.losses["likelihood"].value, s, rtol=1e-6)
        np.testing.assert_allclose(output.metrics["predicted_variance"], np.exp(s), rtol=1e-5)


def test_a_clamped_value_gets_the_gradient_that_leads_back_and_no_other():
    x = jnp.array([-11.0, -11.0, 11.0, 11.0, 3.0])
    upstream = jnp.array([-2.0, 2.0, 2.0, -2.0, 2.0])  # descent moves x against it
    value, pull = jax.vjp(clamp, x)
    np.testing.assert_array_equal(value, [-10, -10, 10, 10, 3])
    np.testing.assert_array_equal(pull(upstream)[0], [-2, 0, 2, 0, 2])


def test_pure_noise_of_known_variance_is_worth_nothing_and_its_prediction_error_is():
    rng = np.random.default_rng(2)
    represented = make_represented()._replace(target=jnp.asarray(rng.normal(1, 2, (T, B, F)), jnp.float32))
    outputs = [score(constant(1.0, s), represented) for s in (np.log(4.0), -10.0)]
    paid = [float(np.mean(output.error)) for output in outputs]
    assert abs(paid[0]) < 0.3 * paid[1]


@pytest.mark.parametrize(("measure", "name"), [(predict, "prediction"), (aleatoric, "likelihood")])
def test_the_loss_trains_the_model_and_what_leads_to_it_and_the_reward_nothing(measure, name):
    def outputs(params, state, action):
        represented = REPRESENTED._replace(state=state, action=action)
        output = measure(CONFIG).score(params, (), represented, VALID, squared_distance, KEY)
        return masked_mean(output.losses[name]), jnp.sum(output.error)

    differentiate = jax.jit(jax.jacrev(outputs, argnums=(0, 1, 2)))
    by_loss, by_reward = differentiate(make_params(measure), REPRESENTED.state, REPRESENTED.action)
    assert all(np.any(leaf) for leaf in jax.tree.leaves(by_loss))
    assert not any(np.any(leaf) for leaf in jax.tree.leaves(by_reward))

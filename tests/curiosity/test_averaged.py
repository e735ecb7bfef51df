"""Hindsight with an averaged generator: what the average is, what it pays and whom its loss trains."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from curiax.config import Config, WorldConfig
from curiax.curiosity.base import Generator, Represented, Sizes, squared_distance
from curiax.curiosity.measures.averaged import DECAY, averaged, in_use
from curiax.curiosity.measures.hindsight import explain, hindsight
from curiax.curiosity.world_model import masked_mean

T, B = 5, 4
SIZES = Sizes(state=3, action=2, target=4)
CONFIG = Config(world=WorldConfig(hidden=(5,), critic_hidden=(5,), latent=3, noise=2, contrast_share=1.0))
KEY, KEY_INIT = jax.random.split(jax.random.key(0))
MEASURE = averaged(CONFIG)
VALID = jnp.ones((T, B), bool).at[2, 1].set(False)


@pytest.fixture(scope="module")
def represented():
    keys = jax.random.split(jax.random.key(1), 3)
    state, action, target = (jax.random.normal(key, (T, B, size)) for key, size in zip(keys, SIZES, strict=True))
    return Represented(state, action, target, {}, {})


@pytest.fixture(scope="module")
def start():
    return MEASURE.init(KEY_INIT, SIZES)


def score(represented, params, state, measure=MEASURE):
    return measure.score(params, state, represented, VALID, squared_distance, KEY)


def scaled(factor, tree):
    return jax.tree.map(lambda leaf: factor * leaf, tree)


def test_the_average_moves_a_hundredth_of_the_way_to_the_generator(start, represented):
    params, state = start
    params = params | {"generator": scaled(3.0, params["generator"])}
    after = score(represented, params, state).critic.generator
    expected = scaled(DECAY + (1 - DECAY) * 3.0, state.generator)
    jax.tree.map(lambda x, y: np.testing.assert_allclose(x, y, rtol=1e-5), after, expected)


def test_rewards_are_those_of_hindsight_where_the_average_is_the_generator(start, represented):
    params, state = start
    output = score(represented, params, state)
    without = score(represented, params, state.critic, hindsight(CONFIG))
    np.testing.assert_allclose(output.error, without.error, rtol=1e-4, atol=1e-5)


def test_rewards_come_from_the_average_and_not_from_the_generator(start, represented):
    params, state = start
    moved = params | {"generator": scaled(3.0, params["generator"])}
    output = score(represented, moved, state)
    (key_noise, _), used = jax.random.split(KEY), in_use(moved, state)
    explained = explain(CONFIG.world, used, represented, VALID, key_noise)
    error = squared_distance(explained.loop.target, explained.output)[0]
    np.testing.assert_allclose(output.error, jnp.where(VALID, error, 0), rtol=1e-5, atol=1e-6)
    assert not np.allclose(output.error, score(represented, moved, state.critic, hindsight(CONFIG)).error, rtol=0.01)


def test_generator_and_critic_are_trained_as_in_hindsight(start, represented):
    params, state = start
    params = params | {"generator": scaled(3.0, params["generator"])}
    output, without = score(represented, params, state), score(represented, params, state.critic, hindsight(CONFIG))
    for name, loss in without.losses.items():
        np.testing.assert_array_equal(output.losses[name].value, loss.value)
        assert output.losses[name].weight == loss.weight
    jax.tree.map(np.testing.assert_array_equal, output.critic.critic, without.critic)


def test_the_loss_of_the_average_trains_all_but_the_generator(start, represented):
    params, state = start

    def loss(params):
        return masked_mean(score(represented, params, state).losses["averaged_reconstruction"])

    grads = jax.grad(loss)(params)
    for name, part in grads.items():
        reached = any(bool(np.any(leaf)) for leaf in jax.tree.leaves(part))
        assert reached == (name != "generator"), name


def test_the_state_of_other_measures_leaves_the_generator_as_it_is(start):
    params, state = start
    assert in_use(params, state.critic) is params
    assert isinstance(in_use(params, state)["generator"], Generator)

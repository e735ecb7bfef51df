"""Representations: what they train, and what follows what."""

import functools
from dataclasses import replace

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from curiax.agent.policy import ACTION_EMBEDDING, make_encoder
from curiax.config import Config, NetworkConfig, WorldConfig
from curiax.curiosity.representations import REPRESENTATIONS
from curiax.curiosity.representations.ae import autoencoded
from curiax.curiosity.representations.byol import bootstrapped
from curiax.curiosity.representations.icm import inverse_dynamics
from curiax.curiosity.representations.pixel import pixel, pixels
from curiax.curiosity.representations.random_network import random_network
from curiax.curiosity.world_model import masked_mean
from curiax.types import EnvSpec, Experience

T, B = 4, 3
SPEC = EnvSpec("none", observation_shape=(2,), num_actions=3, time_limit=100)
CONFIG = Config(
    curiosity="icm",
    network=NetworkConfig(encoder_hidden=(5,), feature_hidden=(5,), embedding=4, belief=3),
    world=WorldConfig(hidden=(5,), critic_hidden=(5,)),
)
KEY = jax.random.key(0)
RNG = np.random.default_rng(0)


def random_like(shapes):
    return jax.tree.map(lambda leaf: jnp.asarray(0.5 * RNG.standard_normal(leaf.shape), leaf.dtype), shapes)


def make_experience() -> Experience:
    return Experience(
        obs=jnp.asarray(RNG.standard_normal((T + 1, B, 2)), jnp.float32),
        action=jnp.asarray(RNG.integers(0, SPEC.num_actions, (T, B)), jnp.int32),
        valid=jnp.ones((T, B), bool).at[2, 0].set(False),
        belief=jnp.asarray(RNG.standard_normal((T + 1, B, CONFIG.network.belief)), jnp.float32),
        action_embedding=jnp.asarray(RNG.standard_normal((T, B, ACTION_EMBEDDING)), jnp.float32),
    )


EXPERIENCE = make_experience()


def encoders():
    """Two encoders of one shape: the target's and the agent's."""
    shapes = jax.eval_shape(lambda: make_encoder(CONFIG.network, SPEC, KEY))
    return random_like(shapes), random_like(shapes)


@functools.cache
def gradients(name):
    """Output -> part -> whether the output moves it, leaf by leaf; outputs are the losses and what a measure sees."""
    representation = REPRESENTATIONS[name](CONFIG, SPEC)
    shapes = jax.eval_shape(representation.init, KEY, jax.eval_shape(lambda: make_encoder(CONFIG.network, SPEC, KEY)))
    batch = {"belief": EXPERIENCE.belief, "action_embedding": EXPERIENCE.action_embedding}

    def outputs(params, targets, batch):
        represented = representation.represent(params, targets, EXPERIENCE._replace(**batch))
        seen = {part: jnp.sum(jnp.square(getattr(represented, part))) for part in ("state", "action", "target")}
        return seen | {loss: masked_mean(value) for loss, value in represented.losses.items()}

    differentiate = jax.jit(jax.jacrev(outputs, argnums=(0, 1, 2)))
    moved = {}
    for output, (params, targets, inputs) in differentiate(*map(random_like, shapes), batch).items():
        parts = dict(params or {}) | inputs | {"targets": targets}
        moved[output] = {part: [bool(np.any(leaf)) for leaf in jax.tree.leaves(tree)] for part, tree in parts.items()}
    return moved


# What each loss of a representation trains, and what a measure's loss trains by way of state, action and target.
BELIEFS = {"state": {"belief"}, "action": {"action_embedding"}}
TRAINED = {
    "byol": BELIEFS,
    "icm": BELIEFS | {"inverse": {"encoder", "inverse"}},
    "ae": BELIEFS | {"autoencoding": {"encoder", "decoder"}},
    "emi": BELIEFS
    | {
        "dynamics": {"encoder", "action", "error", "error_encoder"},
        "error_penalty": {"error", "error_encoder"},
        "information": {"encoder", "action", "next_statistics", "action_statistics"},
        "prior": {"action"},
    },
    "random": BELIEFS,
    "pixel": BELIEFS,
}


@pytest.mark.parametrize("name", REPRESENTATIONS)
def test_each_loss_trains_what_it_should_and_nothing_else_and_targets_nothing(name):
    reached = {
        output: {part for part, leaves in moved.items() if any(leaves)} for output, moved in gradients(name).items()
    }
    assert reached == {"target": set()} | TRAINED[name]


@pytest.mark.parametrize("name", REPRESENTATIONS)
def test_every_leaf_of_a_representation_is_trained_by_something(name):
    outputs = gradients(name).values()
    for part in set().union(*TRAINED[name].values()):
        assert np.any([moved[part] for moved in outputs], axis=0).all(), part


def test_bootstrapped_targets_are_embedded_by_the_target_network():
    target, online = encoders()
    representation = bootstrapped(CONFIG, SPEC)
    represented = representation.represent((), target, EXPERIENCE)
    np.testing.assert_allclose(represented.target, target(EXPERIENCE.obs[1:]), rtol=1e-5)
    assert not np.allclose(represented.target, online(EXPERIENCE.obs[1:]))


@pytest.mark.parametrize("name", REPRESENTATIONS)
def test_targets_are_predicted_from_the_belief_before_each_action(name):
    representation = REPRESENTATIONS[name](CONFIG, SPEC)
    shapes = jax.eval_shape(representation.init, KEY, jax.eval_shape(lambda: make_encoder(CONFIG.network, SPEC, KEY)))
    represented = representation.represent(*map(random_like, shapes), EXPERIENCE)
    np.testing.assert_array_equal(represented.state, EXPERIENCE.belief[:-1])
    np.testing.assert_array_equal(represented.action, EXPERIENCE.action_embedding)
    assert representation.trains_beliefs


def test_bootstrapped_target_starts_as_the_agent_s_encoder():
    _, online = encoders()
    _, targets = bootstrapped(CONFIG, SPEC).init(KEY, online)
    jax.tree.map(np.testing.assert_array_equal, targets, online)


def test_bootstrapped_target_follows_slowly():
    # α = 0.99: 0.99 · 4 + 0.01 · 8 = 4.04
    weights = encoders()[0]
    target, online = (jax.tree.map(lambda leaf, x=x: jnp.full_like(leaf, x), weights) for x in (4.0, 8.0))
    followed = bootstrapped(CONFIG, SPEC).follow(target, online, EXPERIENCE.obs[1:])
    jax.tree.map(lambda leaf: np.testing.assert_allclose(leaf, 4.04, rtol=1e-6), followed)


def test_icm_targets_are_the_features_of_the_next_observation():
    representation = inverse_dynamics(CONFIG, SPEC)
    params = random_like(jax.eval_shape(representation.init, KEY, ())[0])
    represented = representation.represent(params, (), EXPERIENCE)
    features = params["encoder"](EXPERIENCE.obs)
    np.testing.assert_allclose(represented.target, features[1:], rtol=1e-5)


def test_inverse_loss_of_a_guess_is_log_of_the_number_of_actions():
    representation = inverse_dynamics(CONFIG, SPEC)
    params = random_like(jax.eval_shape(representation.init, KEY, ())[0])
    params["inverse"] = jax.tree.map(jnp.zeros_like, params["inverse"])
    loss = representation.represent(params, (), EXPERIENCE).losses["inverse"]
    np.testing.assert_allclose(loss.value, np.log(3.0), rtol=1e-6)
    np.testing.assert_array_equal(loss.mask, EXPERIENCE.valid)


def test_autoencoding_is_the_mean_error_of_both_ends_of_a_transition():
    representation = autoencoded(CONFIG, SPEC)
    params = random_like(jax.eval_shape(representation.init, KEY, ())[0])
    represented = representation.represent(params, (), EXPERIENCE)
    features = params["encoder"](EXPERIENCE.obs)
    error = np.mean((np.asarray(params["decoder"](features)) - np.asarray(EXPERIENCE.obs)) ** 2, axis=-1)
    loss = represented.losses["autoencoding"]
    np.testing.assert_allclose(loss.value, (error[:-1] + error[1:]) / 2, rtol=1e-5)
    np.testing.assert_array_equal(loss.mask, EXPERIENCE.valid)
    np.testing.assert_allclose(represented.target, features[1:], rtol=1e-5)


def test_random_features_are_those_of_the_network_drawn_at_the_start():
    representation = random_network(CONFIG, SPEC)
    network = encoders()[0]
    represented = representation.represent((), network, EXPERIENCE)
    np.testing.assert_allclose(represented.target, network(EXPERIENCE.obs[1:]), rtol=1e-5)
    followed = representation.follow(network, encoders()[1], EXPERIENCE.obs[1:])
    jax.tree.map(np.testing.assert_array_equal, followed, network)


def test_pixel_targets_are_the_next_observations_themselves():
    representation = pixel(CONFIG, SPEC)
    represented = representation.represent((), (), EXPERIENCE)
    np.testing.assert_array_equal(represented.target, EXPERIENCE.obs[1:])


def test_grey_values_are_scaled_to_one():
    spec = SPEC._replace(observation_shape=(1, 2), observation_scale=255.0)
    obs = jnp.array([0, 255, 51, 102], jnp.uint8).reshape(2, 1, 1, 2)
    np.testing.assert_allclose(pixels(spec, obs).reshape(-1), [0.0, 1.0, 0.2, 0.4], rtol=1e-6)


@pytest.mark.parametrize("name", REPRESENTATIONS)
def test_images_are_represented_in_the_sizes_that_a_measure_is_told(name):
    spec = SPEC._replace(observation_shape=(3, 4, 2), observation_scale=255.0)
    representation = REPRESENTATIONS[name](CONFIG, spec)
    encoder = jax.eval_shape(lambda: make_encoder(CONFIG.network, spec, KEY))
    params, targets = map(random_like, jax.eval_shape(representation.init, KEY, encoder))
    images = jnp.asarray(RNG.integers(0, 256, (T + 1, B, 3, 4, 2)), jnp.uint8)
    represented = representation.represent(params, targets, EXPERIENCE._replace(obs=images))
    shapes = [part.shape for part in (represented.state, represented.action, represented.target)]
    assert shapes == [(T, B, size) for size in representation.sizes]
    assert np.isfinite(representation.distance(represented.target, jnp.zeros_like(represented.target))).all()
    assert all(np.isfinite(loss.value).all() for loss in represented.losses.values())


def test_normalised_features_of_icm_have_one_size_however_large_they_were():
    config = replace(CONFIG, network=replace(CONFIG.network, feature_norm=True))
    representation, scaled = inverse_dynamics(config, SPEC), {}
    params, _ = representation.init(KEY, None)
    for factor in (1.0, 100.0):
        large = jax.tree.map(lambda leaf, factor=factor: factor * leaf, params["encoder"])
        scaled[factor] = representation.represent(params | {"encoder": large}, (), EXPERIENCE).target
    np.testing.assert_allclose(jnp.mean(jnp.square(scaled[100.0]), axis=-1), 1.0, rtol=1e-2)
    np.testing.assert_allclose(jnp.mean(scaled[1.0], axis=-1), 0.0, atol=1e-5)

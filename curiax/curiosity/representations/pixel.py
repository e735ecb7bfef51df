"""Pixel space: the observations themselves."""

import math

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, PRNGKeyArray, Shaped

from curiax.agent.networks import embed_action
from curiax.agent.policy import make_features
from curiax.config import Config
from curiax.curiosity.base import Representation, Represented, Sizes, current, following, squared_distance, stay
from curiax.types import EnvSpec, Experience, Params, State


def pixel(config: Config, spec: EnvSpec) -> Representation:
    """x_{t+1} = o_{t+1}, every number of it. x_t is read by an encoder that belongs to the forward model: whatever
    loss the measure has trains it."""
    network = config.network

    def init(key: PRNGKeyArray, encoder: Params) -> tuple[Params, State]:
        key_encoder, key_action = jax.random.split(key)
        return {
            "encoder": make_features(network, spec, key_encoder),
            "action": jax.random.normal(key_action, (spec.num_actions, network.action_embedding)),
        }, ()

    def represent(params: Params, targets: State, experience: Experience) -> Represented:
        return Represented(
            state=params["encoder"](current(experience)),
            action=embed_action(params["action"], experience.action),
            target=pixels(spec, following(experience)),
            losses={},
            metrics={},
        )

    sizes = Sizes(state=network.embedding, action=network.action_embedding, target=num_pixels(spec))
    return Representation(sizes, squared_distance, init, represent, stay)


def num_pixels(spec: EnvSpec) -> int:
    return math.prod(spec.observation_shape)


def pixels(spec: EnvSpec, obs: Shaped[Array, "T B *obs"]) -> Float[Array, "T B p"]:
    """Observations as vectors, of size about 1; constants to every gradient."""
    flat = obs.reshape(*obs.shape[:2], num_pixels(spec)).astype(jnp.float32)
    return jax.lax.stop_gradient(flat / spec.observation_scale)

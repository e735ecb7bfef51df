"""Pixel space: the observations themselves."""

import math

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, PRNGKeyArray, Shaped

from curiax.config import Config
from curiax.curiosity.base import Representation, Represented, belief_sizes, from_beliefs, squared_distance, stay
from curiax.curiosity.experience import following
from curiax.types import EnvSpec, Experience, Params, State


def pixel(config: Config, spec: EnvSpec) -> Representation:
    """The target is o_{t+1} itself, flattened."""

    def init(key: PRNGKeyArray, encoder: Params) -> tuple[Params, State]:
        return (), ()

    def represent(params: Params, targets: State, experience: Experience) -> Represented:
        return from_beliefs(experience, pixels(spec, following(experience)))

    sizes = belief_sizes(config.network, num_pixels(spec))
    return Representation(sizes, squared_distance, init, represent, stay, trains_beliefs=True)


def num_pixels(spec: EnvSpec) -> int:
    return math.prod(spec.observation_shape)


def pixels(spec: EnvSpec, obs: Shaped[Array, "T B *obs"]) -> Float[Array, "T B p"]:
    """Observations as vectors of size about 1, without gradient."""
    flat = obs.reshape(*obs.shape[:2], num_pixels(spec)).astype(jnp.float32)
    return jax.lax.stop_gradient(flat / spec.observation_scale)

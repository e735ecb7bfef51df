"""A look inside hindsight: what z holds of each transition, and how well the outcome is predicted without z."""

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, PRNGKeyArray

from curiax.agent.networks import concatenate
from curiax.config import Config
from curiax.curiosity import resolve
from curiax.curiosity.base import Distance, credit
from curiax.curiosity.measures.averaged import in_use
from curiax.curiosity.measures.hindsight import Explained, explain
from curiax.curiosity.representations import REPRESENTATIONS
from curiax.curiosity.world_model import WorldState
from curiax.types import EnvSpec, Experience, Params

NUM_STRANGERS = 16  # hindsight vectors of other transitions, whose reconstructions are averaged


class Inside(NamedTuple):
    """A hindsight method applied to some experience."""

    explained: Explained
    distance: Distance
    reconstructor: Params


class Split(NamedTuple):
    """Errors of every transition with and without hindsight, summed over the horizon as in the reward."""

    predicted: Float[Array, "T B"]
    reconstructed: Float[Array, "T B"]
    z: Float[Array, "T B Z"]  # of the first step of the horizon


def look_inside(config: Config, spec: EnvSpec, world: WorldState, experience: Experience, key: PRNGKeyArray) -> Inside:
    """Hindsight vectors and reconstructions, by the generator that the rewards come from."""
    representation = REPRESENTATIONS[resolve(config.curiosity).split("+")[0]](config, spec)
    own, model = world.params.curiosity
    represented = representation.represent(own, world.targets, experience)._replace(ended=experience.ended)
    model: Any = in_use(model, world.critic)
    key_noise, _ = jax.random.split(key)  # the same noise ε as in `score` with this key
    explained = explain(config.world, model, represented, experience.valid, key_noise)
    return Inside(explained, representation.distance, model["reconstructor"])


def split_errors(inside: Inside, strangers: Float[Array, "N Z"]) -> Split:
    """The error that is paid, and the error of a prediction, E_z[ψ(b', z)] over hindsight vectors of strangers.

    z is independent of (b, a), so the vectors of any other transitions are samples of p(z | b, a).
    """
    (loop, z, output), distance = inside.explained, inside.distance

    def reconstruct(stranger: Float[Array, " Z"]) -> Float[Array, "H T B F"]:
        return inside.reconstructor(concatenate(loop.after, jnp.broadcast_to(stranger, z.shape)))

    prediction = jnp.mean(jax.vmap(reconstruct)(strangers), axis=0)
    predicted, reconstructed = (credit(distance(loop.target, x), loop.valid) for x in (prediction, output))
    return Split(predicted, reconstructed, z[0])

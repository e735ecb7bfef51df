"""Random network distillation (Burda et al., 2019): the error of a network trained to copy a fixed random one."""

from typing import NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, PRNGKeyArray, Shaped

from curiax.agent.policy import make_features
from curiax.config import Config
from curiax.curiosity.base import Curiosity, squared_distance
from curiax.curiosity.experience import following
from curiax.types import CuriosityOutput, EnvSpec, Experience, Loss, Params, State

CLIP = 5.0


class RNDTargets(NamedTuple):
    """The fixed network, and running statistics of the observations."""

    network: Params
    count: Float[Array, ""]
    mean: Float[Array, "*obs"]
    variance: Float[Array, "*obs"]


def rnd(config: Config, spec: EnvSpec) -> Curiosity:
    """‖f̂(o_{t+1}) − f(o_{t+1})‖², o whitened by running statistics and clipped to ±5. The target is deterministic."""
    network = config.network
    shape = spec.observation_shape
    whitened = spec._replace(observation_scale=1.0)

    def init(key: PRNGKeyArray, encoder: Params) -> tuple[Params, Params, State]:
        key_copy, key_target = jax.random.split(key)
        target = make_features(network, whitened, key_target)
        copy = make_features(network, whitened, key_copy, hidden=config.world.hidden)
        return copy, (), RNDTargets(target, jnp.float32(0), jnp.zeros(shape), jnp.ones(shape))

    def score(
        params: Params, critic: Params, targets: RNDTargets, experience: Experience, key: PRNGKeyArray
    ) -> CuriosityOutput:
        obs = whiten(targets, following(experience))
        error = squared_distance(jax.lax.stop_gradient(targets.network(obs)), params(obs))
        return CuriosityOutput(
            losses={"distillation": Loss(error, experience.valid)},
            error=jnp.where(experience.valid, jax.lax.stop_gradient(error), 0.0),
            metrics={"prediction_error": jnp.mean(error, where=experience.valid)},
        )

    def follow(targets: RNDTargets, encoder: Params, next_obs: Array, valid: Array | None = None) -> RNDTargets:
        return observe(targets, next_obs, valid)

    return Curiosity(init, score, follow)


def whiten(targets: RNDTargets, obs: Shaped[Array, "T B *obs"]) -> Float[Array, "T B *obs"]:
    mean = jnp.broadcast_to(targets.mean, obs.shape)
    scale = jnp.broadcast_to(jnp.sqrt(targets.variance + 1e-8), obs.shape)
    return jnp.clip((obs.astype(jnp.float32) - mean) / scale, -CLIP, CLIP)


def observe(targets: RNDTargets, obs: Shaped[Array, "T B *obs"], valid: Bool[Array, "T B"] | None = None) -> RNDTargets:
    """Merges the moments of a batch, or of its valid part, into the running ones (Chan et al., 1979)."""
    obs = obs.astype(jnp.float32)
    valid = jnp.ones(obs.shape[:2], bool) if valid is None else valid
    mask = valid.reshape(*valid.shape, *(1,) * (obs.ndim - 2))
    batch_count = jnp.sum(valid.astype(jnp.float32))
    batch_mean, batch_variance = (moment(obs, axis=(0, 1), where=mask) for moment in (jnp.mean, jnp.var))
    total = targets.count + batch_count
    difference = batch_mean - targets.mean
    squares = targets.variance * targets.count + batch_variance * batch_count
    squares += jnp.square(difference) * targets.count * batch_count / total
    return targets._replace(count=total, mean=targets.mean + difference * batch_count / total, variance=squares / total)

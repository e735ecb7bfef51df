"""The contracts of environments, and the stream of steps made from a batch of JAX ones."""

from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int, PRNGKeyArray, Shaped

from curiax.types import EnvSpec, State, TimeStep

Noise = Any


class Environment(NamedTuple):
    """An environment is a deterministic function of noise drawn beforehand.

    Drawing first lets a rollout draw for all its steps at once, and lets a second implementation be fed the same noise.
    """

    spec: EnvSpec
    draw: Callable[[PRNGKeyArray], Noise]  # all the randomness of one step or reset
    reset: Callable[[Noise], tuple[State, Array]]  # -> state, obs
    step: Callable[[State, Array, Noise], tuple[State, TimeStep]]


class HostStep(NamedTuple):
    """B streams of a host environment after a step, as numpy arrays; `reward` and `terminated` are of that step."""

    obs: Shaped[np.ndarray, "B *obs"]
    first: Bool[np.ndarray, " B"]
    last: Bool[np.ndarray, " B"]
    reward: Float[np.ndarray, " B"]
    terminated: Bool[np.ndarray, " B"]
    info: dict[str, np.ndarray]
    episode: dict[str, np.ndarray]


class HostEnvironment(NamedTuple):
    """B environments stepped outside the compiled program, by the rules of a stream.

    One whose episode has ended is reset instead and ignores its action: the final observation stays in the stream.
    """

    spec: EnvSpec
    reset: Callable[[], HostStep]  # starts B episodes
    step: Callable[[Int[np.ndarray, " B"]], HostStep]
    close: Callable[[], None]


class Stream(NamedTuple):
    """B environments between two steps."""

    state: State
    obs: Shaped[Array, "B *obs"]
    first: Bool[Array, " B"]
    last: Bool[Array, " B"]
    age: Int[Array, " B"]  # steps taken in the episode
    limit: Int[Array, " B"]  # at which age it is truncated
    returns: Float[Array, " B"]  # extrinsic reward of the episode so far


def stream_reset(env: Environment, noise: Noise, batch_size: int) -> Stream:
    """Starts B episodes; the first ones are cut short, each at another age, so that they do not all end together."""
    state, obs = jax.vmap(env.reset)(noise)
    limit = env.spec.time_limit - jnp.arange(batch_size, dtype=jnp.int32) * env.spec.time_limit // batch_size
    return Stream(
        state=state,
        obs=obs,
        first=jnp.ones(batch_size, bool),
        last=jnp.zeros(batch_size, bool),
        age=jnp.zeros(batch_size, jnp.int32),
        limit=limit,
        returns=jnp.zeros(batch_size),
    )


def stream_step(env: Environment, stream: Stream, action: Int[Array, " B"], noise: Noise) -> tuple[Stream, TimeStep]:
    """One step of each environment; one whose episode has ended is reset instead and ignores the action.

    The final observation thus stays in the stream, and a time limit truncates rather than terminates. At a reset
    `info` and `episode` mean nothing: that step is not a transition.
    """
    stepped, step = jax.vmap(env.step)(stream.state, action, noise)
    fresh, first_obs = jax.vmap(env.reset)(noise)
    reset = stream.last
    age = jnp.where(reset, 0, stream.age + 1)
    limit = jnp.where(reset, env.spec.time_limit, stream.limit)
    truncated = (step.truncated | (age >= limit)) & ~step.terminated & ~reset
    terminated = step.terminated & ~reset
    reward = jnp.where(reset, 0.0, step.reward)
    returns = jnp.where(reset, 0.0, stream.returns + reward)
    stream = Stream(
        state=jax.tree.map(lambda new, old: where(reset, new, old), fresh, stepped),
        obs=where(reset, first_obs, step.obs),
        first=reset,
        last=terminated | truncated,
        age=age,
        limit=limit,
        returns=returns,
    )
    episode = step.episode | {"return": returns, "length": age.astype(jnp.float32)}
    return stream, step._replace(
        obs=stream.obs, reward=reward, terminated=terminated, truncated=truncated, episode=episode
    )


def where(condition: Bool[Array, " B"], new: Shaped[Array, "B *any"], old: Shaped[Array, "B *any"]) -> Array:
    """`jnp.where` over the leading axis."""
    return jnp.where(condition.reshape(condition.shape + (1,) * (new.ndim - 1)), new, old)

"""The interfaces of environments, and streams of steps from a batch of JAX environments."""

from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int, PRNGKeyArray, Shaped

from curiax.types import EnvSpec, State, TimeStep

Noise = Any


class Environment(NamedTuple):
    """A JAX environment: deterministic functions of noise that is drawn beforehand.

    So a rollout draws the noise of all its steps at once, and a second implementation can be tested on the same noise.
    """

    spec: EnvSpec
    draw: Callable[[PRNGKeyArray], Noise]  # all the randomness of one step or reset
    reset: Callable[[Noise], tuple[State, Array]]  # -> state, obs
    step: Callable[[State, Array, Noise], tuple[State, TimeStep]]
    dear_reset: bool = False  # a reset costs as much as many steps, so only ended episodes are reset


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
    """B environments stepped on the host, outside the compiled program.

    A step after the end of an episode resets that environment and ignores its action, as in `stream_step`.
    """

    spec: EnvSpec
    reset: Callable[[], HostStep]  # starts B episodes
    step: Callable[[Int[np.ndarray, " B"]], HostStep]
    close: Callable[[], None]


class Stream(NamedTuple):
    """State of B environments between two steps."""

    state: State
    obs: Shaped[Array, "B *obs"]
    first: Bool[Array, " B"]
    last: Bool[Array, " B"]
    age: Int[Array, " B"]  # steps taken in the episode
    limit: Int[Array, " B"]  # age at which the episode is truncated
    returns: Float[Array, " B"]  # extrinsic reward of the episode so far


def stream_reset(env: Environment, noise: Noise, batch_size: int) -> Stream:
    """Starts B episodes with staggered time limits, so that they do not all end at once."""
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
    """Steps each environment; one whose episode has ended is reset instead and ignores the action.

    The final observation thus stays in the stream. A time limit truncates rather than terminates. At a reset `info`
    and `episode` are meaningless: that step is not a transition.
    """
    stepped, step = jax.vmap(env.step)(stream.state, action, noise)
    reset = stream.last
    begin = begin_one_by_one if env.dear_reset else begin_together
    state, obs = begin(env, noise, reset, stepped, step.obs)
    age = jnp.where(reset, 0, stream.age + 1)
    limit = jnp.where(reset, env.spec.time_limit, stream.limit)
    truncated = (step.truncated | (age >= limit)) & ~step.terminated & ~reset
    terminated = step.terminated & ~reset
    reward = jnp.where(reset, 0.0, step.reward)
    returns = jnp.where(reset, 0.0, stream.returns + reward)
    stream = Stream(
        state=state,
        obs=obs,
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


def begin_together(
    env: Environment, noise: Noise, ended: Bool[Array, " B"], state: State, obs: Shaped[Array, "B *obs"]
) -> tuple[State, Shaped[Array, "B *obs"]]:
    """State and observation with ended episodes reset. Resets all and discards most: cheaper than branching."""
    fresh, first_obs = jax.vmap(env.reset)(noise)
    return jax.tree.map(lambda new, old: where(ended, new, old), fresh, state), where(ended, first_obs, obs)


def begin_one_by_one(
    env: Environment, noise: Noise, ended: Bool[Array, " B"], state: State, obs: Shaped[Array, "B *obs"]
) -> tuple[State, Shaped[Array, "B *obs"]]:
    """The same with a loop over the ended episodes only."""
    streams = jnp.argsort(~ended)  # ended ones first

    def begin(index: Int[Array, ""], everything: tuple[State, Array]) -> tuple[State, Array]:
        stream = streams[index]
        fresh = env.reset(jax.tree.map(lambda x: x[stream], noise))
        return jax.tree.map(lambda old, new: old.at[stream].set(new), everything, fresh)

    return jax.lax.fori_loop(0, jnp.sum(ended), begin, (state, obs))


def where(condition: Bool[Array, " B"], new: Shaped[Array, "B *any"], old: Shaped[Array, "B *any"]) -> Array:
    """`jnp.where` over the leading axis."""
    return jnp.where(condition.reshape(condition.shape + (1,) * (new.ndim - 1)), new, old)

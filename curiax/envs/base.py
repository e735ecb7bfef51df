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
    dear_reset: bool = False  # a reset costs many steps: none is made in vain


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
    """New episodes where one has ended. All are reset, and most of the resets thrown away: cheaper than to choose."""
    fresh, first_obs = jax.vmap(env.reset)(noise)
    return jax.tree.map(lambda new, old: where(ended, new, old), fresh, state), where(ended, first_obs, obs)


def begin_one_by_one(
    env: Environment, noise: Noise, ended: Bool[Array, " B"], state: State, obs: Shaped[Array, "B *obs"]
) -> tuple[State, Shaped[Array, "B *obs"]]:
    """The same, with as many resets as episodes have ended."""
    streams = jnp.argsort(~ended)  # those that have ended come first

    def begin(index: Int[Array, ""], everything: tuple[State, Array]) -> tuple[State, Array]:
        stream = streams[index]
        fresh = env.reset(jax.tree.map(lambda x: x[stream], noise))
        return jax.tree.map(lambda old, new: old.at[stream].set(new), everything, fresh)

    return jax.lax.fori_loop(0, jnp.sum(ended), begin, (state, obs))


def where(condition: Bool[Array, " B"], new: Shaped[Array, "B *any"], old: Shaped[Array, "B *any"]) -> Array:
    """`jnp.where` over the leading axis."""
    return jnp.where(condition.reshape(condition.shape + (1,) * (new.ndim - 1)), new, old)

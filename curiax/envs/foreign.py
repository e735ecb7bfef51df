"""Adapts third-party JAX environments to `Environment`; everything stays compiled.

They take a random key at every step, so the noise that is drawn beforehand is a key. Their automatic resets are not
used: the final observation of an episode must stay in the stream.
"""

import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, PRNGKeyArray, Shaped, UInt32

from curiax.envs.base import Environment
from curiax.types import EnvSpec, State, TimeStep, nothing_derived

Key = UInt32[Array, " words"]  # raw key data: states may hold keys, and checkpoints must save them


class Answer(NamedTuple):
    """What a third-party environment returns for an action, before any reset."""

    obs: Array
    state: State
    reward: Array
    terminated: Array
    truncated: Array
    episode: dict[str, Array]  # of the episode so far


class Foreign(NamedTuple):
    """A third-party environment. `adapt` converts its dtypes."""

    name: str
    num_actions: int
    time_limit: int
    reset: Callable[[Key], tuple[Array, State]]
    step: Callable[[Key, State, Array], Answer]
    observation_scale: float = 1.0
    dear_reset: bool = False
    action_parts: tuple[int, ...] | None = None  # this and the following as in EnvSpec
    derive: Callable[[dict[str, float]], dict[str, float]] = nothing_derived
    tallied: tuple[str, ...] = ()


def adapt(foreign: Foreign) -> Environment:
    """The environment as an `Environment`."""
    key = jax.eval_shape(draw, jax.random.key(0))
    with their_rules():
        _, begun = jax.eval_shape(foreign.reset, key)
        numbered = jax.ShapeDtypeStruct((), jnp.int32)
        vector = jax.ShapeDtypeStruct((foreign.num_actions,), jnp.float32)
        after = jax.eval_shape(foreign.step, key, begun, numbered if foreign.action_parts is None else vector)

    def reset(noise: Key) -> tuple[State, Shaped[Array, "*obs"]]:
        with their_rules():
            obs, state = foreign.reset(noise)
        return settle(state, after.state), settle_observation(obs)

    def step(state: State, action: Shaped[Array, "*action"], noise: Key) -> tuple[State, TimeStep]:
        with their_rules():
            answer = foreign.step(noise, state, action)
        return settle(answer.state, after.state), TimeStep(
            obs=settle_observation(answer.obs),
            reward=number(answer.reward),
            terminated=flag(answer.terminated),
            truncated=flag(answer.truncated),  # by the environment itself; the stream adds the time limit
            info={"noise": jnp.array(False)},  # they do not mark noise
            episode={name: number(value) for name, value in answer.episode.items()},
        )

    spec = EnvSpec(
        name=foreign.name,
        observation_shape=after.obs.shape,
        num_actions=foreign.num_actions,
        time_limit=foreign.time_limit,
        observation_scale=foreign.observation_scale,
        action_parts=foreign.action_parts,
        derive=foreign.derive,
        tallied=foreign.tallied,
    )
    return Environment(spec, draw, reset, step, foreign.dear_reset)


def draw(key: PRNGKeyArray) -> Key:
    return jax.random.key_data(key)


@contextmanager
def their_rules() -> Iterator[None]:
    """Allows dtype and rank promotion, which our tests forbid and third-party code relies on, and ignores warnings."""
    with jax.numpy_dtype_promotion("standard"), jax.numpy_rank_promotion("allow"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


def settle(state: State, like: State) -> State:
    """The state with the dtypes that it has after a step: a reset may give Python numbers or other dtypes."""
    return jax.tree.map(lambda value, shape: jax.lax.convert_element_type(value, shape.dtype), state, like)


def settle_observation(obs: Shaped[Array, "*obs"]) -> Shaped[Array, "*obs"]:
    """Bytes stay bytes; everything else becomes float32."""
    return obs if obs.dtype == jnp.uint8 else jax.lax.convert_element_type(obs, jnp.float32)


def number(value: Any) -> Float[Array, ""]:
    return jax.lax.convert_element_type(value, jnp.float32)


def flag(value: Any) -> Bool[Array, ""]:
    return jax.lax.convert_element_type(value, jnp.bool_)

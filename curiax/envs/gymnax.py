"""Environments of gymnax 0.0.9 and 1.0: classic control, MinAtar, bsuite and others."""

import math
from functools import cache
from importlib import import_module
from typing import Any

import jax
import jax.numpy as jnp

from curiax.envs.base import Environment
from curiax.envs.foreign import Answer, Foreign, adapt, their_rules
from curiax.errors import UserError, first_line, not_installed, unknown_name

NEVER = 2**30  # steps


def load() -> Any:
    try:
        with their_rules():
            return import_module("gymnax")
    except ImportError:
        raise not_installed("gymnax", "gymnax") from None


def check_name(name: str) -> None:
    names = load().registration.registered_envs
    if name not in names:
        raise UserError(unknown_name("environment", f"gymnax/{name}", [f"gymnax/{known}" for known in names]))


@cache
def make(name: str) -> Environment:
    check_name(name)
    try:
        return adapt(foreign(name))
    except UserError:
        raise
    except Exception as error:  # some download data, some fail with current JAX
        raise UserError(f"gymnax/{name}: cannot be made ({type(error).__name__}: {first_line(error)})") from None


def foreign(name: str) -> Foreign:
    with their_rules():
        env, params = load().make(name)
        actions = env.action_space(params)
        num_observations = getattr(env.observation_space(params), "n", None)
    numbered = hasattr(actions, "n")

    def observation(obs: Any) -> jax.Array:
        """Discrete observations become one-hot."""
        return obs if num_observations is None else jax.nn.one_hot(obs, num_observations)

    def reset(key: jax.Array) -> tuple[jax.Array, Any]:
        obs, state = env.reset_env(key, params)
        return observation(obs), state

    def step(key: jax.Array, state: Any, action: jax.Array) -> Answer:
        obs, state, reward, done, _ = env.step_env(key, state, action if numbered else within(actions, action), params)
        terminated, truncated = ends(env, params, state, done)
        return Answer(observation(obs), state, reward, terminated, truncated, {})

    return Foreign(
        name=f"gymnax/{name}",
        num_actions=int(actions.n if numbered else math.prod(actions.shape)),
        time_limit=int(params.max_steps_in_episode),
        reset=reset,
        step=step,
        action_parts=None if numbered else (),
    )


def within(box: Any, action: jax.Array) -> jax.Array:
    """The action clipped to ±1 and scaled to the bounds of the box."""
    low, high = (jnp.broadcast_to(jnp.asarray(bound, jnp.float32), box.shape) for bound in (box.low, box.high))
    return low + (high - low) * (jnp.clip(action.reshape(box.shape), -1, 1) + 1) / 2


def ends(env: Any, params: Any, state: Any, done: Any) -> tuple[Any, Any]:
    """terminated, truncated. Before 1.0, gymnax does not distinguish them."""
    if hasattr(env, "is_truncated"):
        return done, env.is_truncated(state, params)
    untimed = params.replace(max_steps_in_episode=NEVER)
    natural = jnp.logical_and(done, env.is_terminal(state, untimed))
    return natural, jnp.logical_and(done, jnp.logical_not(natural))

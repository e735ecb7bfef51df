"""Noise for JAX environments: an Environment in, a noisy Environment out."""

from typing import Any

import jax
import jax.numpy as jnp
from jaxtyping import Array, PRNGKeyArray

from curiax.envs.base import Environment, Noise
from curiax.envs.noise.disturb import Disturbance, Draw, View, make
from curiax.types import State, TimeStep


def add_noise(env: Environment, name: str, **options: Any) -> Environment:
    """`env` with noise of that name; options are in docs/noise.md. Can be applied repeatedly."""
    disturbance = make(jnp, name, view_of(env), options)
    obs = jax.eval_shape(lambda key: disturbance.first(env.reset(env.draw(key))[1]), jax.random.key(0))
    spec = env.spec._replace(
        name=f"{env.spec.name}+{name}",
        observation_shape=obs.shape,
        num_actions=env.spec.num_actions + disturbance.num_added,
    )
    return Environment(
        spec=spec,
        draw=lambda key: draw(env, disturbance, key),
        reset=lambda noise: reset(env, disturbance, noise),
        step=lambda state, action, noise: step(env, disturbance, state, action, noise),
        dear_reset=env.dear_reset,
    )


def view_of(env: Environment) -> View:
    obs = jax.eval_shape(lambda key: env.reset(env.draw(key))[1], jax.random.key(0))
    numbers = env.spec.action_parts is None
    return View(
        shape=obs.shape,
        dtype=obs.dtype.name,
        lit=env.spec.observation_scale,
        num_actions=env.spec.num_actions if numbers else None,
        action_shape=() if numbers else (env.spec.num_actions,),
        action_dtype="int32" if numbers else "float32",
    )


def draw(env: Environment, disturbance: Disturbance, key: PRNGKeyArray) -> tuple[Noise, Draw]:
    key_env, key_coins, key_happens = jax.random.split(key, 3)
    key_uniform = jax.random.fold_in(key, 3)
    coins = jax.random.bernoulli(key_coins, 0.5, disturbance.coins)
    happens = jax.random.bernoulli(key_happens, disturbance.probability)
    return env.draw(key_env), Draw(coins, happens, jax.random.uniform(key_uniform, disturbance.uniform))


def reset(env: Environment, disturbance: Disturbance, noise: tuple[Noise, Draw]) -> tuple[State, Array]:
    state, obs = env.reset(noise[0])
    return (state, disturbance.start()), disturbance.first(obs)


def step(
    env: Environment, disturbance: Disturbance, state: State, action: Array, noise: tuple[Noise, Draw]
) -> tuple[State, TimeStep]:
    state, memory = state
    env_noise, thrown = noise
    taken = disturbance.act(memory, action, thrown)
    state, answer = env.step(state, taken, env_noise)
    memory, obs, noisy = disturbance.see(memory, answer.obs, action, taken, thrown)
    noisy = noisy | answer.info.get("noise", jnp.array(False))
    return (state, memory), answer._replace(obs=obs, info=answer.info | {"noise": noisy})

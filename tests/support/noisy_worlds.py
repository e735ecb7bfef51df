"""A world in which nothing happens, for Gymnasium and for JAX, and what noise does to it."""

from typing import Any, NamedTuple

import gymnasium
import jax
import jax.numpy as jnp
import numpy as np
from gymnasium import spaces

from curiax.envs.base import Environment
from curiax.envs.noise import layers, wrappers
from curiax.types import EnvSpec, TimeStep

SHAPE, GREY, NUM_ACTIONS = (14, 13), 100, 4


class Still(gymnasium.Env):
    """Grey for ever, but for a corner that shows the action that was taken."""

    def __init__(self, observation_space=None, action_space=None):
        self.observation_space = observation_space or spaces.Box(0, 255, SHAPE, np.uint8)
        self.action_space = action_space or spaces.Discrete(NUM_ACTIONS)
        self.taken: list[Any] = []

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.taken = []
        return self._observe(0), {}

    def step(self, action):
        assert self.action_space.contains(action)
        self.taken.append(action)
        return self._observe(action), 0.0, False, False, {}

    def _observe(self, action):
        if isinstance(self.observation_space, spaces.Dict):
            return {"image": np.full(SHAPE, GREY, np.uint8), "direction": 2}
        low = np.broadcast_to(self.observation_space.low, self.observation_space.shape)
        obs = np.full_like(low, GREY if low.dtype == np.uint8 else 0.5)
        if np.ndim(action) == 0:
            obs.flat[0] = action
        return obs


def still() -> Environment:
    """The same in JAX; its state is nothing."""

    def observe(action):
        return jnp.full(SHAPE, GREY, jnp.uint8).at[0, 0].set(action.astype(jnp.uint8))

    def step(state, action, noise):
        no = jnp.array(False)
        return (), TimeStep(observe(action), jnp.float32(0), no, no, {}, {})

    spec = EnvSpec("still", SHAPE, NUM_ACTIONS, 100, observation_scale=255.0)
    return Environment(spec, lambda key: (), lambda noise: ((), observe(jnp.int32(0))), step)


class Episodes(NamedTuple):
    obs: np.ndarray  # [E, L + 1, ...]
    action: np.ndarray  # [E, L]
    noise: np.ndarray  # [E, L]


def play_gym(name: str, actions: np.ndarray, seed: int, **options) -> Episodes:
    env = wrappers.add_noise(Still(), name, **options)
    obs, noise = [], []
    for episode, row in enumerate(actions):
        first, info = env.reset(seed=seed if episode == 0 else None)
        assert info["noise"] is False
        answers = [env.step(action) for action in row]
        obs.append(np.stack([first, *(answer[0] for answer in answers)]))
        noise.append([answer[4]["noise"] for answer in answers])
    return Episodes(np.stack(obs), actions, np.array(noise))


def play_jax(name: str, actions: np.ndarray, seed: int, **options) -> Episodes:
    env = layers.add_noise(still(), name, **options)

    def advance(state, inputs):
        state, step = env.step(state, *inputs)
        return state, (step.obs, step.info["noise"])

    def episode(key, row):
        noise = jax.vmap(env.draw)(jax.random.split(key, len(row) + 1))
        state, first = env.reset(jax.tree.map(lambda x: x[0], noise))
        _, (obs, noisy) = jax.lax.scan(advance, state, (row, jax.tree.map(lambda x: x[1:], noise)))
        return jnp.concatenate([first[None], obs]), noisy

    keys = jax.random.split(jax.random.key(seed), len(actions))
    obs, noisy = jax.jit(jax.vmap(episode))(keys, jnp.asarray(actions, jnp.int32))
    return Episodes(np.asarray(obs), actions, np.asarray(noisy))

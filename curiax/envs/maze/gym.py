"""The maze as a Gymnasium environment, single and vectorised: `curiax/Maze-v0`.

A step is one compiled call, which costs about the same for one maze as for many. Noise is drawn for many steps at a
time.
"""

import functools
from typing import Any, NamedTuple

import gymnasium
import jax
import jax.numpy as jnp
import numpy as np
from gymnasium.vector import AutoresetMode, VectorEnv
from gymnasium.vector.utils import batch_space
from jaxtyping import Array, Bool, Int, UInt8

from curiax.envs import maze
from curiax.envs.base import Environment, Noise, Stream, stream_reset, stream_step, where
from curiax.errors import UserError, unknown_name
from curiax.types import TimeStep

DRAWN = 512  # steps whose noise is drawn at a time
CELL = 12  # pixels per cell in rendered images
FLOOR, WALL, DOORWAY, BLOCK, COIN, AGENT, NOISE = np.array(
    [[238, 238, 232], [72, 76, 86], [216, 216, 206], [196, 98, 45], [230, 180, 30], [38, 98, 178], [160, 60, 150]],
    np.uint8,
)


class Programs(NamedTuple):
    """Compiled functions of B mazes in one setting."""

    draw: Any  # key, steps, B -> noise
    begin: Any  # noise -> stream
    begin_some: Any  # stream, noise, which -> stream
    next_step: Any  # stream, action, noise -> stream, step; ended mazes are reset instead
    same_step: Any  # the same, but mazes are reset in the step in which they end


@functools.cache
def programs(setting: str, coin_reward: float, max_episode_steps: int) -> Programs:
    if setting not in maze.SETTINGS:
        raise UserError(unknown_name("setting", setting, maze.SETTINGS))
    env = maze.make(setting, coin_reward)
    env = env._replace(spec=env.spec._replace(time_limit=max_episode_steps))
    return Programs(
        draw=jax.jit(functools.partial(draw, env), static_argnums=(1, 2)),
        begin=jax.jit(functools.partial(begin, env)),
        begin_some=jax.jit(functools.partial(begin_some, env)),
        next_step=jax.jit(functools.partial(stream_step, env)),
        same_step=jax.jit(functools.partial(same_step, env)),
    )


def draw(env: Environment, key: Array, num_steps: int, num_envs: int) -> Noise:
    return jax.vmap(jax.vmap(env.draw))(jax.random.split(key, (num_steps, num_envs)))


def begin(env: Environment, noise: Noise) -> Stream:
    """B new episodes, all with the full time limit."""
    num_envs = len(jax.tree.leaves(noise)[0])
    limit = jnp.full(num_envs, env.spec.time_limit, jnp.int32)
    return stream_reset(env, noise, num_envs)._replace(limit=limit)


def begin_some(env: Environment, stream: Stream, noise: Noise, which: Bool[Array, " B"]) -> Stream:
    return jax.tree.map(lambda new, old: where(which, new, old), begin(env, noise), stream)


def same_step(env: Environment, stream: Stream, action: Int[Array, " B"], noise: Noise) -> tuple[Stream, TimeStep]:
    """A step, and a reset of the mazes that end. Both can use the same noise: only a reset uses that of the coins."""
    stream, step = stream_step(env, stream, action, noise)
    return begin_some(env, stream, noise, stream.last), step


class Mazes:
    """B streams of mazes with their noise; numpy arrays in and out."""

    def __init__(self, num_envs: int, setting: str, coin_reward: float, max_episode_steps: int):
        self.programs = programs(setting, float(coin_reward), int(max_episode_steps))
        self._num_envs = num_envs
        self.seed(np.random.default_rng(0))

    def seed(self, generator: np.random.Generator) -> None:
        self._key = jax.random.key(int(generator.integers(2**32)))
        self._chances, self._used = None, DRAWN

    def chance(self) -> Noise:
        """The noise of the next step."""
        if self._used == DRAWN:
            self._key, key = jax.random.split(self._key)
            self._chances, self._used = jax.device_get(self.programs.draw(key, DRAWN, self._num_envs)), 0
        self._used += 1
        return jax.tree.map(lambda x: x[self._used - 1], self._chances)

    def begin(self) -> None:
        self.stream = self.programs.begin(self.chance())

    def begin_some(self, which: Bool[np.ndarray, " B"]) -> None:
        self.stream = self.programs.begin_some(self.stream, self.chance(), which)

    def step(self, action: Any, at_once: bool = False) -> TimeStep:
        step = self.programs.same_step if at_once else self.programs.next_step
        self.stream, timestep = step(self.stream, np.asarray(action, np.int32), self.chance())
        return jax.device_get(timestep)

    @property
    def obs(self) -> UInt8[np.ndarray, "B 5 5 6"]:
        return np.array(self.stream.obs)

    def picture(self, which: int) -> UInt8[np.ndarray, "h w 3"]:
        """An image of the whole map, with the noise in the agent's view."""
        layout = maze.parse(maze.MAP)
        state, obs = jax.tree.map(lambda x: np.asarray(x[which]), (self.stream.state, self.stream.obs))
        image = np.where(layout.wall[..., None], WALL, FLOOR)
        for doorway, block in zip(layout.doorways, state.blocks, strict=True):
            image[tuple(doorway.T)] = DOORWAY
            image[tuple(doorway[block])] = BLOCK
        image[tuple(state.coins[state.coins_left].T)] = COIN
        noisy = np.argwhere(obs[..., maze.LAYERS.index("noise")]) + state.position - maze.VIEW // 2
        inside = np.all((noisy >= 0) & (noisy < layout.wall.shape), axis=1)
        image[tuple(noisy[inside].T)] = NOISE
        image[tuple(state.position)] = AGENT
        return image.repeat(CELL, axis=0).repeat(CELL, axis=1)


def observation_space() -> gymnasium.spaces.Box:
    return gymnasium.spaces.Box(0, 1, (maze.VIEW, maze.VIEW, len(maze.LAYERS)), np.uint8)


class MazeEnv(gymnasium.Env):
    """One maze. `gymnasium.make` adds the time limit. Info: noise, cell, trackers."""

    metadata = {"render_modes": ["rgb_array"], "render_fps": 10}  # noqa: RUF012 — as Gymnasium declares it

    def __init__(self, setting: str = "on-demand", coin_reward: float = 0.0, render_mode: str | None = None):
        self.observation_space, self.action_space = observation_space(), gymnasium.spaces.Discrete(len(maze.ACTIONS))
        self.render_mode = render_mode
        self._mazes = Mazes(1, setting, coin_reward, 2**30)

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[np.ndarray, dict]:
        super().reset(seed=seed)
        if seed is not None or not hasattr(self._mazes, "stream"):
            self._mazes.seed(self.np_random)
        self._mazes.begin()
        return self._mazes.obs[0], {"noise": False}

    def step(self, action: Any) -> tuple[np.ndarray, float, bool, bool, dict[str, Any]]:
        step = self._mazes.step([action])
        info = {"noise": bool(step.info["noise"][0]), "cell": int(step.info["cell"][0])}
        info["trackers"] = float(step.episode["trackers"][0])
        return np.array(step.obs[0]), float(step.reward[0]), False, False, info

    def render(self) -> UInt8[np.ndarray, "h w 3"] | None:
        return self._mazes.picture(0) if self.render_mode == "rgb_array" else None


def vector_info(step: TimeStep, there: Bool[np.ndarray, " B"]) -> dict[str, np.ndarray]:
    """Info in Gymnasium's vector format: arrays of values, and under `_name` the mask of environments that have one."""
    info = {"noise": step.info["noise"], "cell": step.info["cell"], "trackers": step.episode["trackers"]}
    info = {name: np.where(there, value, np.zeros_like(value)) for name, value in info.items()}
    return info | {f"_{name}": there for name in info}


class MazeVectorEnv(VectorEnv):
    """B mazes at once, in any of Gymnasium's autoreset modes. Info as in `MazeEnv`, as arrays."""

    metadata = {"render_modes": ["rgb_array"], "render_fps": 10, "autoreset_mode": AutoresetMode.NEXT_STEP}  # noqa: RUF012

    def __init__(
        self,
        num_envs: int = 1,
        setting: str = "on-demand",
        coin_reward: float = 0.0,
        max_episode_steps: int = maze.TIME_LIMIT,
        autoreset_mode: AutoresetMode | str = AutoresetMode.NEXT_STEP,
        render_mode: str | None = None,
    ):
        self.num_envs, self.render_mode = num_envs, render_mode
        self.metadata = self.metadata | {"autoreset_mode": AutoresetMode(autoreset_mode)}
        self.single_observation_space = observation_space()
        self.single_action_space = gymnasium.spaces.Discrete(len(maze.ACTIONS))
        self.observation_space = batch_space(self.single_observation_space, num_envs)
        self.action_space = batch_space(self.single_action_space, num_envs)
        self._mazes = Mazes(num_envs, setting, coin_reward, max_episode_steps)

    def reset(self, *, seed: Any = None, options: dict[str, Any] | None = None) -> tuple[np.ndarray, dict[str, Any]]:
        super().reset(seed=seed)
        if seed is not None or not hasattr(self._mazes, "stream"):
            self._mazes.seed(self.np_random)
        if options and "reset_mask" in options:
            self._mazes.begin_some(options["reset_mask"])
        else:
            self._mazes.begin()
        return self._mazes.obs, {}

    def step(self, actions: Any) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray, dict[str, Any]]:
        mode = self.metadata["autoreset_mode"]
        if mode == AutoresetMode.DISABLED and np.any(self._mazes.stream.last):
            raise ValueError("an episode has ended: reset it, with options={'reset_mask': ...}")
        step = self._mazes.step(actions, mode == AutoresetMode.SAME_STEP)
        info = vector_info(step, ~np.asarray(self._mazes.stream.first))  # a reset has no info
        terminated, truncated = np.asarray(step.terminated), np.asarray(step.truncated)
        ended = terminated | truncated
        if mode == AutoresetMode.SAME_STEP and ended.any():
            final = np.empty(self.num_envs, object)
            for which in np.flatnonzero(ended):
                final[which] = np.array(step.obs[which])
            info |= {"final_obs": final, "_final_obs": ended}
            info |= {"final_info": vector_info(step, ended), "_final_info": ended}
        return self._mazes.obs, np.array(step.reward, np.float64), terminated, truncated, info

    def render(self) -> tuple[Any, ...] | None:
        if self.render_mode != "rgb_array":
            return None
        return tuple(self._mazes.picture(which) for which in range(self.num_envs))

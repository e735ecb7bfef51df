"""Plays a typical episode in the maze, and packs it for the page."""

from typing import Any, NamedTuple

import jax
import numpy as np
from jaxtyping import Array, Bool, Float, Int, PRNGKeyArray

from curiax import envs
from curiax.config import Config
from curiax.envs import maze
from curiax.envs.base import Environment
from curiax.report.encode import encoded
from curiax.training.episodes import play_episodes
from curiax.training.evaluate import judge
from curiax.types import LearnerState, Trajectory

NUM_EPISODES = 32  # of which the typical one is shown


class Film(NamedTuple):
    """An episode of n steps; values are those after each step. Cells are flat indices into the map."""

    cell: Int[np.ndarray, " n"]  # of the agent
    action: Int[np.ndarray, " n"]
    noise: Bool[np.ndarray, " n"]
    pixels: Bool[np.ndarray, "n 5 5"]  # the noise layer of the observation
    blocks: Int[np.ndarray, "n 4"]
    coins: Int[np.ndarray, "n 2"]  # −1 once taken
    trackers: Bool[np.ndarray, "n 4"]  # regions touched so far
    error: Float[np.ndarray, " n"]  # of the curiosity
    reward: Float[np.ndarray, " n"]  # intrinsic, by the statistics of the checkpoint


def shoot(config: Config, state: LearnerState, seed: int) -> Film:
    """Of several episodes, the one nearest to the medians of score and noise dwell."""
    env = envs.make(config.env)

    @jax.jit
    def record(state: LearnerState, key: PRNGKeyArray) -> tuple[Trajectory, Array, Array]:
        key_play, key_score = jax.random.split(key)
        trajectory = play_episodes(with_state(env), state.acting, NUM_EPISODES, key_play)
        error, reward = judge(config, env, state, trajectory, key_score)
        return trajectory, error, reward

    trajectory, error, reward = jax.device_get(record(state, jax.random.key(seed)))
    episode = typical(trajectory)
    info = {name: x[:, episode] for name, x in trajectory.info.items()}
    layout = maze.parse(maze.MAP)
    return Film(
        cell=info["cell"],
        action=trajectory.action[:, episode],
        noise=info["noise"],
        pixels=trajectory.obs[1:, episode, :, :, maze.LAYERS.index("noise")].astype(bool),
        blocks=flat(layout, layout.doorways[np.arange(4), info["blocks"]]),
        coins=np.where(info["coins_left"], flat(layout, info["coins"]), -1),
        trackers=info["trackers"],
        error=error[:, episode],
        reward=reward[:, episode],
    )


def with_state(env: Environment) -> Environment:
    """The same maze, whose `info` also has the state after the step."""

    def step(state: Any, action: Array, noise: Any) -> tuple[Any, Any]:
        state, timestep = env.step(state, action, noise)
        return state, timestep._replace(info=timestep.info | state._asdict())

    return env._replace(step=step)


def typical(trajectory: Trajectory) -> int:
    """The episode nearest to the medians of trackers and noise dwell, both scaled to 0…1."""
    trackers = trajectory.episode["trackers"][-1] / 4
    dwell = trajectory.info["noise"].mean(axis=0)
    return int(np.argmin(np.abs(trackers - np.median(trackers)) + np.abs(dwell - np.median(dwell))))


def flat(layout: maze.Layout, cells: Int[np.ndarray, "*any 2"]) -> Int[np.ndarray, "*any"]:
    return cells[..., 0] * np.int32(layout.wall.shape[1]) + cells[..., 1]


def payload(film: Film) -> dict[str, str]:
    """Typed arrays for the page; a coin that was taken is 65535."""
    bits = film.pixels.reshape(len(film.pixels), -1) @ (1 << np.arange(maze.VIEW**2, dtype=np.uint32))
    trackers = film.trackers @ (1 << np.arange(4, dtype=np.uint8))
    return {
        "cell": encoded(film.cell.astype(np.uint16)),
        "noise": encoded(film.noise.astype(np.uint8)),
        "pixels": encoded(bits.astype(np.uint32)),
        "blocks": encoded(film.blocks.astype(np.uint16)),
        "coins": encoded(film.coins.astype(np.int16).astype(np.uint16)),
        "trackers": encoded(trackers.astype(np.uint8)),
        "reward": encoded(film.reward.astype(np.float32)),
    }

"""The maze and its Pycolab twin, fed the same actions and the same noise, are the same to the last bit."""

import subprocess
import sys
from functools import partial
from pathlib import Path

import jax
import jaxtyping
import numpy as np
import pytest

from curiax.envs import maze
from curiax.envs.maze.pycolab import PycolabMaze

ROOT = Path(__file__).parents[2]
NUM_EPISODES = 100
COIN_REWARD = 1.0
HEADING = (3, 3, 2, 2, 4)  # the action that leads on from outside the regions, from R1, R2, R3, R4


@partial(jax.jit, static_argnums=0)
def draw_episodes(name, key):
    """Noise of a reset and of every step, `[episodes, 1 + steps, ...]`."""
    keys = jax.random.split(key, (NUM_EPISODES, 1 + maze.TIME_LIMIT))
    return jax.vmap(jax.vmap(maze.make(name).draw))(keys)


@partial(jax.jit, static_argnums=0)
def jax_episodes(name, actions, noise):
    """First observations `[episodes, ...]` and steps `[episodes, steps, ...]`."""
    env = maze.make(name, COIN_REWARD)

    def episode(actions, noise):
        state, obs = env.reset(jax.tree.map(lambda x: x[0], noise))
        inputs = (actions, jax.tree.map(lambda x: x[1:], noise))
        return obs, jax.lax.scan(lambda state, inputs: env.step(state, *inputs), state, inputs)[1]

    return jax.vmap(episode)(actions, noise)


def pycolab_episode(twin, noise, wander, choices):
    """First observation, actions and steps of a walker that heads for the coins unless it `wander`s."""
    noise = [maze.Noise(*values) for values in zip(*noise, strict=True)]
    first = twin.reset(noise[0])
    region = twin.layout.region.ravel()
    cell = np.ravel_multi_index(tuple(twin.layout.start), twin.layout.wall.shape)
    actions, steps = [], []
    for t in range(maze.TIME_LIMIT):
        actions.append(int(choices[t]) if wander[t] else HEADING[region[cell]])
        steps.append(twin.step(actions[-1], noise[1 + t]))
        cell = steps[-1].info["cell"]
    return first, np.array(actions, np.int32), jax.tree.map(lambda *leaves: np.stack(leaves), *steps)


def pycolab_episodes(name, noise):
    """Half of the episodes walk at random, half find their way to the last room."""
    rng = np.random.default_rng(0)
    wander = rng.random((NUM_EPISODES, maze.TIME_LIMIT)) < np.where(np.arange(NUM_EPISODES) % 2, 0.5, 1.0)[:, None]
    choices = rng.integers(len(maze.ACTIONS), size=wander.shape)
    twin = PycolabMaze(maze.SETTINGS[name], COIN_REWARD)
    episodes = [pycolab_episode(twin, [x[i] for x in noise], wander[i], choices[i]) for i in range(NUM_EPISODES)]
    return jax.tree.map(lambda *leaves: np.stack(leaves), *episodes)


@pytest.mark.slow
@pytest.mark.parametrize("name", maze.SETTINGS)
def test_twin_gives_every_observation_reward_and_tracker_of_the_maze(name, monkeypatch):
    # Checking shapes at each of the engine's calls would take as long as the engine; the tests below check them.
    monkeypatch.setattr(jaxtyping.config, "jaxtyping_disable", True)
    noise = jax.tree.map(np.asarray, draw_episodes(name, jax.random.key(0)))
    twin_first, actions, twin_steps = pycolab_episodes(name, noise)
    first, steps = jax_episodes(name, actions, noise)
    np.testing.assert_array_equal(first, twin_first)
    jax.tree.map(np.testing.assert_array_equal, tuple(steps), tuple(twin_steps))
    dtypes = jax.tree.map(lambda mine, other: mine.dtype == other.dtype, tuple(steps), tuple(twin_steps))
    assert jax.tree.all(dtypes)
    # The comparison reached everything there is to compare: every region, and coins taken.
    assert np.all([twin_steps.episode[f"tracker_{i}"][:, -1].mean() > 0.2 for i in range(1, 5)])
    assert set(np.unique(twin_steps.reward)) == {0, 1}
    assert twin_steps.reward.sum() > 20
    assert np.all(twin_steps.obs.any(axis=(0, 1, 2, 3)) == [True] * 5 + [name in ("random", "on-demand")])


def test_twin_reads_any_map():
    text = """
    #######
    #4cPc4#
    #.v.w.#
    #.v.w.#
    #.v.w.#
    #ggg1.#
    #hhh23#
    #######
    """
    env = maze.make("brownian", COIN_REWARD, text)
    draw, step = jax.jit(env.draw), jax.jit(env.step)
    noise = jax.tree.map(np.asarray, draw(jax.random.key(0)))
    twin = PycolabMaze(maze.SETTINGS["brownian"], COIN_REWARD, text)
    state, obs = env.reset(noise)
    np.testing.assert_array_equal(obs, twin.reset(noise))
    for t, action in enumerate(np.random.default_rng(0).integers(5, size=200)):
        noise = jax.tree.map(np.asarray, draw(jax.random.key(t)))
        state, answer = step(state, np.int32(action), noise)
        jax.tree.map(np.testing.assert_array_equal, tuple(answer), tuple(twin.step(int(action), noise)))
    assert answer.episode["trackers"] == 4 and not np.any(state.coins_left)


def test_board_is_the_whole_map():
    noise = jax.tree.map(np.asarray, maze.make("baseline").draw(jax.random.key(0)))
    twin = PycolabMaze(maze.SETTINGS["baseline"])
    twin.reset(noise)
    board = np.vectorize(chr)(twin.board)
    np.testing.assert_array_equal(board == "#", twin.layout.wall)
    assert np.argwhere(board == "P").tolist() == [twin.layout.start.tolist()]
    assert sorted(np.argwhere(board == "o").tolist()) == sorted(twin.layout.coins[noise.coins].tolist())
    assert [np.argwhere(board == block).tolist() for block in "VWHG"] == twin.layout.doorways[:, 1:2].tolist()


def test_without_pycolab_one_line_says_what_to_install():
    program = (
        "import sys; sys.modules['pycolab'] = None\n"
        "from curiax.errors import UserError\n"
        "try: import curiax.envs.maze.play\n"
        "except UserError as error: print(error)\n"
    )
    done = subprocess.run([sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout == "Pycolab is not installed: pip install '.[pycolab]' in a checkout of curiax\n"

"""The maze through Gymnasium: one of them, and many at once."""

import functools

import gymnasium
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env
from gymnasium.vector import AutoresetMode

import curiax.gym  # noqa: F401 — registers the maze
from curiax.config import GymOptions
from curiax.envs import gymnasium as host
from curiax.envs import maze
from curiax.envs.maze.gym import AGENT, CELL, WALL, MazeVectorEnv
from curiax.errors import UserError
from tests.support.host_conformance import check

LIMIT = 6
STAY, LEFT = 0, 3


def vector(mode=AutoresetMode.NEXT_STEP, setting="on-demand"):
    return MazeVectorEnv(3, setting, max_episode_steps=LIMIT, autoreset_mode=mode)


def test_gymnasium_finds_nothing_wrong_with_it():
    check_env(gymnasium.make("curiax/Maze-v0", render_mode="rgb_array").unwrapped)


def test_its_name_alone_makes_it_with_the_mazes_time_limit():
    env = gymnasium.make("curiax.gym:curiax/Maze-v0", setting="brownian")
    assert env.spec is not None and env.spec.max_episode_steps == maze.TIME_LIMIT
    assert env.observation_space.shape == (5, 5, 6) and env.action_space.n == 5


def test_noise_on_demand_is_seen_and_told_when_the_agent_stays():
    env = gymnasium.make("curiax/Maze-v0", setting="on-demand")
    env.reset(seed=0)
    for action in (STAY, LEFT, STAY):
        obs, reward, _, _, info = env.step(action)
        assert info["noise"] is (action == STAY) and bool(obs[..., -1].any()) is (action == STAY)
        assert reward == 0.0 and info["trackers"] == 0.0


def test_a_picture_shows_walls_and_the_agent_where_it_is():
    env = gymnasium.make("curiax/Maze-v0", render_mode="rgb_array")
    env.reset(seed=0)
    layout = maze.parse(maze.MAP)
    for position in (layout.start, layout.start - [0, 1]):
        frame = env.render()
        assert frame.shape == (18 * CELL, 25 * CELL, 3) and frame.dtype == np.uint8
        cells = frame[CELL // 2 :: CELL, CELL // 2 :: CELL]
        assert np.argwhere((cells == AGENT).all(axis=-1)).tolist() == [position.tolist()]
        np.testing.assert_array_equal((cells == WALL).all(axis=-1), layout.wall)
        _, _, _, _, info = env.step(LEFT)
    assert info["cell"] == layout.start[0] * 25 + layout.start[1] - 2


def test_the_same_seed_walks_the_same_way_and_another_does_not():
    def walk(seed):
        env = gymnasium.make("curiax/Maze-v0")
        env.reset(seed=seed)
        return np.stack([env.step(STAY)[0] for _ in range(4)])

    np.testing.assert_array_equal(walk(1), walk(1))
    assert np.any(walk(1) != walk(2))


def test_a_vector_of_mazes_is_a_stream():
    options = GymOptions(kwargs=(f"max_episode_steps={LIMIT}", "setting=random"))
    assert isinstance(host.make_pool("curiax/Maze-v0", 2, options, None), MazeVectorEnv)
    done = check(functools.partial(lambda size, seed: host.make("curiax/Maze-v0", size, options, seed)), num_steps=40)
    assert done.step.obs.dtype == np.uint8 and done.step.info["noise"].any()
    np.testing.assert_array_equal(done.step.info["noise"], done.step.obs[..., -1].any(axis=(-2, -1)))


def test_every_mode_of_resetting_gives_the_same_final_observations():
    """The same chances lead to the same final observations, whenever the reset comes."""
    ends = {}
    for mode in AutoresetMode:
        env = vector(mode)
        env.reset(seed=3)
        for _ in range(LIMIT):
            obs, _, _, truncated, info = env.step(np.full(3, STAY))
        assert truncated.all()
        if mode == AutoresetMode.SAME_STEP:
            assert not np.any(obs[..., -1]), "what is given is the first observation of the next"
            assert info["final_info"]["noise"].all() and not info["noise"].any()
            obs = np.stack(list(info["final_obs"]))
        ends[mode] = obs
    np.testing.assert_array_equal(ends[AutoresetMode.NEXT_STEP], ends[AutoresetMode.SAME_STEP])
    np.testing.assert_array_equal(ends[AutoresetMode.NEXT_STEP], ends[AutoresetMode.DISABLED])


def test_where_nothing_resets_by_itself_it_must_be_done_by_hand_and_can_be_for_some():
    env = vector(AutoresetMode.DISABLED)
    env.reset(seed=0)
    for _ in range(3):
        before = env.step(np.full(3, LEFT))[0]
    after = env.reset(options={"reset_mask": np.array([True, False, False])})[0]
    np.testing.assert_array_equal(after[1:], before[1:])
    assert np.any(after[0] != before[0])
    for _ in range(LIMIT - 3):
        truncated = env.step(np.full(3, LEFT))[3]
    assert truncated.tolist() == [False, True, True]
    with pytest.raises(ValueError, match="an episode has ended"):
        env.step(np.full(3, LEFT))


def test_a_setting_that_there_is_not_gets_the_list():
    with pytest.raises(UserError, match=r"setting brown: unknown. Did you mean brownian"):
        gymnasium.make("curiax/Maze-v0", setting="brown")

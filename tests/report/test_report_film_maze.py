"""A film of the maze: a typical episode, with the errors and rewards of the checkpoint; and it as a GIF."""

import dataclasses
import itertools

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from PIL import Image

from curiax import curiosity
from curiax.agent.policy import believe
from curiax.commands.cli import main
from curiax.curiosity.reward import BonusState, mean_and_scale, moments_init, moments_update
from curiax.envs import make as make_env
from curiax.envs import maze
from curiax.report.films import maze as maze_film
from curiax.report.films import maze_gif
from curiax.training.run.directory import Run
from curiax.training.train import initial_state, train
from curiax.types import Experience, Trajectory
from tests.support.tiny import TINY, acting

pytestmark = pytest.mark.slow

CONFIG = dataclasses.replace(TINY, curiosity="byol-explore")  # its errors do not depend on noise of its own
LAYOUT = maze.parse(maze.MAP)
COLUMNS = LAYOUT.wall.shape[1]


@pytest.fixture(scope="module")
def states():
    return [row.state for row in itertools.islice(train(CONFIG), 1)]


@pytest.fixture(scope="module")
def film(states):
    return maze_film.shoot(CONFIG, states[-1], 3)


def test_the_command_writes_the_film_of_a_maze(states, tmp_path):
    run = Run(tmp_path / "run", CONFIG)
    run.save(states[-1])
    run.close()
    path = tmp_path / "film.gif"
    assert main(["evaluate", str(tmp_path / "run"), "--episodes", "1", "--video", str(path)]) == 0
    with Image.open(path) as gif:
        assert gif.n_frames == maze.TIME_LIMIT // maze_gif.STRIDE
        assert gif.width == COLUMNS * maze_gif.CELL + 2 * maze_gif.MARGIN


def test_a_film_follows_the_rules_of_the_maze(film):
    assert len(film.cell) == 500 and film.pixels.shape == (500, 5, 5)
    cells = np.concatenate([[LAYOUT.start @ [COLUMNS, 1]], film.cell])
    moves = maze.MOVES[film.action] @ [COLUMNS, 1]
    assert np.isin(np.diff(cells), [0, *moves]).all()
    assert ((np.diff(cells) == moves) | (np.diff(cells) == 0)).all() and np.diff(cells).any()
    assert not LAYOUT.wall.ravel()[film.cell].any()
    assert film.noise.tolist() == (film.action == 0).tolist()  # on demand
    assert not film.pixels[~film.noise].any()
    assert 0.4 < film.pixels[film.noise].mean() < 0.6
    touched = LAYOUT.region.ravel()[film.cell][:, None] == np.arange(1, 5)
    assert film.trackers.tolist() == np.logical_or.accumulate(touched).tolist()
    middle = LAYOUT.doorways[:, 1] @ [COLUMNS, 1]
    assert (film.blocks == middle).all()  # they stand still where noise comes on demand


@pytest.fixture(scope="module")
def lucky():
    """The film of a random policy that starts among the coins, paid by hindsight."""
    config = dataclasses.replace(TINY, env="maze/baseline")
    state = acting(initial_state(config), 0, 0, 0, 0, 0)
    moments = moments_update(moments_init(), jnp.array([[0.5, 1.5]]), jnp.ones((1, 2), bool), config.bonus.decay)
    middle = LAYOUT.coins[len(LAYOUT.coins) // 2]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("curiax.envs.maze.world.parse", lambda _: LAYOUT._replace(start=middle))
        return maze_film.shoot(config, state._replace(bonus=BonusState(moments, moments)), 0)


def test_a_coin_is_gone_once_the_agent_was_there(lucky):
    taken = lucky.coins == -1
    assert taken[-1].any(), "a random walk among the coins finds one"
    for coin in np.flatnonzero(taken[-1]):
        step = int(taken[:, coin].argmax())
        assert taken[step:, coin].all() and step > 0
        assert lucky.cell[step] == lucky.coins[step - 1, coin]
        assert list(divmod(int(lucky.cell[step]), COLUMNS)) in LAYOUT.coins.tolist()


def test_a_film_of_hindsight_has_errors_and_rewards_too(lucky):
    assert np.isfinite(lucky.error).all() and (lucky.error > 0).all()
    np.testing.assert_allclose(lucky.reward, np.maximum((lucky.error - 1) / 0.5, 0), rtol=1e-4, atol=1e-4)
    assert (lucky.reward > 0).any()


def test_the_errors_of_a_film_are_those_of_the_curiosity_on_what_it_shows(film, states):
    """The observations are drawn anew from the film, and scored with the checkpoint's parameters from scratch."""
    doorways = LAYOUT.doorways @ [COLUMNS, 1]
    start = maze.MazeState(
        position=LAYOUT.start,
        blocks=np.ones(4, np.int32),
        coins=np.stack(np.divmod(film.coins[0], COLUMNS), axis=-1),
        coins_left=np.ones(2, bool),
        trackers=np.zeros(4, bool),
    )
    there = maze.MazeState(
        position=np.stack(np.divmod(film.cell, COLUMNS), axis=-1),
        blocks=(film.blocks[:, :, None] == doorways).argmax(axis=-1),
        coins=np.stack(np.divmod(film.coins, COLUMNS), axis=-1),
        coins_left=film.coins >= 0,
        trackers=film.trackers,
    )
    everything = jax.tree.map(lambda a, b: jnp.asarray(np.concatenate([a[None], b]), np.asarray(a).dtype), start, there)
    pixels = jnp.asarray(np.concatenate([np.zeros((1, 5, 5), bool), film.pixels]))
    obs = jax.vmap(lambda state, pixels: maze.observe(LAYOUT, state, pixels)[0])(everything, pixels)[:, None]
    agent = states[-1].params.agent
    action = jnp.asarray(film.action)[:, None]
    first = jnp.arange(501)[:, None] == 0
    previous = jnp.concatenate([jnp.zeros((1, 1), jnp.int32), action])
    belief = believe(agent, jnp.zeros((1, CONFIG.network.belief)), obs, previous, first)
    experience = Experience(obs, action, jnp.ones((500, 1), bool), belief, agent.action_embedding[action])
    method = curiosity.make(CONFIG, make_env(CONFIG.env).spec)
    params = states[-1].params
    error = method.score(params.curiosity, states[-1].critic, states[-1].targets, experience, jax.random.key(9)).error
    np.testing.assert_allclose(film.error, error[:, 0], rtol=1e-3, atol=1e-5)


def test_the_rewards_of_a_film_are_paid_by_the_statistics_of_the_checkpoint(film, states):
    mean, scale = map(float, mean_and_scale(states[-1].bonus.intrinsic, CONFIG.bonus.decay))
    np.testing.assert_allclose(film.reward, np.maximum((film.error - mean) / scale, 0), rtol=1e-4, atol=1e-5)
    assert 0 < (film.reward > 0).mean() < 1


def test_a_film_shows_the_episode_nearest_to_the_medians():
    trackers = np.array([4, 1, 2, 2], np.float32)  # median 2
    dwell = np.array([0.2, 0.2, 0.9, 0.3])  # median 0.25
    trajectory = Trajectory(
        **dict.fromkeys(set(Trajectory._fields) - {"info", "episode"}),
        info={"noise": np.arange(500)[:, None] < 500 * dwell},
        episode={"trackers": np.broadcast_to(trackers, (500, 4))},
    )
    assert maze_film.typical(trajectory) == 3

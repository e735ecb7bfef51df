"""The maze: what the paper says of it, and what a uniformly random policy finds in it."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from curiax.envs import maze
from tests.support.conformance import check, rollout

LAYOUT = maze.parse(maze.MAP)
NUM_EPISODES = 2000
STAY, UP, DOWN, LEFT, RIGHT = range(5)


@pytest.fixture(scope="module", params=maze.SETTINGS)
def walk(request):
    """The setting's name and one time limit of the random policy, `[T, B, ...]`, numpy."""
    run = rollout(maze.make(request.param), jax.random.key(0), maze.TIME_LIMIT, 32)
    return request.param, jax.tree.map(np.asarray, run)


@jax.jit
def random_episodes(key):
    """Trackers of whole episodes under the random policy, `[episodes, 4]`."""
    env = maze.make("baseline")
    noise = jax.vmap(env.draw)(jax.random.split(key, NUM_EPISODES))
    state, _ = jax.vmap(env.reset)(noise)

    def advance(state, key):
        action = jax.random.randint(key, (NUM_EPISODES,), 0, env.spec.num_actions)
        return jax.vmap(env.step)(state, action, noise)[0], None  # nothing in this setting depends on the noise

    return jax.lax.scan(advance, state, jax.random.split(key, maze.TIME_LIMIT))[0].trackers


def draws(num_draws):
    env = maze.make("baseline")
    return jax.jit(jax.vmap(env.draw))(jax.random.split(jax.random.key(0), num_draws))


def play(env, actions, noise, **state):
    """The steps of one episode under fixed actions and one noise."""
    step = jax.jit(env.step)
    now, _ = env.reset(noise)
    now = now._replace(**state)
    steps = []
    for action in actions:
        now, answer = step(now, jnp.int32(action), noise)
        steps.append(answer)
    return now, steps


@pytest.mark.parametrize("name", maze.SETTINGS)
def test_maze_conforms(name):
    check(maze.make(name))


def test_random_policy_touches_fewer_regions_the_further_they_are():
    reach = np.asarray(random_episodes(jax.random.key(0))).mean(axis=0)
    np.testing.assert_allclose(reach, [0.79, 0.26, 0.10, 0.03], atol=0.04)
    assert np.all(np.diff(reach) < 0)
    assert reach[0] > 0.5 and reach[3] < 0.05


def test_no_region_is_touched_before_the_one_on_the_way_to_it():
    trackers = np.asarray(random_episodes(jax.random.key(1)))
    assert np.all(trackers[:, :-1] >= trackers[:, 1:])


def test_agent_starts_top_right_and_coins_lie_lower_right():
    rows, columns = LAYOUT.wall.shape
    assert LAYOUT.start[0] < rows / 2 < LAYOUT.coins[:, 0].min()
    assert columns / 2 < LAYOUT.start[1] and columns / 2 < LAYOUT.coins[:, 1].mean()
    assert LAYOUT.coins[:, 1].max() == columns - 2 and np.all(LAYOUT.region[tuple(LAYOUT.coins.T)] == 4)


def test_coins_lie_on_two_distinct_cells_and_on_all_of_them_in_time():
    coins = np.asarray(draws(4000).coins)
    assert np.all(coins[:, 0] != coins[:, 1])
    for coin in coins.T:
        share = np.bincount(coin, minlength=len(LAYOUT.coins)) / len(coin)
        np.testing.assert_allclose(share, 1 / len(LAYOUT.coins), atol=0.015)


def test_agent_never_stands_in_a_wall_or_a_block(walk):
    _, run = walk
    row, column = np.moveaxis(run.after.state.position, -1, 0)
    assert not np.any(LAYOUT.wall[row, column])
    blocks = LAYOUT.doorways[np.arange(4), run.after.state.blocks]
    assert not np.any(np.all(blocks == run.after.state.position[:, :, None], axis=-1))


def test_agent_and_blocks_move_at_most_one_cell(walk):
    _, run = walk
    stepped = ~run.before.last
    moved = np.abs(run.after.state.position - run.before.state.position).sum(axis=-1)
    assert moved[stepped].max() == 1 and not np.any(moved[stepped & (run.action == STAY)])
    assert np.abs(run.after.state.blocks - run.before.state.blocks)[stepped].max() <= 1


def test_blocks_walk_in_the_brownian_setting_only(walk):
    name, run = walk
    moved = np.any(run.after.state.blocks != run.before.state.blocks, axis=-1)[~run.before.last]
    assert (moved.mean() > 0.9) if name == "brownian" else not np.any(moved)


def test_every_block_visits_every_cell_of_its_doorway():
    run = rollout(maze.make("brownian"), jax.random.key(0), maze.TIME_LIMIT, 32)
    for block in range(4):
        share = np.bincount(np.asarray(run.after.state.blocks[:, :, block]).ravel()) / run.action.size
        np.testing.assert_allclose(share, 1 / 3, atol=0.05)


def test_noise_layer_shows_in_a_quarter_of_steps_or_on_demand_or_never(walk):
    name, run = walk
    stepped = ~run.before.last
    shown = np.any(run.step.obs[..., maze.LAYERS.index("noise")], axis=(-2, -1))[stepped]
    if name == "random":
        assert shown.mean() == pytest.approx(maze.NOISE_PROBABILITY, abs=0.02)
    elif name == "on-demand":
        np.testing.assert_array_equal(shown, (run.action == STAY)[stepped])
    else:
        assert not np.any(shown)


def test_pixels_of_the_noise_layer_are_fair_coins():
    pixels = np.asarray(draws(4000).pixels)
    np.testing.assert_allclose(pixels.mean(axis=0), 0.5, atol=0.04)


def test_info_says_which_observations_are_noise(walk):
    name, run = walk
    layers = np.any(run.step.obs, axis=(-3, -2))
    block_seen = layers[..., maze.LAYERS.index("vertical block")] | layers[..., maze.LAYERS.index("horizontal block")]
    noisy = {"baseline": np.zeros_like(block_seen), "brownian": block_seen}.get(name, layers[..., -1])
    stepped = ~run.before.last
    np.testing.assert_array_equal(run.step.info["noise"][stepped], noisy[stepped])


def test_a_reset_shows_no_noise(walk):
    _, run = walk
    assert run.before.last.any()
    assert not np.any(run.step.obs[run.before.last][..., -1])


def test_the_agent_is_in_the_middle_of_its_view_and_the_map_around_it():
    env = maze.make("baseline")
    _, obs = env.reset(env.draw(jax.random.key(0)))
    wall, agent = obs[:, :, maze.LAYERS.index("wall")], obs[:, :, maze.LAYERS.index("agent")]
    assert np.argwhere(agent).tolist() == [[2, 2]]
    np.testing.assert_array_equal(wall, [[0, 0, 0, 1, 1]] * 5)  # 'P' is next to the outer wall; beyond it is wall too


def test_a_doorway_is_barred_where_its_block_stands_and_open_beside_it():
    env = maze.make("baseline")
    noise = env.draw(jax.random.key(0))
    in_front = jnp.asarray(LAYOUT.doorways[0, 1] + [0, 1], jnp.int32)
    barred, _ = play(env, [LEFT], noise, position=in_front)
    beside, steps = play(env, [UP, LEFT, LEFT], noise, position=in_front)
    np.testing.assert_array_equal(barred.position, in_front)
    np.testing.assert_array_equal(beside.position, in_front + jnp.array([-1, -2], jnp.int32))
    assert [float(step.episode["tracker_1"]) for step in steps] == [0, 0, 1]


def test_a_block_does_not_walk_onto_the_agent():
    env = maze.make("brownian")
    noise = env.draw(jax.random.key(0))._replace(moves=jnp.ones(4, jnp.int32))
    below = jnp.asarray(LAYOUT.doorways[0, 2], jnp.int32)
    now, _ = play(env, [STAY], noise, position=below)
    assert now.blocks.tolist() == [1, 2, 2, 2]


@pytest.mark.parametrize("coin_reward", [0.0, 1.0])
def test_a_coin_pays_its_reward_once(coin_reward):
    env = maze.make("baseline", coin_reward)
    noise = env.draw(jax.random.key(0))._replace(coins=jnp.array([0, 1], jnp.int32))  # side by side
    now, steps = play(env, [STAY, RIGHT, LEFT, RIGHT], noise, position=jnp.asarray(LAYOUT.coins[0]))
    assert [float(step.reward) for step in steps] == [coin_reward, coin_reward, 0, 0]
    assert not np.any(now.coins_left)
    assert [int(step.obs[:, :, maze.LAYERS.index("coin")].sum()) for step in steps] == [1, 0, 0, 0]


def test_score_counts_the_trackers_and_the_maze_pays_nothing_by_default(walk):
    _, run = walk
    episode = run.step.episode
    np.testing.assert_array_equal(episode["trackers"], sum(episode[f"tracker_{i}"] for i in range(1, 5)))
    assert not np.any(run.step.reward)


def test_cell_numbers_the_map_row_by_row(walk):
    _, run = walk
    stepped = ~run.before.last
    row, column = np.divmod(run.step.info["cell"], LAYOUT.wall.shape[1])
    np.testing.assert_array_equal(np.stack([row, column], axis=-1)[stepped], run.after.state.position[stepped])

"""Atari games, real ones: streams, preprocessing, noise, rooms."""

import sys

import numpy as np
import pytest

from curiax import envs
from curiax.config import AtariOptions
from curiax.envs import atari
from curiax.envs.atari import rooms
from curiax.envs.atari.games import FRAME_LIMIT, NOOPS
from curiax.envs.table import ATARI
from curiax.errors import UserError
from tests.support.host_conformance import check, run

envpool = pytest.importorskip("envpool")
NOOP, FIRE, UP, RIGHT, LEFT, DOWN = range(6)


def play(game, actions, batch_size=1, seed=0, noops=NOOPS, frame_limit=FRAME_LIMIT, **options):
    """The first step, and the answers to these actions, the same for every stream."""
    env = atari.make(game, batch_size, AtariOptions(**options), seed, noops, frame_limit)
    steps = [env.reset()]
    steps += [env.step(np.full(batch_size, action, np.int32)) for action in actions]
    env.close()
    return steps


def twin_of(game, seed):
    """The emulator of a stream alone, with no limit, at two frames to a step: two of its steps are one of ours."""
    return envpool.make(
        "".join(word.capitalize() for word in game.split("_")) + "-v5",
        env_type="gymnasium",
        num_envs=1,
        env_seed=atari.emulator_seeds(seed, 1),
        stack_num=1,
        frame_skip=2,
        full_action_space=True,
        use_fire_reset=False,
        max_episode_steps=10**6,
    )


@pytest.mark.slow
@pytest.mark.parametrize("noise", ["none", "persistive", "patches"])
def test_atari_conforms(noise):
    options = AtariOptions(noise=noise, sticky=0.1)

    def make(batch_size, seed):
        return atari.make("montezuma_revenge", batch_size, options, seed, frame_limit=40)

    done = check(make, num_steps=34, batch_size=2)
    assert done.step.obs.dtype == np.uint8
    assert np.sum(done.step.last, axis=0).tolist() == [3, 3]


def test_the_final_observation_of_a_truncated_episode_is_that_of_an_emulator_that_goes_on():
    actions = np.random.default_rng(0).integers(18, size=20)
    steps = play("breakout", [*actions, NOOP], seed=5, frame_limit=80, full_actions=True)
    twin = twin_of("breakout", 5)
    obs, _ = twin.reset()
    np.testing.assert_array_equal(steps[0].obs, obs[:, 0])
    for action, step in zip(actions, steps[1:], strict=False):
        for _ in range(2):
            obs, *_ = twin.step(np.full(1, action, np.int32))
        np.testing.assert_array_equal(step.obs, obs[:, 0])
    assert [bool(step.last[0]) for step in steps] == [False] * 20 + [True, False]
    assert not steps[20].terminated[0] and steps[21].first[0]


@pytest.fixture(scope="module")
def game_over():
    """Whole games of Breakout without an action that moves: one stream for each seed, up to the reset after its end."""
    games = {}
    for seed in range(3):
        env = atari.make("breakout", 1, AtariOptions(), seed)
        steps = [env.reset()]
        while not steps[-1].last[0]:
            steps.append(env.step(np.array([FIRE])))
        games[seed] = [*steps, env.step(np.array([FIRE]))]
        env.close()
    return games


@pytest.mark.parametrize("seed", range(3))
def test_no_step_crosses_a_game_over(game_over, seed):
    """Beside an emulator stepped by hand. A picture is made of the last two of an action's four frames; where the game
    is over in the first two there is none, and EnvPool gives the picture before."""
    steps = game_over[seed]
    twin = twin_of("breakout", seed)
    (obs, info), lives_lost, over = twin.reset(), 0, False
    for t, step in enumerate(steps[1:-1], start=1):
        assert not over and not step.first[0]
        expected = obs
        for half in range(2):
            if not over:
                lives = info["lives"]
                obs, _, terminated, _, info = twin.step(np.array([FIRE], np.int32))
                over = bool(terminated[0])
                lives_lost += int(lives[0] - info["lives"][0])
                expected = obs if half == 1 else expected
        np.testing.assert_array_equal(step.obs, expected[:, 0])
        assert (bool(step.last[0]), bool(step.terminated[0])) == (over, over), f"step {t}"
    assert over and lives_lost == 5, "an episode lasts for all lives"
    obs, _ = twin.step(np.array([FIRE], np.int32))[:2]
    assert steps[-1].first[0] and np.array_equal(steps[-1].obs, obs[:, 0]), "the step after it is the next one's first"


def test_a_game_that_is_over_at_the_very_limit_is_terminated(game_over):
    length = len(game_over[0]) - 2
    end = play("breakout", [FIRE] * length, frame_limit=4 * length)[-1]
    assert end.last[0] and end.terminated[0]


def test_rewards_are_the_games_own():
    env = atari.make("qbert", 4, AtariOptions(), seed=0)
    done = run(env, num_steps=60)
    env.close()
    assert 25 in done.step.reward


@pytest.mark.slow
def test_an_episode_starts_after_no_ops_by_chance():
    def starts(batch_size, noops):
        return len(np.unique(play("freeway", [], batch_size, noops=noops)[0].obs, axis=0))

    assert starts(2, noops=0) == 1
    assert starts(8, noops=30) > 4


def test_sticky_actions_make_the_same_actions_lead_elsewhere():
    def ends(batch_size, sticky):
        return len(np.unique(play("freeway", [1] * 10, batch_size, noops=0, sticky=sticky)[-1].obs, axis=0))

    assert ends(2, sticky=0.0) == 1
    assert ends(4, sticky=0.5) > 2


def test_streams_of_neighbouring_seeds_share_no_emulator():
    assert len(set(np.ravel([atari.emulator_seeds(seed, 32) for seed in range(8)]))) == 8 * 32


def test_actions_are_those_the_game_knows_or_all():
    assert atari.actions_of("freeway", AtariOptions()).tolist() == [NOOP, UP, DOWN]
    assert atari.spec_of("montezuma_revenge", AtariOptions()).num_actions == 18
    assert atari.spec_of("freeway", AtariOptions(full_actions=True)).num_actions == 18
    few, all_of_them = play("freeway", [1] * 8), play("freeway", [UP] * 8, full_actions=True)
    still = play("freeway", [NOOP] * 8)
    np.testing.assert_array_equal(few[-1].obs, all_of_them[-1].obs)
    assert np.any(few[-1].obs != still[-1].obs)


@pytest.mark.slow
def test_the_table_of_actions_has_as_many_as_the_emulator_knows():
    """For the paper's games and one of each row; which actions they are was read by ale-py 0.12, for every game."""
    from envpool.atari.registration import atari_game_list

    assert set(" ".join(atari.MINIMAL).split()) <= set(atari_game_list)
    for game in {games.split()[0] for games in atari.MINIMAL} | set(ATARI):
        spec = envpool.make_spec("".join(word.capitalize() for word in game.split("_")) + "-v5")
        assert len(atari.actions_of(game, AtariOptions())) == spec.action_space.n, game


def test_persistive_noise_follows_the_actions_as_ale_numbers_them():
    """Freeway's own actions 0, 1, 2 are 0, 2, 5 of ALE: even, even, odd."""
    actions = [0, 1, 2, 1, 2, 2, 0, 1, 0, 0, 2, 2]
    options = {"batch_size": 3, "frame_limit": 32}
    clean, noisy = play("freeway", actions, **options), play("freeway", actions, noise="persistive", **options)
    walk = [(one.obs.astype(int) - other.obs) % 256 for one, other in zip(noisy, clean, strict=True)]
    assert not np.any(walk[0])
    for t, action in enumerate(actions, start=1):
        if t == 9:  # the reset after eight steps
            assert np.all(noisy[t].first) and not np.any(walk[t])
        else:
            strides = {1, 49} if action == 2 else {11, 39}
            assert set(np.unique((walk[t] - walk[t - 1]) % 50)) == strides
            assert np.all(noisy[t].info["noise"] == (action != 2))
    assert walk[8].max() < 50


def test_montezuma_starts_at_the_top_of_its_temple():
    start = play("montezuma_revenge", [])[0]
    assert start.info["room"].tolist() == [1] and start.info["cell"].tolist() == [4]
    assert start.episode["rooms"].tolist() == [1] and start.episode["level"].tolist() == [0]


def test_rooms_of_the_temple_are_four_floors_around_one_shaft():
    floor, column = np.divmod(rooms.pyramid()[:24], 9)
    assert np.bincount(floor).tolist() == [3, 5, 7, 9]
    assert [column[floor == f].mean() for f in range(4)] == [4, 4, 4, 4]
    # Which rooms lie under which was seen by walking through doors and shafts in the emulator.
    for above, below in ((0, 4), (2, 6), (3, 9), (4, 10), (5, 11), (7, 13), (11, 19), (13, 21), (14, 22)):
        assert floor[below] == floor[above] + 1 and column[below] == column[above]


def test_walking_off_the_screen_enters_the_next_scene_of_the_jungle():
    steps = play("pitfall", [LEFT] * 8, frame_limit=28)
    scenes = [int(step.info["room"][0]) for step in steps]
    cells = [int(step.info["cell"][0]) for step in steps]
    assert scenes[0] == 0xC4 and cells[0] == 0
    assert scenes[7] == 0xE2 and cells[7] == 254, "one to the left is the last on the way round"
    assert [float(step.episode["rooms"][0]) for step in steps][-2:] == [2, 1], "a reset forgets the rooms"


def test_every_scene_of_the_jungle_has_its_cell():
    assert sorted(rooms.jungle()[1:]) == list(range(255))


def test_a_wrong_name_gets_the_nearest_right_one():
    with pytest.raises(UserError, match=r"atari/montezuma: unknown. Did you mean atari/montezuma_revenge\?"):
        atari.make("montezuma", 1, AtariOptions(), 0)


def test_without_envpool_one_line_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "envpool", None)
    with pytest.raises(UserError, match=r"pip install '\.\[atari\]' in a checkout"):
        atari.make("pong", 1, AtariOptions(), 0)


def test_a_game_is_not_made_as_a_compiled_environment_and_a_line_says_so():
    with pytest.raises(UserError, match=r"^atari/hero: is stepped on the host, not compiled; use envs.make_host$"):
        envs.make("atari/hero")

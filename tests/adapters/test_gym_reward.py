"""Curiosity in the rewards of a Gymnasium vector environment, in all three modes of resetting."""

import functools

import gymnasium
import numpy as np
import pytest
from gymnasium.spaces import Box, Dict, Discrete, MultiDiscrete
from gymnasium.vector import AsyncVectorEnv, AutoresetMode, SyncVectorEnv, VectorEnv
from gymnasium.wrappers.vector import RecordEpisodeStatistics

import curiax
from curiax.dropin.coefficient import Returns
from curiax.gym import CuriosityReward
from tests.support.gym_toys import Steps
from tests.support.small_curiosity import RAW, SMALL, equal

STILL = {"learning_rate": 1e-12} | RAW  # learns nothing to speak of, and pays the error itself


def vector(num_envs=3, mode=AutoresetMode.NEXT_STEP):
    return SyncVectorEnv([Steps] * num_envs, autoreset_mode=mode)


def wrap(env, method="icm", coefficient=0.2, **settings):
    options = SMALL | settings.pop("options", {})
    return CuriosityReward(env, method, coefficient, options=options, **settings)


def walk(envs, num_steps, seed=0):
    """Steps with actions that are told by environment, episode and age. Yields what came of each; resets what ends."""
    obs, _ = envs.reset(seed=seed)
    for _ in range(num_steps):
        before = np.array(obs)
        actions = (4 * before).sum(axis=1).astype(int) % 3
        obs, *answer = envs.step(actions)
        yield before, np.array(obs), *answer
        ended = answer[1] | answer[2]
        if envs.metadata["autoreset_mode"] == AutoresetMode.DISABLED and ended.any():
            obs, _ = envs.reset(options={"reset_mask": ended})


def bonuses(envs, num_steps):
    """The bonus of each transition, by environment, episode and age."""
    found = {}
    for before, _, _, _, _, infos in walk(envs, num_steps):
        for which in np.flatnonzero(infos["_intrinsic_reward"]):
            found[which, *before[which, :2].tolist()] = infos["intrinsic_reward"][which]
    return found


def rewards_again(envs, num_steps):
    """The rewards from the first episode on, which the environments begin again."""
    for env in envs.env.envs:
        env.episode = -1
    return [step[2] for step in walk(envs, num_steps)]


def test_all_modes_of_resetting_pay_the_same_for_the_same_transitions():
    paid = [bonuses(wrap(vector(mode=mode), "byol-explore", **STILL), 30) for mode in AutoresetMode]
    common = set.intersection(*map(set, paid))
    assert len(common) > 60 and max(key[1] for key in common) > 1  # of 90, in several episodes
    for other in paid[1:]:
        np.testing.assert_allclose([other[key] for key in common], [paid[0][key] for key in common], rtol=1e-4)
    assert len({round(float(paid[0][key]), 6) for key in common}) > 30


@pytest.mark.parametrize("method", ["rnd", pytest.param("icm+hindsight", marks=pytest.mark.slow)])
def test_one_environment_is_paid_and_learned_from_to_the_same_bits_in_all_modes(method):
    """Its resets are no steps: the curiosity has seen the same."""
    runs = [wrap(vector(1, mode), method) for mode in AutoresetMode]
    paid = [bonuses(envs, 72) for envs in runs]
    common = set.intersection(*map(set, paid))
    assert len(common) >= 30 and min(envs.curiosity.num_updates for envs in runs) >= 3
    assert all(other[key] == paid[0][key] for other in paid[1:] for key in common)


def test_a_step_that_is_only_a_reset_pays_nothing_and_is_told_in_the_mask():
    envs, resets = wrap(vector(), "rnd", **RAW), np.zeros(3, bool)
    seen = 0
    for _, _, reward, terminated, truncated, infos in walk(envs, 20):
        assert not reward[resets].any() and not infos["intrinsic_reward"][resets].any()
        assert (infos["intrinsic_reward"][~resets] > 0).all()
        np.testing.assert_array_equal(infos["_intrinsic_reward"], ~resets)
        seen, resets = seen + resets.sum(), terminated | truncated
    assert seen > 5


def test_infos_hold_both_rewards_and_their_sum_is_paid():
    plain = [step[2] for step in walk(vector(), 12)]
    for number, (*_, reward, _, _, infos) in enumerate(walk(wrap(vector(), "rnd", 0.5), 12)):
        np.testing.assert_array_equal(infos["extrinsic_reward"], plain[number])
        np.testing.assert_allclose(reward, plain[number] + 0.5 * infos["intrinsic_reward"])
        assert (infos["intrinsic_coefficient"] == 0.5).all()
        assert {x.shape for x in (reward, infos["extrinsic_reward"], infos["_extrinsic_reward"])} == {(3,)}


def test_coefficient_zero_leaves_all_that_the_environment_gives():
    pairs = zip(walk(vector(), 12), walk(wrap(vector(), "rnd", 0), 12), strict=True)
    assert all(equal(plain[:5], wrapped[:5]) for plain, wrapped in pairs)


def test_the_bonus_can_be_all_that_is_paid():
    for _, _, reward, _, _, infos in walk(wrap(vector(), "rnd", 2.0, reward="intrinsic"), 6):
        np.testing.assert_array_equal(reward, 2.0 * infos["intrinsic_reward"])


@pytest.mark.parametrize("mode", AutoresetMode)
def test_auto_holds_the_share_of_the_discounted_return(mode):
    envs = wrap(vector(mode=mode), "rnd", "auto", share=0.3, discount=0.5)
    streams, means = {"extrinsic_reward": Returns(0.5), "intrinsic_reward": Returns(0.5)}, []
    for _, _, _, terminated, truncated, infos in walk(envs, 40):
        ended = (terminated | truncated)[None]
        found = [returns.add(infos[name][None], ended)[0] for name, returns in streams.items()]
        means.append([x[infos[f"_{name}"]].mean() for name, x in zip(streams, found, strict=True)])
    extrinsic, intrinsic = np.mean(means, axis=0) * [1, envs.coefficient.value]
    assert intrinsic / (extrinsic + intrinsic) == pytest.approx(0.3)


def test_a_reset_of_some_environments_begins_their_episodes_only():
    """In mode DISABLED the caller resets, also in the middle of an episode."""
    settings, which = {"mode": AutoresetMode.DISABLED}, np.array([True, False, False])
    actions = np.zeros(3, int)
    whole, some, fresh = (wrap(vector(**settings), "byol-explore", **STILL) for _ in range(3))
    for envs in (whole, some):
        envs.reset(seed=1)
        envs.step(actions)
    obs, _ = some.reset(options={"reset_mask": which})
    assert (obs[:, 1] == 0).tolist() == which.tolist()
    fresh.env.envs[0].episode = 0
    assert (fresh.reset(seed=1)[0][0] == obs[0]).all()  # the same second episode, with no belief from the first
    paid, gone_on, begun = (envs.step(actions)[4]["intrinsic_reward"] for envs in (some, whole, fresh))
    np.testing.assert_allclose(paid, np.where(which, begun, gone_on), rtol=1e-5)


def test_a_full_reset_clears_the_beliefs():
    envs = wrap(vector(), "byol-explore", **STILL)
    np.testing.assert_allclose(*[rewards_again(envs, 1) for _ in range(2)], rtol=1e-5)


def test_it_stands_above_and_below_the_statistics_of_episodes():
    below = wrap(RecordEpisodeStatistics(vector()), "rnd")
    above = RecordEpisodeStatistics(wrap(vector(), "rnd"))
    for raw, mixed in zip(walk(below, 30), walk(above, 30), strict=True):
        np.testing.assert_allclose(raw[2], mixed[2])
    assert below.env.episode_count == above.episode_count > 5
    lengths = np.array(below.env.length_queue)
    np.testing.assert_allclose(below.env.return_queue, lengths * (lengths + 1) / 2)  # the environment's
    assert (np.array(above.return_queue) > np.array(below.env.return_queue)).any()


def test_it_is_a_vector_environment_with_the_same_spaces():
    inner = vector()
    envs = wrap(inner, "rnd")
    assert isinstance(envs, VectorEnv) and envs.num_envs == 3 and envs.metadata == inner.metadata
    assert envs.single_observation_space == inner.single_observation_space and envs.action_space == inner.action_space


@pytest.mark.slow
def test_the_maze_as_a_vector_is_paid_in_every_mode():
    for mode in AutoresetMode:
        envs = wrap(gymnasium.make_vec("curiax.gym:curiax/Maze-v0", 2, max_episode_steps=4, autoreset_mode=mode), "rnd")
        envs.reset(seed=0)
        for number in range(8):
            _, _, _, truncated, infos = envs.step(np.array([0, 3]))
            alive = number != 4 or mode != AutoresetMode.NEXT_STEP
            assert infos["_intrinsic_reward"].all() == alive
            if mode == AutoresetMode.DISABLED and truncated.any():
                envs.reset(options={"reset_mask": truncated})


@pytest.mark.slow
def test_environments_in_processes_of_their_own_are_paid_as_in_this_one():
    makers = [functools.partial(gymnasium.make, "CartPole-v1")] * 2
    asynchronous = wrap(AsyncVectorEnv(makers, context="forkserver"), "rnd", **RAW)
    synchronous = wrap(SyncVectorEnv(makers), "rnd", **RAW)
    rewards = []
    for envs in (asynchronous, synchronous):
        envs.reset(seed=0)
        rewards.append([envs.step(np.array([0, 1]))[1] for _ in range(30)])
        envs.close()
    np.testing.assert_array_equal(*rewards)


class Anything(gymnasium.Env):
    """Observations and actions of any space, at random."""

    def __init__(self, observation_space, action_space):
        self.observation_space, self.action_space = observation_space, action_space

    def reset(self, *, seed=None, options=None):
        return self.observation_space.sample(), {}

    def step(self, action):
        assert self.action_space.contains(action)
        return self.observation_space.sample(), 0.0, False, False, {}


PARTS = Dict({"place": Discrete(5), "speed": Box(-1, 1, (2,))})


@pytest.mark.parametrize(
    ("observation_space", "action_space", "width"),
    [
        (Discrete(5, start=2), MultiDiscrete([3, 2]), 5),
        (PARTS, Box(-2, 2, (2,)), 7),
        (Box(0, 100, (3,), np.int64), Discrete(2, start=3), 3),
    ],
    ids=["discrete", "dict", "integers"],
)
@pytest.mark.parametrize("mode", [AutoresetMode.NEXT_STEP, AutoresetMode.SAME_STEP])
def test_observations_and_actions_of_any_space_are_read(observation_space, action_space, width, mode):
    make = functools.partial(
        gymnasium.wrappers.TimeLimit, Anything(observation_space, action_space), max_episode_steps=3
    )
    envs = wrap(SyncVectorEnv([make], autoreset_mode=mode), "rnd", **RAW)
    assert envs.curiosity._setup.observations.shape == (width,)
    assert envs.curiosity._setup.observations.scale == (100 if width == 3 else 1)
    envs.reset()
    rewards = [envs.step(envs.action_space.sample())[1][0] for _ in range(5)]
    assert [reward > 0 for reward in rewards] == [True, True, True, mode == AutoresetMode.SAME_STEP, True]


def test_a_saved_wrapper_goes_on_with_curiosity_and_coefficient(tmp_path):
    envs, other = wrap(vector(), "rnd", "auto"), wrap(vector(), "rnd", "auto", seed=7)
    list(walk(envs, 13))
    envs.save(tmp_path / "file")
    other.load(tmp_path / "file")
    assert [path.name for path in tmp_path.iterdir()] == ["file"]
    assert other.coefficient.value == envs.coefficient.value != 1
    np.testing.assert_array_equal(rewards_again(envs, 9), rewards_again(other, 9))


def test_a_saved_wrapper_may_go_on_with_another_number_of_environments(tmp_path):
    envs, other = wrap(vector(3), "rnd"), wrap(vector(2), "rnd")
    list(walk(envs, 10))
    envs.save(tmp_path / "file")
    other.load(tmp_path / "file")
    updates = other.curiosity.num_updates
    list(walk(other, 10))
    assert other.curiosity.num_updates > updates


def test_a_file_that_does_not_fit_is_one_line_and_changes_nothing(tmp_path):
    envs = wrap(vector(), "rnd")
    wrap(vector(), "icm").save(tmp_path / "other")
    (tmp_path / "text").write_text("hello")
    curiosity = envs.curiosity
    with pytest.raises(curiax.UserError, match=r"^path: got .*other with icm, expected rnd, the method here$"):
        envs.load(tmp_path / "other")
    with pytest.raises(curiax.UserError, match="expected a file that this version's `save` wrote"):
        envs.load(tmp_path / "text")
    assert envs.curiosity is curiosity


@pytest.mark.parametrize(
    ("make", "line"),
    [
        (lambda: CuriosityReward(Steps()), r"^env: got Steps, expected a vector environment: gymnasium.make_vec\(ID"),
        (lambda: wrap(vector(), "rdn"), r"^curiosity rdn: unknown. Did you mean rnd\?"),
        (
            lambda: wrap(vector(), "rnd", "much"),
            r"^coefficient: got 'much', expected a number of at least 0, or 'auto'",
        ),
        (lambda: wrap(vector(), "rnd", reward="both"), "^reward: got both, expected mixed or intrinsic$"),
        (lambda: wrap(vector(), "rnd", discount=1.0), "^discount: got 1.0, expected at least 0 and below 1$"),
        (lambda: wrap(vector(), "rnd").step(np.zeros(3, int)), "^step: got actions before the first reset$"),
    ],
)
def test_a_mistake_is_one_clear_line(make, line):
    with pytest.raises(curiax.UserError, match=line) as error:
        make()
    assert "\n" not in str(error.value)

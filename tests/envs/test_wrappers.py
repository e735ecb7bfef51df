"""Noise around Gymnasium environments: spaces, seeds, and what the environment below is given."""

import gymnasium
import numpy as np
import pytest
from gymnasium import spaces
from gymnasium.utils.env_checker import check_env

from curiax.envs.noise.disturb import NOISES
from curiax.envs.noise.wrappers import add_noise
from curiax.errors import UserError
from tests.support.noisy_worlds import GREY, NUM_ACTIONS, SHAPE, Still

OPTIONS = {"patches": {"side": 4}, "cells": {"high": 255}}
checked = pytest.mark.filterwarnings("ignore:.*(different from the unwrapped version|infinity)")


def noisy(name, *args, **options):
    return add_noise(Still(*args), name, **(OPTIONS.get(name, {}) | options))


@checked
@pytest.mark.parametrize("name", NOISES)
def test_observations_are_in_their_space_and_the_checker_is_content(name):
    check_env(noisy(name), skip_render_check=True)


@checked
@pytest.mark.parametrize("name", ["random", "on-demand", "brownian", "sticky"])
def test_vectors_get_more_numbers(name):
    env = add_noise(gymnasium.make("CartPole-v1", disable_env_checker=True), name)
    check_env(env, skip_render_check=True)
    size = {"random": 8, "on-demand": 8, "brownian": 5, "sticky": 4}[name]
    assert env.observation_space.shape == (size,) and env.observation_space.high[4:].tolist() == [1.0] * (size - 4)


def test_a_channel_is_added_to_pictures_and_what_was_seen_stays():
    env = noisy("random", spaces.Box(0, 255, (8, 8, 3), np.uint8), None, probability=1.0)
    env.reset(seed=0)
    obs, *_, info = env.step(1)
    assert obs.shape == (8, 8, 4) and info["noise"] is True
    assert np.all(obs[:, :, :3].ravel()[1:] == GREY) and set(np.unique(obs[:, :, 3])) == {0, 255}


def test_the_picture_of_a_dict_is_disturbed_and_the_rest_left_alone():
    space = spaces.Dict({"image": spaces.Box(0, 255, SHAPE, np.uint8), "direction": spaces.Discrete(4)})
    env = noisy("random", space)
    obs, _ = env.reset(seed=0)
    assert obs["image"].shape == (*SHAPE, 2) and obs["direction"] == 2 and env.observation_space.contains(obs)
    with pytest.raises(UserError, match=r"Dict with 0 images \(direction\)"):
        noisy("random", spaces.Dict({"direction": spaces.Discrete(4)}))


def test_an_added_action_is_another_one_below():
    env = noisy("on-demand", instead=3)
    assert env.action_space.n == NUM_ACTIONS + 1
    env.reset(seed=0)
    seen = [env.step(action)[4]["noise"] for action in (0, NUM_ACTIONS, 1)]
    assert env.unwrapped.taken == [0, 3, 1] and seen == [False, True, False]


def test_actions_may_start_anywhere():
    env = noisy("on-demand", None, spaces.Discrete(3, start=5))
    env.reset(seed=0)
    seen = [env.step(action)[4]["noise"] for action in (5, 7, 8)]
    assert env.unwrapped.taken == [5, 7, 5] and seen == [False, False, True] and env.action_space.contains(8)


def test_vectors_of_actions_stick_as_a_whole():
    env = noisy("sticky", None, spaces.Box(-1, 1, (2,), np.float32), probability=1.0)
    env.reset(seed=0)
    first = np.array([0.5, -0.5], np.float32)
    told = [env.step(action)[4]["noise"] for action in (first, -first, first)]
    np.testing.assert_array_equal(env.unwrapped.taken, [first] * 3)
    assert told == [False, True, False]


def test_the_seed_decides_and_two_noises_have_coins_of_their_own():
    def play(seed):
        env = add_noise(add_noise(Still(), "random", probability=1.0), "random", probability=1.0)
        env.reset(seed=seed)
        return np.stack([env.step(0)[0] for _ in range(3)])

    one = play(0)
    np.testing.assert_array_equal(one, play(0))
    assert np.any(one != play(1)) and np.any(one[..., 1] != one[..., 2])


def test_an_episode_starts_without_noise_and_goes_on_with_other_coins():
    env = noisy("persistive")
    drawn = []
    for episode in range(2):
        first, info = env.reset(seed=0 if episode == 0 else None)
        assert np.all(first.ravel()[1:] == GREY) and info["noise"] is False
        drawn.append(env.step(0)[0])
    assert np.any(drawn[0] != drawn[1])


def test_noise_below_is_told_too():
    env = add_noise(add_noise(Still(), "random", probability=1.0), "on-demand", action=0)
    env.reset(seed=0)
    assert env.step(1)[4]["noise"] is True


def test_the_environment_can_be_made_again_from_its_spec():
    env = add_noise(gymnasium.make("CartPole-v1"), "random", probability=0.5)
    again = gymnasium.make(env.spec)
    assert again.observation_space == env.observation_space


def test_other_observations_are_refused_in_one_line():
    with pytest.raises(UserError, match=r"noise random: got observations Discrete.*expected a Box"):
        noisy("random", spaces.Discrete(3))

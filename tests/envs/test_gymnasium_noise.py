"""gym/ID+NOISE: real environments with every noise, by name."""

from dataclasses import replace

import gymnasium
import numpy as np
import pytest

import tests.support.gym_toys  # noqa: F401 — registers its environments
from curiax import envs
from curiax.config import GymOptions
from curiax.envs import gymnasium as host
from curiax.envs.gymnasium_noise import split_noise
from curiax.envs.noise.disturb import NOISES
from curiax.errors import UserError
from curiax.training.evaluate_host import play_on_host
from curiax.training.train import initial_state, train
from tests.support.host_conformance import check, run
from tests.support.tiny import TINY

DOORKEY = "MiniGrid-DoorKey-5x5-v0"


def played(name, num_steps=30, options=GymOptions(), seed=0):  # noqa: B008 — frozen
    env = host.make(name, 4, options, seed)
    done = run(env, num_steps)
    env.close()
    return env.spec, done


@pytest.mark.parametrize("noise", [name for name in NOISES if name != "patches"])
def test_minigrid_has_every_noise_by_its_name(noise):
    spec, done = played(f"{DOORKEY}+{noise}")
    clean = host.spec_of(DOORKEY, GymOptions())
    assert spec.name == f"gym/{DOORKEY}+{noise}"
    assert spec.num_actions == clean.num_actions + (noise == "on-demand")
    assert spec.observation_shape == done.step.obs.shape[2:]
    assert 0 < done.step.info["noise"].mean() <= 1
    num_cells, num_values = 49, {"persistive": 3 * 60, "sticky": 33, "cells": 33}.get(noise, 4 * 11)
    assert spec.observation_shape == (4 + num_cells * num_values,), "codes are still one-hot"
    assert done.step.obs.sum(axis=-1).max() == done.step.obs.sum(axis=-1).min() > num_cells


@pytest.mark.parametrize("name", ["CartPole-v1+random", "CartPole-v1+brownian", f"{DOORKEY}+cells+sticky"])
def test_a_noisy_stream_keeps_the_contract(name):
    options = GymOptions(kwargs=("max_episode_steps=20",) if name.startswith("MiniGrid") else ())
    check(lambda size, seed: host.make(name, size, options, seed), num_steps=60)


def test_noise_of_cells_leaves_the_direction_and_the_rewards_alone():
    (_, clean), (_, noisy) = played(DOORKEY), played(f"{DOORKEY}+cells")
    np.testing.assert_array_equal(noisy.step.obs[..., :4], clean.step.obs[..., :4])
    np.testing.assert_array_equal(noisy.step.reward, clean.step.reward)
    differ = np.any((noisy.step.obs != clean.step.obs)[..., 4:].reshape(30, 4, 49, 33), axis=-1)
    assert abs(differ.mean() - 0.1) < 0.02  # of the cells, but for those that are redrawn as they were


def test_a_module_may_stand_before_the_id():
    spec, done = played("tests.support.gym_toys:toys/Ages-v0+random")
    assert spec.observation_shape == (2 + 4,) and done.step.info["noise"].any()
    assert split_noise("a.b:toys/Ages-v0+random+sticky") == ("a.b:toys/Ages-v0", ["random", "sticky"])


def test_categories_named_by_an_option_stay_categories():
    spec, _ = played(f"{DOORKEY}+random", options=GymOptions(kinds=12))
    assert spec.observation_shape == (4 + 49 * 4 * 12,)


@pytest.mark.slow
def test_a_process_for_each_environment_gives_the_same_noise():
    runs = [played(f"{DOORKEY}+cells", 12, GymOptions(vectorization=how))[1] for how in ("sync", "async")]
    np.testing.assert_array_equal(runs[0].step.obs, runs[1].step.obs)


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("gym/CartPole-v1+randm", ("gym/CartPole-v1: noise randm", "Did you mean random", "cells")),
        ("gym/CartPol-v1+random", ("gym/CartPol-v1", "Did you mean gym/CartPole-v1")),
        ("gym/CartPole-v1+", ("gym/CartPole-v1: noise", "There are: random")),
    ],
)
def test_a_wrong_name_is_told_the_right_ones(name, words):
    with pytest.raises(UserError) as error:
        envs.check_name(name)
    assert all(word in str(error.value) for word in words), str(error.value)


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("CartPole-v1+cells", "gym/CartPole-v1.cells: noise cells: got observations .4. of float32"),
        (f"{DOORKEY}+patches", "higher than 12 pixels"),
        ("toys/VectorOnly-v0+random", "a vector form only"),
    ],
)
def test_noise_that_does_not_fit_is_refused_in_one_line(name, words):
    gymnasium.register("toys/VectorOnly-v0", entry_point=None, vector_entry_point="gymnasium.vector:VectorEnv")
    try:
        with pytest.raises(UserError, match=words):
            host.spec_of(name, GymOptions())
    finally:
        del gymnasium.registry["toys/VectorOnly-v0"]


@pytest.mark.slow
def test_training_and_evaluation_count_the_noise():
    config = replace(TINY, env="gym/CartPole-v1+on-demand", env_steps=64, log_every=4)
    *_, row = train(config)
    assert 0.1 < row.metrics["noise_dwell"] < 0.6  # one of three actions shows it
    dwell = play_on_host(config, initial_state(config).acting, 8, seed=0)["noise_dwell"]
    assert 0.1 < dwell.mean() < 0.6

"""Gymnasium environments on the host: every mode of resetting, every kind of space, every way to fail."""

import dataclasses
import io
import sys

import gymnasium
import numpy as np
import pytest
from gymnasium.vector import AutoresetMode
from rich.console import Console

import tests.support.gym_toys  # registers its environments
from curiax import envs
from curiax.agent import vmpo
from curiax.commands.program import run_training
from curiax.config import GymOptions, keywords
from curiax.envs import gymnasium as host
from curiax.envs.base import HostEnvironment
from curiax.envs.gymnasium_observations import read_space
from curiax.errors import EnvironmentFailed, UserError
from curiax.training.evaluate_host import play_on_host
from curiax.training.run.metrics import read_metrics
from curiax.training.train import bad_loss, train
from tests.support.host_conformance import check, run
from tests.support.tiny import TINY


def episodes_of(run):
    """Of each stream the whole episodes, as (observations with the first and the final one, rewards, steps)."""
    obs = np.concatenate([run.before.obs[:1], run.step.obs])
    for stream in range(run.action.shape[1]):
        ends = np.flatnonzero(run.step.last[:, stream]) + 1
        begins = [0, *(ends[:-1] + 1)]
        for begin, end in zip(begins, ends, strict=True):
            yield obs[begin : end + 1, stream], run.step.reward[begin:end, stream], run, slice(begin, end), stream


def check_ages(done):
    lengths = set()
    for obs, reward, run_, steps, stream in episodes_of(done):
        length = len(obs) - 1
        lengths.add(length)
        assert obs[:, 0].tolist() == list(range(length + 1)), "every observation of an episode, first and final"
        assert len(set(obs[:, 1])) == 1, "and all of the same episode"
        assert reward.tolist() == [10.0 * age for age in range(1, length + 1)]
        noise = run_.step.info["noise"][steps, stream]
        assert noise.tolist() == [age % 3 == 0 for age in range(1, length + 1)]
    assert lengths == {2, 3, 4, 5}, "terminated ones, and those cut off at five"
    assert done.step.terminated.any() and (done.step.last & ~done.step.terminated).any()


def streams_of(pool, seed):
    """Of somebody's own vector environment of `toys/Ages-v0`."""
    streams = host.Streams(pool, *host.spaces_of("toys/Ages-v0", GymOptions()), seed)
    return HostEnvironment(host.spec_of("toys/Ages-v0", GymOptions()), streams.reset, streams.step, pool.close)


@pytest.mark.parametrize("mode", AutoresetMode)
def test_a_stream_is_whole_in_every_mode_of_resetting(mode):
    def make(batch_size, seed):
        pool = gymnasium.make_vec("toys/Ages-v0", batch_size, "sync", vector_kwargs={"autoreset_mode": mode})
        return streams_of(pool, seed)

    check_ages(check(make, num_steps=80))


def test_environments_are_reset_at_the_next_step():
    pool = host.make_pool("toys/Ages-v0", 2, GymOptions(), None)
    assert pool.metadata["autoreset_mode"] == AutoresetMode.NEXT_STEP
    check_ages(check(lambda size, seed: host.make("toys/Ages-v0", size, GymOptions(), seed), num_steps=80))


@pytest.mark.slow
def test_a_process_for_each_environment_gives_the_same_stream():
    runs = []
    for vectorization in ("sync", "async"):
        env = host.make("toys/Ages-v0", 2, GymOptions(vectorization=vectorization), 0)
        runs.append(run(env, 20))
        env.close()
    np.testing.assert_array_equal(runs[0].step.obs, runs[1].step.obs)
    np.testing.assert_array_equal(runs[0].step.last, runs[1].step.last)


def test_an_environments_own_vector_form_is_taken_where_there_is_one():
    assert isinstance(host.make_pool("CartPole-v1", 2, GymOptions(), None), type(gymnasium.make_vec("CartPole-v1", 2)))
    done = check(lambda size, seed: host.make("CartPole-v1", size, GymOptions(), seed), num_steps=60)
    assert np.all(np.abs(done.step.obs[..., 2][done.step.terminated]) > 0.2), "the final one is where the pole fell"
    sync = host.make_pool("CartPole-v1", 2, GymOptions(vectorization="sync"), None)
    assert isinstance(sync, gymnasium.vector.SyncVectorEnv)


def test_a_vector_form_that_resets_all_when_asked_for_some_is_found_out():
    class Deaf(gymnasium.vector.SyncVectorEnv):
        def reset(self, *, seed=None, options=None):
            return super().reset(seed=seed)

    pool = Deaf([lambda: gymnasium.make("toys/Ages-v0")] * 3, autoreset_mode=AutoresetMode.SAME_STEP)
    streams = streams_of(pool, seed=0)
    streams.reset()
    with pytest.raises(ValueError, match="reset_mask"):
        for _ in range(20):
            streams.step(np.zeros(3, np.int32))


def test_minigrid_is_read_as_kinds_of_things_and_its_text_is_dropped():
    pytest.importorskip("minigrid")
    name = "MiniGrid-DoorKey-5x5-v0"
    spec = host.spec_of(name, GymOptions())
    assert spec.observation_shape == (4 + 7 * 7 * 3 * 11,) and spec.num_actions == 7
    env, twin = host.make(name, 2, GymOptions(), 3), gymnasium.make(name)
    step = env.reset()
    seeds = (np.random.SeedSequence(3).generate_state(2) >> 1).tolist()
    obs, _ = twin.reset(seed=seeds[1])
    assert step.obs.dtype == np.uint8
    assert step.obs[1, :4].argmax() == obs["direction"]
    np.testing.assert_array_equal(step.obs[1, 4:].reshape(7, 7, 3, 11).argmax(axis=-1), obs["image"])
    assert read_space(twin.observation_space, 11).dropped == ("mission",)
    env.close()


def test_real_actions_are_clipped_and_brought_to_their_bounds():
    spec = host.spec_of("toys/Reach-v0", GymOptions())
    assert (spec.num_actions, spec.action_parts) == (2, ())
    env = host.make("toys/Reach-v0", 2, GymOptions(), 0)
    env.reset()
    step = env.step(np.array([[0.5, -0.5], [9.0, -9.0]], np.float32))  # in its own units (0.5, 1) and (1, 0)
    np.testing.assert_allclose(step.reward, [0.0, -1.25], atol=1e-6)


def test_arguments_are_json_or_words():
    read = keywords(GymOptions(kwargs=("size=8", "name=red", "open=true")))
    assert read == {"size": 8, "name": "red", "open": True}
    with pytest.raises(UserError, match=r"--gym.kwargs size: must be NAME=VALUE"):
        keywords(GymOptions(kwargs=("size",)))


def test_mistakes_are_said_in_one_line():
    with pytest.raises(UserError, match=r"gym/CartPol-v1: unknown. Did you mean gym/CartPole-v1\?"):
        envs.check_name("gym/CartPol-v1")
    with pytest.raises(UserError, match=r"gym/nowhere.at_all:X-v0: nowhere.at_all cannot be imported"):
        envs.check_name("gym/nowhere.at_all:X-v0")
    with pytest.raises(UserError, match=r"gym/toys/Broken-v0: cannot be made \(TypeError: .*'colour'"):
        host.spec_of("toys/Broken-v0", GymOptions(kwargs=("colour=red",)))


def test_without_gymnasium_one_line_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "gymnasium", None)
    monkeypatch.delitem(sys.modules, "curiax.envs.gymnasium")
    monkeypatch.delattr(envs, "gymnasium")
    with pytest.raises(UserError, match=r"pip install '\.\[gym\]' in a checkout"):
        envs.check_name("gym/CartPole-v1")


@pytest.mark.slow
def test_real_actions_are_learned_by_the_whole_program(monkeypatch):
    monkeypatch.setattr(vmpo, "LIMITS", {"alpha_mean": 0.1, "alpha_covariance": 0.01})  # learns faster
    config = dataclasses.replace(
        TINY,
        env="gym/toys/Reach-v0",
        curiosity="icm",
        reward="mixed",
        batch_size=16,
        unroll=8,
        log_every=10,
        env_steps=16 * 8 * 120,
        learning_rate=0.01,
        bonus=dataclasses.replace(TINY.bonus, intrinsic_weight=0.0),
        vmpo=dataclasses.replace(TINY.vmpo, target_period=2, entropy_weight=0.0),
    )
    rows = list(train(config))
    returns = [row.metrics["return"] for row in rows]
    assert all(bad_loss(row.metrics) is None for row in rows)
    assert {"alpha_mean", "alpha_covariance", "temperature"} <= rows[0].metrics.keys()
    assert np.mean(returns[-2:]) > 0.5 * np.mean(returns[:2]) and np.mean(returns[:2]) < -1
    played = play_on_host(config, rows[-1].state.acting, 20, 0)
    assert played["outcome"]["return"].mean() > 0.5 * np.mean(returns[:2]) and np.isfinite(played["entropy"]).all()


LINES = {
    "raise": f"RuntimeError: the door fell off, {tests.support.gym_toys.__file__}:74",
    "nan": "ValueError: its observation contains nan, expected finite numbers",
    "reward": "ValueError: its reward contains inf, expected finite numbers",
    "shape": "ValueError: its observation has shape (4,), where its space says (3,)",
}


@pytest.mark.slow
@pytest.mark.parametrize("how", LINES)
def test_an_environment_that_breaks_ends_the_run_in_one_line_with_a_good_checkpoint(how, tmp_path):
    config = dataclasses.replace(
        TINY,
        env="gym/toys/Broken-v0",
        curiosity="rnd",
        unroll=4,
        log_every=1,
        env_steps=4 * 4 * TINY.batch_size,
        gym=GymOptions(kwargs=(f"how={how}", "at=9")),
    )
    with pytest.raises(EnvironmentFailed) as failed:
        run_training(config, tmp_path / "run", False, Console(file=io.StringIO()))
    assert str(failed.value) == f"gym/toys/Broken-v0 failed after update 2 ({LINES[how]})"
    assert [row["update"] for row in read_metrics(tmp_path / "run/metrics.csv")] == [1, 2]
    assert (tmp_path / "run/checkpoints/2/sha256").exists()

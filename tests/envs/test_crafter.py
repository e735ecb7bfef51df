"""Crafter itself: its streams, its achievements, and its score over all episodes of a run."""

import dataclasses
import sys

import jax.numpy as jnp
import numpy as np
import pytest

from curiax import envs
from curiax.commands.cli import main
from curiax.config import Config
from curiax.config.presets import preset_for
from curiax.envs import crafter as host
from curiax.envs.achievements import score
from curiax.errors import UserError
from curiax.studies.base import Member
from curiax.studies.scores import result
from curiax.training.learner import tally_of
from curiax.training.train import train
from tests.support.host_conformance import check, run
from tests.support.tiny import TINY

crafter = pytest.importorskip("crafter")
CONFIG = dataclasses.replace(
    TINY,
    env="crafter",
    curiosity="rnd",
    batch_size=2,
    unroll=64,
    log_every=2,
    env_steps=8 * 128,
    checkpoint_every=4,
    network=dataclasses.replace(TINY.network, channels=(2,), patch=7),
)


@pytest.fixture
def short(monkeypatch):
    """Episodes of twenty steps at most."""
    monkeypatch.setattr(host, "TIME_LIMIT", 20)


def twin(seed: int, stream: int, length: int):
    """The game of a stream, made by hand."""
    return crafter.Env(length=length, seed=int(np.random.SeedSequence(seed).generate_state(stream + 1)[stream] >> 1))


def test_ordered_sets_change_nothing_of_a_new_world():
    ordered, plain = crafter.Env(seed=3), crafter.Env(seed=3)
    np.testing.assert_array_equal(host.begin(ordered), plain.reset())
    ours, theirs = ordered._world._chunks, plain._world._chunks
    assert list(ours) == list(theirs) and len(ours) > 10
    for chunk, creatures in theirs.items():
        assert {tuple(one.pos) for one in creatures} == {tuple(one.pos) for one in ours[chunk]}


def test_a_stream_is_the_game_step_by_step(short):
    env = host.make(2, 5)
    done = run(env, 50)
    game = twin(5, 1, 20)
    np.testing.assert_array_equal(done.before.obs[0, 1], host.begin(game))
    for t in range(50):
        if done.before.last[t, 1]:
            np.testing.assert_array_equal(done.step.obs[t, 1], host.begin(game))
            continue
        obs, reward, over, info = game.step(done.action[t, 1])
        np.testing.assert_array_equal(done.step.obs[t, 1], obs)
        assert done.step.reward[t, 1] == np.float32(reward) and done.step.last[t, 1] == over
        assert done.step.terminated[t, 1] == (info["discount"] == 0)
        for name, count in info["achievements"].items():
            assert done.step.episode[f"achievement/{name}"][t, 1] == (count > 0)
        unlocked = sum(count > 0 for count in info["achievements"].values())
        assert done.step.episode["achievements"][t, 1] == unlocked


def test_flags_numbers_and_shapes_are_those_of_the_contract(short):
    done = check(host.make, num_steps=60)
    assert done.step.obs.dtype == np.uint8 and len([name for name in done.step.episode if "/" in name]) == 22


def test_death_terminates_and_the_time_limit_truncates(short):
    env = host.make(2, 0)
    env.reset()
    streams = env.step.__self__
    streams._games[0]._player.health = 0
    step = env.step(np.zeros(2, np.int32))
    assert step.last.tolist() == [True, False] and step.terminated.tolist() == [True, False]
    for _ in range(19):
        step = env.step(np.zeros(2, np.int32))
    assert step.last[1] and not step.terminated[1] and step.episode["length"][1] == 20


def test_score_is_the_geometric_mean_of_one_plus_percent():
    """Two achievements in 50 % and in none of the episodes: √(51 · 1) − 1. All in all: 100. And none elsewhere."""
    assert score({"achievement/a": 0.5, "achievement/b": 0.0, "return": 3.0})["score"] == pytest.approx(51**0.5 - 1)
    assert score({"achievement/a": 1.0})["score"] == pytest.approx(100)
    assert score({"return": 3.0}) == {}


def test_a_tally_adds_the_episodes_of_an_update_to_those_before():
    tally = {"episodes": jnp.float32(3), "achievement/a": jnp.float32(1)}
    metrics = {"length/count": jnp.float32(2), "achievement/a/sum": jnp.float32(2)}
    assert {name: float(value) for name, value in tally_of(tally, metrics).items()} == {
        "episodes": 5,
        "achievement/a": 3,
    }
    assert tally_of((), metrics) == ()


@pytest.mark.slow
def test_the_score_is_over_all_episodes_of_a_run_and_the_one_that_a_study_reports(short):
    """The last row's score is that of the shares of all episodes; every row has the numbers to work it out."""
    config = dataclasses.replace(
        CONFIG, sync=True, passes=2
    )  # each batch counts once, however often it is learned from
    rows = list(train(config))
    totals = [float(row.state.tally["episodes"]) for row in rows]
    assert totals[0] > 0 and np.all(np.diff(totals) > 0), totals
    weights = np.diff([0, *totals])
    names = envs.spec_of(CONFIG).tallied
    shares = {name: np.average([row.metrics[name] for row in rows], weights=weights) for name in names}
    assert sum(shares.values()) > 0
    assert rows[-1].metrics["score"] == pytest.approx(score(shares)["score"], rel=1e-4)
    *_, last = train(config, rows[1].state)
    assert float(last.state.tally["episodes"]) > totals[1], "a run that goes on keeps its tally"
    columns = {name: np.array([row.metrics[name] for row in rows]) for name in ("score", "achievements")}
    columns |= {"update": np.array([2.0, 4.0, 6.0, 8.0]), "env_steps": np.array([1, 2, 3, 4]), "seconds": np.ones(4)}
    found = result(Member("crafter", "rnd", 0), columns, envs.scores_of("crafter"))
    assert found.score == rows[-1].metrics["score"]


@pytest.mark.slow
def test_a_run_of_crafter_is_trained_and_evaluated_from_the_command_line(short, tmp_path, capsys):
    words = ["train", "crafter", "--curiosity", "rnd", "--env-steps", "64", "--batch-size", "2", "--unroll", "32"]
    words += ["--network.channels", "2", "--log-every", "1", "--run-dir", str(tmp_path / "run")]
    assert main(words) == 0
    assert "Crafter's score over all episodes so far, percent" in capsys.readouterr().out
    assert main(["evaluate", str(tmp_path / "run"), "--episodes", "2"]) == 0
    assert "Crafter's score" in capsys.readouterr().out


def test_without_crafter_one_line_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "crafter", None)
    with pytest.raises(UserError, match=r"Crafter is not installed: pip install '.\[crafter\]'"):
        envs.check_name("crafter")


def test_crafter_has_a_preset_whose_patches_are_the_cells_of_the_game():
    config = preset_for("laptop", "crafter")
    assert (config.env_steps, config.network.patch, config.reward) == (1_000_000, 7, "intrinsic")
    spec = envs.spec_of(Config(env="crafter"))
    assert (spec.name, spec.observation_shape, spec.num_actions) == ("crafter", (64, 64, 3), 17)
    assert envs.profile_of("crafter").title == "Crafter" and envs.scores_of("crafter")[0].metric == "score"

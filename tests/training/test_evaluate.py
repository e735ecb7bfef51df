"""A frozen policy: what is measured, and that the run it comes from is left alone."""

import dataclasses
import itertools
import json
import math
import os
import shutil

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from curiax.commands.cli import main
from curiax.envs import maze
from curiax.errors import UserError
from curiax.training import evaluate
from curiax.training.run.directory import Run
from curiax.training.train import train
from tests.support.files import contents
from tests.support.tiny import TINY, acting

CONFIG = dataclasses.replace(TINY, curiosity="byol-explore")  # whose errors no noise of its own blurs
LAYOUT = maze.parse(maze.MAP)
NUM_EPISODES = 100  # one number, one compiled program
COLUMNS = LAYOUT.wall.shape[1]


@pytest.fixture(scope="module")
def states():
    """After updates 2, 4 and 6."""
    return [row.state for row in itertools.islice(train(CONFIG), 3)]


@pytest.fixture(scope="module")
def directory(states, tmp_path_factory):
    path = tmp_path_factory.mktemp("evaluate") / "run"
    run = Run(path, CONFIG)
    for state in states:
        run.save(state)
    run.close()
    return path


def test_a_policy_that_always_stays_sees_nothing_but_noise_on_demand(states):
    episodes = evaluate.evaluate(CONFIG, acting(states[0], 50, 0, 0, 0, 0), NUM_EPISODES)
    assert (episodes.noise_dwell == 1).all() and len(episodes.noise_dwell) == NUM_EPISODES
    assert (episodes.outcome["trackers"] == 0).all()
    assert (episodes.outcome["length"] == 500).all()  # none is cut short
    np.testing.assert_allclose(episodes.entropy, 0, atol=1e-6)


def test_a_random_policy_is_measured_as_one(states):
    episodes = evaluate.evaluate(CONFIG, acting(states[0], 0, 0, 0, 0, 0), 3 * NUM_EPISODES, seed=1)
    reached = [episodes.outcome[f"tracker_{i}"].mean() for i in range(1, 5)]
    np.testing.assert_allclose(reached, [0.79, 0.26, 0.10, 0.03], atol=0.08)
    np.testing.assert_allclose(episodes.outcome["trackers"].mean(), sum(reached), rtol=1e-5)
    np.testing.assert_allclose(episodes.noise_dwell.mean(), 0.2, atol=0.01)  # one action in five stays
    np.testing.assert_allclose(episodes.entropy, math.log(5), rtol=1e-5)
    batches = episodes.noise_dwell.reshape(-1, NUM_EPISODES)
    assert len(np.unique(batches, axis=0)) == 3  # not one and the same


def test_it_is_the_acting_policy_that_acts(states):
    agent = states[0].params.agent
    broken = jax.tree.map(lambda x: jnp.full_like(x, jnp.nan), agent)
    broken = states[0]._replace(params=states[0].params._replace(agent=broken))
    ours, theirs = (evaluate.evaluate(CONFIG, state, NUM_EPISODES) for state in (states[0], broken))
    assert np.isfinite(theirs.entropy).all()
    assert ours.noise_dwell.tolist() == theirs.noise_dwell.tolist()


@pytest.mark.slow
def test_the_same_seed_gives_the_same_episodes_and_another_one_others(states):
    first, again, other = (evaluate.evaluate(CONFIG, states[0], NUM_EPISODES, seed).noise_dwell for seed in (0, 0, 1))
    assert first.tolist() == again.tolist() != other.tolist()


def test_an_interval_holds_its_mean_and_narrows_with_the_episodes():
    values = np.random.default_rng(0).normal(2, 1, 400)
    few, many = evaluate.mean_interval(values[:25]), evaluate.mean_interval(values)
    for found, number in ((few, 25), (many, 400)):
        assert found.low < found.mean < found.high
        np.testing.assert_allclose((found.high - found.low) / 2, 1.96 / math.sqrt(number), rtol=0.25)
    assert evaluate.mean_interval(np.full(5, 4.0)) == (4, 4, 4)
    assert evaluate.mean_interval(np.array([4.0])) == (4, None, None)


def test_the_newest_whole_checkpoint_is_taken_and_a_damaged_one_passed_over(directory, states, tmp_path):
    assert int(evaluate.load(directory)[1].num_updates) == 6
    copy = shutil.copytree(directory, tmp_path / "run")
    for file in (copy / "checkpoints/6/default").rglob("*"):
        if file.is_file():
            os.truncate(file, file.stat().st_size // 2)
    before = contents(copy)
    assert int(evaluate.load(copy)[1].num_updates) == 4
    assert contents(copy) == before  # it is training's business to put it aside
    shutil.rmtree(copy / "checkpoints")
    with pytest.raises(UserError, match=r"run: no whole checkpoint \(none was saved yet\)"):
        evaluate.load(copy)


def test_the_command_prints_and_writes_the_result_and_leaves_a_run_that_trains_alone(directory, tmp_path, capsys):
    run = Run(directory, CONFIG)  # as if it were training
    before = contents(directory), {path: path.stat().st_mtime_ns for path in directory.rglob("*")}
    assert main(["evaluate", str(directory), "--json", str(tmp_path / "result.json")]) == 0
    assert (contents(directory), {path: path.stat().st_mtime_ns for path in directory.rglob("*")}) == before
    run.close()
    result = json.loads((tmp_path / "result.json").read_text())
    assert (result["update"], result["env_steps"], result["episodes"]) == (6, 48, 100)
    trackers = result["means"]["trackers"]
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith("maze/on-demand  byol-explore  seed 0  after 0.00 M steps; 100 episodes")
    text = f"{trackers['mean']:.2f}  [{trackers['low']:.2f}, {trackers['high']:.2f}]"
    assert lines[1] == f"trackers              {text}"
    assert lines[2].startswith("reached               R1 ") and "R4 " in lines[2]
    assert [line.split("  ")[0] for line in lines[3:]] == ["noise dwell", "policy entropy, nats"]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ([], "nowhere: no run here (no config.json)"),
        (["--episodes", "0"], "--episodes 0: must be at least 1"),
        (["--seed", "-1"], "--seed -1: must be from 0 to 4294967295"),
    ],
)
def test_a_mistake_is_one_clear_line(words, message, tmp_path, capsys):
    assert main(["evaluate", str(tmp_path / "nowhere"), *words]) == 2
    out, err = capsys.readouterr()
    assert (out, err.count("\n")) == ("", 1) and err.endswith(message + "\n")


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--video", "film.mp4"], "--video film.mp4: its name must end in .gif, the one format there is"),
        (["--video", "none/film.gif"], "--video none/film.gif: cannot be written (No such file or directory)"),
        (["--json", "none/result.json"], "--json none/result.json: cannot be written (No such file or directory)"),
        (["--json", "."], "--json .: cannot be written (Is a directory)"),
    ],
)
def test_what_would_fail_after_the_episodes_fails_before_them(words, message, directory, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(evaluate, "evaluate", lambda *_: pytest.fail("it played"))
    assert main(["evaluate", str(directory), *words]) == 2
    assert capsys.readouterr() == ("", f"curiax: {message}\n")
    assert list(tmp_path.iterdir()) == []

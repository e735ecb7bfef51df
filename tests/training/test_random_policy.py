"""The uniformly random policy as a method: it acts at random, learns nothing, and is scored like any other."""

import dataclasses
import itertools
import math

import numpy as np
import pytest
from rich.console import Console

import curiax
from curiax.commands import diagnose
from curiax.commands.cli import main
from curiax.curiosity import resolve
from curiax.errors import UserError
from curiax.studies.base import Member, Study, base_config, member_config
from curiax.training import evaluate
from curiax.training.train import initial_state, train
from tests.support.tiny import TINY, leaves

CONFIG = dataclasses.replace(
    TINY, curiosity="random-policy", batch_size=8, unroll=50, env_steps=8 * 50 * 20, evaluate_every=20
)
HOST = dataclasses.replace(CONFIG, env="gym/CartPole-v1", reward="mixed", env_steps=8 * 50 * 8, evaluate_every=8)


@pytest.fixture(scope="module")
def rows():
    return list(train(CONFIG))


@pytest.mark.slow
def test_its_scores_are_those_of_random_actions(rows):
    dwell = [row.metrics["noise_dwell"] for row in rows]
    assert np.mean(dwell) == pytest.approx(0.2, abs=0.02), "one action in five stays"
    assert all(row.metrics["entropy"] == pytest.approx(math.log(5)) for row in rows)
    assert rows[-1].metrics["evaluation/noise_dwell"] == pytest.approx(0.2, abs=0.02), "it is its own mode"
    assert rows[-1].metrics["evaluation/length"] == 500
    assert rows[-1].maps["visits"].sum() > 0 and not rows[-1].maps["reward"].any()


@pytest.mark.slow
def test_nothing_is_learned(rows):
    before, after = leaves(initial_state(CONFIG)), leaves(rows[-1].state)
    moved = {name for name in before if before[name] != after[name]}
    assert moved and all(name.startswith((".stream", ".key", ".num_updates")) for name in moved), moved


@pytest.mark.slow
def test_a_resumed_run_is_bit_identical(rows):
    resumed = list(itertools.islice(train(CONFIG, rows[1].state), 2))
    assert leaves(resumed[-1].state) == leaves(rows[3].state)


@pytest.mark.slow
def test_on_the_host_its_return_is_that_of_random_actions():
    """CartPole falls after 22 random steps on average."""
    returns = [row.metrics["return"] for row in train(HOST)]
    assert np.nanmean(returns) == pytest.approx(22, abs=6)


@pytest.mark.slow
def test_the_commands_list_train_and_evaluate_it(tmp_path, capsys):
    assert main(["list", "methods"]) == 0
    assert "random-policy" in capsys.readouterr().out
    words = ["train", "maze/random", "--curiosity", "random-policy", "--env-steps", "512", "--log-every", "1"]
    assert main([*words, "--run-dir", str(tmp_path / "run")]) == 0
    config, state = evaluate.load(tmp_path / "run")
    assert evaluate.evaluate(config, state, 20).entropy == pytest.approx(math.log(5))


def test_a_study_takes_it_among_its_methods():
    study = Study("", "maze", ("random",), (("byol-hindsight", "random-policy"),), (0,))
    config = member_config(study, base_config(study, "laptop"), Member("random", "random-policy", 0))
    assert resolve(config.curiosity) == "random-policy"


def test_where_a_reward_is_needed_it_is_refused_in_one_line():
    with pytest.raises(UserError, match="curiosity random-policy: is a policy without a reward"):
        curiax.Curiosity("random-policy", curiax.Box((3,)), curiax.Discrete(2))
    with pytest.raises(UserError, match="--curiosity random-policy: is a policy without a reward"):
        diagnose.main(["maze/random", "--curiosity", "random-policy"], Console())
    with pytest.raises(UserError, match="representation random-policy: unknown"):
        resolve("random-policy+hindsight")


def test_actions_that_are_vectors_are_refused_in_one_line():
    with pytest.raises(UserError, match="the actions of gym/Pendulum-v1 are vectors"):
        initial_state(dataclasses.replace(HOST, env="gym/Pendulum-v1"))

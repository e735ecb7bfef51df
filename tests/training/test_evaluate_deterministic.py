"""The deterministic policy: what it does, and how it is evaluated, also while a run trains."""

import dataclasses
import json
import math

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from curiax.agent.distributions import SMALLEST_DEVIATION, distribution_for, mean_and_deviation
from curiax.agent.policy import greedy, make_agent
from curiax.commands.cli import main
from curiax.studies.base import Member
from curiax.studies.scores import read_columns, result, scores_of_run
from curiax.training import evaluate
from curiax.training.episodes import NUM_EPISODES, Episodes, evaluation
from curiax.training.run.metrics import read_metrics
from curiax.training.train import initial_state, train
from curiax.types import EnvSpec
from tests.support.tiny import TINY, acting, leaves

CONFIG = dataclasses.replace(TINY, curiosity="byol-explore", evaluate_every=4)
HOST = dataclasses.replace(CONFIG, env="gym/CartPole-v1", sync=True)
SPECS = {
    "numbers": EnvSpec("toy", (3,), 4, 100),
    "vectors": EnvSpec("toy", (3,), 2, 100, action_parts=()),
}

SCORES = scores_of_run("gym/CartPole-v1", evaluate_every=10)


def sampled(agent, spec, belief, key):
    distribution = distribution_for(spec)
    chance = distribution.draw(key, (len(belief), spec.num_actions))
    return distribution.sample(agent.policy(belief), chance)


@pytest.mark.parametrize("kind", SPECS)
def test_a_deterministic_policy_takes_the_mode_whatever_the_random_numbers(kind):
    spec, (key_agent, key_belief, *keys) = SPECS[kind], jax.random.split(jax.random.key(0), 4)
    agent = make_agent(TINY.network, spec, key_agent)
    belief = 100 * jax.random.normal(key_belief, (50, 8))
    outputs = agent.policy(belief)
    mode = jnp.argmax(outputs, axis=-1) if kind == "numbers" else mean_and_deviation(outputs)[0]
    atol = 0 if kind == "numbers" else 5 * SMALLEST_DEVIATION
    for key in keys:
        np.testing.assert_allclose(sampled(greedy(agent, spec), spec, belief, key), mode, atol=atol)
    assert np.any(np.abs(sampled(agent, spec, belief, keys[0]) - mode) > 0.1), "and a sample is another"


def test_of_equally_probable_actions_each_is_taken_as_often():
    state = acting(initial_state(CONFIG), 1, 1, 0, 0, 0)
    spec = EnvSpec("toy", (3,), 5, 100)
    taken = sampled(greedy(state.acting, spec), spec, jnp.ones((4000, 8)), jax.random.key(0))
    shares = np.bincount(np.asarray(taken), minlength=5) / 4000
    np.testing.assert_allclose(shares, [0.5, 0.5, 0, 0, 0], atol=0.05)


@pytest.mark.slow
def test_a_policy_that_nearly_always_stays_stays_always():
    """Logits 1, 0, 0, 0, 0: a sample stays in 40 % of the steps, the mode in all of them."""
    state = acting(initial_state(CONFIG), 1, 0, 0, 0, 0)
    spec = evaluate.envs.spec_of(CONFIG)
    dwell = [
        evaluate.evaluate(CONFIG, one, NUM_EPISODES).noise_dwell.mean()
        for one in (state, state._replace(acting=greedy(state.acting, spec)))
    ]
    assert dwell[0] == pytest.approx(math.e / (math.e + 4), abs=0.03) and dwell[1] == 1


@pytest.mark.slow
@pytest.mark.parametrize("config", [CONFIG, HOST], ids=["compiled", "host"])
def test_a_run_is_evaluated_every_so_many_updates_and_learns_the_same(config):
    rows = list(train(dataclasses.replace(config, env_steps=8 * 8)))
    plain = list(train(dataclasses.replace(config, env_steps=8 * 8, evaluate_every=0)))
    found = [row.metrics["evaluation/return"] for row in rows]
    assert np.isfinite(found).tolist() == [row.num_updates % 4 == 0 for row in rows]
    assert rows[0].metrics.keys() == rows[1].metrics.keys() and "evaluation/return" not in plain[0].metrics
    assert leaves(rows[-1].state) == leaves(plain[-1].state)
    if config is HOST:
        assert 5 < found[1] == rows[1].metrics["evaluation/length"] < 500  # CartPole pays 1 for each step
    else:
        assert rows[1].metrics["evaluation/length"] == 500 and 0 <= rows[1].metrics["evaluation/trackers"] <= 4


@pytest.mark.slow
def test_a_resumed_run_is_evaluated_on_the_same_episodes():
    rows = list(train(CONFIG))
    *_, last = train(CONFIG, rows[3].state)
    assert last.metrics["evaluation/noise_dwell"] == rows[-1].metrics["evaluation/noise_dwell"]
    assert rows[3].metrics["evaluation/noise_dwell"] != rows[-1].metrics["evaluation/noise_dwell"]


@pytest.mark.slow
def test_the_commands_train_with_evaluations_and_evaluate_the_deterministic_policy(tmp_path, capsys):
    run = tmp_path / "run"
    words = ["train", "gym/CartPole-v1", "--env-steps", "640", "--batch-size", "2", "--log-every", "1"]
    assert main([*words, "--unroll", "16", "--evaluate-every", "10", "--run-dir", str(run)]) == 0
    rows = read_metrics(run / "metrics.csv")
    assert [row["update"] for row in rows if np.isfinite(row["evaluation/return"])] == [10, 20]
    results = {}
    for name, more in {"sampled": [], "deterministic": ["--deterministic"]}.items():
        assert main(["evaluate", str(run), "--episodes", "10", "--json", str(tmp_path / name), *more]) == 0
        assert f"{name} policy" in capsys.readouterr().out
        results[name] = json.loads((tmp_path / name).read_text())
        assert results[name]["policy"] == name
    assert results["deterministic"]["means"]["entropy"]["mean"] < 1e-3 < results["sampled"]["means"]["entropy"]["mean"]
    found = result(Member("cartpole", "x", 0), read_columns(run / "metrics.csv"), SCORES)
    assert found.score == rows[-1]["evaluation/return"]


def test_what_is_reported_of_evaluations_is_the_mean_of_the_last_tenth():
    columns = {name: np.arange(1.0, 81.0) for name in ("update", "env_steps", "seconds", "return")}
    columns["evaluation/return"] = np.where(columns["update"] % 2 == 0, columns["update"], np.nan)  # 40 of them
    found = result(Member("x", "y", 0), columns, SCORES)
    assert found.score == np.mean([74, 76, 78, 80])
    none = {name: value for name, value in columns.items() if name != "evaluation/return"}
    assert math.isnan(result(Member("x", "y", 0), none, SCORES).score)


def test_an_evaluation_comes_with_the_next_row_of_metrics(monkeypatch):
    monkeypatch.setattr(
        "curiax.training.episodes.evaluate", lambda *_: Episodes({"return": np.ones(2)}, np.ones(2), np.ones(2))
    )
    config, state = dataclasses.replace(CONFIG, evaluate_every=5, log_every=2), initial_state(CONFIG)
    found = {updates: evaluation(config, state, updates)["evaluation/return"] for updates in range(2, 21, 2)}
    assert [updates for updates, value in found.items() if value == 1] == [6, 10, 16, 20]

"""The examples run as they stand."""

import importlib.util
from pathlib import Path

import numpy as np
import pytest

EXAMPLES = Path(__file__).parents[2] / "examples"


def load(name: str):
    spec = importlib.util.spec_from_file_location(name, EXAMPLES / f"{name}.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.slow
def test_ppo_in_one_file_explores_with_a_bonus(capsys):
    sizes = ["--num-envs=4", "--num-steps=8", "--num-rollouts=3", "--num-epochs=1", "--num-minibatches=2"]
    history = load("ppo_torch").main(["--env", "CartPole-v1", "--method", "icm", *sizes])
    assert len(history) == 3 and all(row["reward"] == 1.0 for row in history)  # CartPole pays each step
    assert all(np.isfinite(row["bonus"]) and row["bonus"] > 0 for row in history)
    assert capsys.readouterr().out.count("steps") == 3


def test_advantages_of_a_rollout_worked_by_hand():
    """Values are zero: a reward is discounted by γλ a step, and passes no episode's end."""
    ppo = load("ppo_torch")
    policy = ppo.Policy(1, 2)
    for parameter in policy.parameters():
        parameter.data.zero_()
    flags = np.zeros((4, 1), bool)
    terminated = flags.copy()
    terminated[1] = True
    obs = np.zeros((4, 1, 1), np.float32)
    reward = np.array([[1], [2], [3], [4]], np.float32)
    rollout = {"obs": obs, "next_obs": obs, "reward": reward, "terminated": terminated, "truncated": flags}
    advantage, target = ppo.advantages(policy, rollout, 0.5, 0.5)
    np.testing.assert_allclose(advantage[:, 0], [1.5, 2.0, 4.0, 4.0])
    np.testing.assert_allclose(target, advantage)


@pytest.mark.slow
@pytest.mark.parametrize("method", ["pixel+hindsight", "icm+hindsight", "byol-hindsight"])
def test_with_its_defaults_hindsight_pays_one_environment_for_what_it_can_learn_and_not_for_noise(method):
    """docs/one_env.md; the errors of predictions pay at most 1.6 times what they pay for noise."""
    cells = load("noisy_cells")
    assert cells.ratio(*cells.run(method, seed=0)) > 2


def test_the_ratio_of_the_noisy_cells_is_of_the_steps_after_the_start():
    cells = load("noisy_cells")
    rewards, noisy = np.array([9.0, 4.0, 2.0, 1.0, 1.0]), np.array([True, False, False, True, True])
    assert cells.ratio(rewards, noisy, start=1) == 3.0
    assert cells.ratio(np.array([1.0, 0.0]), np.array([False, True]), start=0) == float("inf")

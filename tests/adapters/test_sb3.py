"""Curiosity in Stable-Baselines3: where the bonus enters, what it is computed from, and that nothing else changes."""

import csv
import re

import gymnasium
import numpy as np
import pytest
import torch
from gymnasium import spaces
from sb3_contrib import RecurrentPPO
from stable_baselines3 import A2C, DQN, PPO
from stable_baselines3.common.callbacks import BaseCallback
from stable_baselines3.common.env_util import make_vec_env
from stable_baselines3.common.logger import configure

from curiax.errors import UserError
from curiax.sb3 import CuriosityCallback, callback, on_policy
from curiax.sb3.on_policy import divisors, fold, layout, unfold

T, B, GAMMA, LAMBDA = 12, 2, 0.9, 0.8
FINAL = 50.0  # of an episode that terminates; 60 of one that is truncated
SMALL = {"network.feature_hidden": (4,), "network.embedding": 4, "world.hidden": (4,), "network.channels": (2, 2)}
ALGORITHMS = {
    "ppo": (PPO, "MlpPolicy", {"batch_size": T * B, "n_epochs": 1}),
    "a2c": (A2C, "MlpPolicy", {}),
    "recurrent": (RecurrentPPO, "MlpLstmPolicy", {"batch_size": T * B, "n_epochs": 1}),
}


class Corridor(gymnasium.Env):
    """Counts its steps. Episodes terminate after three steps and are truncated after five, in turn."""

    action_space = spaces.Discrete(3)
    observation_space = spaces.Box(-1, 100, (2,), np.float32)

    def __init__(self):
        self.episode, self.age = -1, 0

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.episode, self.age = self.episode + 1, 0
        return self._observe(0.0), {}

    def step(self, action):
        self.age += 1
        terminated = self.episode % 2 == 0 and self.age == 3
        truncated = self.episode % 2 == 1 and self.age == 5
        obs = self._observe(FINAL if terminated else FINAL + 10 if truncated else float(self.age))
        return obs, float(action), terminated, truncated, {"noise": bool(action == 1)}

    def _observe(self, number):
        return np.array([number, self.episode], np.float32)


class Watch(BaseCallback):
    """What the policy will learn from."""

    def __init__(self):
        super().__init__()
        self.seen = []

    def _on_step(self):
        return True

    def _on_rollout_end(self):
        buffer = self.model.rollout_buffer
        names = ("rewards", "values", "advantages", "returns", "episode_starts", "observations", "actions")
        self.seen.append({name: getattr(buffer, name).copy() for name in names})


def make(algorithm="ppo", env=Corridor):
    kind, policy, settings = ALGORITHMS[algorithm]
    arch = {"net_arch": [8]} | ({"lstm_hidden_size": 4} if algorithm == "recurrent" else {})
    envs = make_vec_env(env, B, seed=0)
    settings = settings | {"n_steps": T, "gamma": GAMMA, "gae_lambda": LAMBDA, "seed": 0, "device": "cpu"}
    return kind(policy, envs, policy_kwargs=arch, **settings)


def curious(**settings):
    return CuriosityCallback("rnd", options=SMALL, **settings)


def weights(model):
    return torch.cat([parameter.detach().ravel() for parameter in model.policy.parameters()])


def trained(algorithm, callback):
    """Made and trained at once: SB3 seeds PyTorch when a model is made."""
    model = make(algorithm)
    model.learn(3 * T * B, callback=callback)
    return model


@pytest.mark.slow
@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_with_coefficient_zero_the_run_is_that_of_plain_sb3_to_the_bit_and_else_not(algorithm):
    plain, zero = trained(algorithm, None), trained(algorithm, curious(coefficient=0.0))
    assert torch.equal(weights(zero), weights(plain))
    assert zero.curiosity.num_updates == 9  # of every eighth transition
    assert not torch.equal(weights(trained(algorithm, curious(coefficient=1.0))), weights(plain))


@pytest.fixture(params=ALGORITHMS)
def paid(request, monkeypatch):
    """One rollout in which the bonus is known, under both rewards; and the rollouts that the curiosity was given."""
    bonus = np.random.default_rng(0).uniform(0, 1, (T, B)).astype(np.float32)
    given, seen = [], {}
    monkeypatch.setattr(on_policy, "pay_and_learn", lambda curiosity, rollout, _: (given.append(rollout), (bonus, {}))[1])
    for reward in ("mixed", "intrinsic"):
        model, watch = make(request.param), Watch()
        monkeypatch.setattr(model, "train", lambda: None)
        model.learn(T * B, callback=[curious(coefficient=0.5, reward=reward), watch])
        seen[reward] = watch.seen[0] | {"last": on_policy.last_values(model).numpy().ravel()}
    return request.param, model, bonus, given, seen


def test_returns_and_advantages_are_those_of_the_paid_rewards(paid):
    """Σ (γλ)^k δ over what is left of the episode; the last value is the policy's, where the episode goes on."""
    _, _, _, given, seen = paid
    for rollout, buffer in zip(given, seen.values(), strict=True):
        values = np.concatenate([buffer["values"], buffer["last"][None]])
        delta = buffer["rewards"] + GAMMA * values[1:] * ~rollout.ended - values[:-1]
        for step, env in np.ndindex(T, B):
            expected = 0.0
            for k in range(step, T):
                expected += (GAMMA * LAMBDA) ** (k - step) * delta[k, env]
                if rollout.ended[k, env]:
                    break
            np.testing.assert_allclose(buffer["advantages"][step, env], expected, rtol=1e-4, atol=1e-5)
        np.testing.assert_allclose(buffer["returns"], buffer["advantages"] + buffer["values"], rtol=1e-6)


def test_rewards_are_the_environments_and_the_bonus_or_the_bonus_alone_and_a_time_limit_keeps_its_value(paid):
    algorithm, model, bonus, given, seen = paid
    rollout = given[0]
    extrinsic = rollout.actions.astype(np.float32)
    truncated = rollout.next_obs[:, :, 0] == FINAL + 10
    assert truncated.sum() == 2 and (rollout.ended & ~truncated).sum() == 4
    with torch.no_grad():
        if algorithm == "recurrent":  # whose states have gone by: what is left is the same under both rewards
            value = (seen["intrinsic"]["rewards"] - 0.5 * bonus) / GAMMA
        else:
            value = model.policy.predict_values(torch.tensor(rollout.next_obs.reshape(-1, 2))).numpy().reshape(T, B)
    assert np.abs(value[truncated]).min() > 1e-4
    rest = GAMMA * value * truncated + 0.5 * bonus
    np.testing.assert_allclose(seen["intrinsic"]["rewards"], rest, rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(seen["mixed"]["rewards"], extrinsic + rest, rtol=1e-4, atol=1e-5)


def test_what_follows_the_last_step_of_an_episode_is_its_final_observation(paid):
    for rollout in paid[3]:
        now, then = rollout.obs, rollout.next_obs
        assert set(then[rollout.ended][:, 0]) == {FINAL, FINAL + 10}
        np.testing.assert_array_equal(then[~rollout.ended][:, 0], now[~rollout.ended][:, 0] + 1)
        np.testing.assert_array_equal(then[..., 1], now[..., 1])  # never of another episode
        assert rollout.actions.shape == (T, B)


@pytest.mark.slow
def test_the_curiosity_is_saved_and_loaded_with_the_model(tmp_path):
    model = make()
    model.learn(2 * T * B, callback=curious())
    model.save(tmp_path / "model")
    loaded = PPO.load(tmp_path / "model", env=make_vec_env(Corridor, B, seed=0))
    obs = np.ones((3, B, 2), np.float32)
    segment = (obs, np.zeros((3, B), int), 2 * obs, *np.zeros((2, 3, B), bool))
    np.testing.assert_array_equal(loaded.curiosity.reward(*segment), model.curiosity.reward(*segment))
    assert loaded.curiosity.update(*segment) == model.curiosity.update(*segment)
    loaded.learn(T * B, callback=curious())
    assert loaded.curiosity.num_updates == 10  # six before it was saved, one by hand, three now
    with pytest.raises(UserError, match="got icm, but the model has learned rnd"):
        loaded.learn(T * B, callback=CuriosityCallback("icm"))


def test_bonus_losses_and_noise_dwell_are_logged(tmp_path):
    model = make()
    model.set_logger(configure(str(tmp_path), ["csv"]))
    model.learn(2 * T * B, callback=curious())
    model.logger.close()
    with open(tmp_path / "progress.csv") as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == 2
    for row in rows:
        assert float(row["rollout/intrinsic_reward"]) > 0 and 0 < float(row["rollout/noise_dwell"]) < 1
        assert np.isfinite(float(row["curiosity/loss/distillation"])) and float(row["curiosity/error"]) > 0


def test_long_rollouts_are_cut_and_narrow_ones_folded_if_that_makes_sixteen_columns():
    assert layout((2048, 1), 1024, beliefs=False) == (2, 16)
    assert layout((2048, 1), 1024, beliefs=True) == (2, 16)
    assert layout((128, 1), 128, beliefs=True) == (1, 8)
    assert layout((128, 8), 1024, beliefs=False) == (1, 2)
    assert layout((128, 32), 1024, beliefs=False) == (4, 1)
    assert layout((5, 8), 1024, beliefs=False) == layout((32, 2), 1024, beliefs=True) == (1, 1)
    assert layout((32, 2), 1024, beliefs=False) == (1, 8)
    assert divisors(12) == [1, 2, 3, 4, 6, 12]


def test_folding_keeps_transitions_together_and_is_undone():
    x = np.arange(12 * 2).reshape(12, 2)
    folded = fold(x, 3)
    assert folded.shape == (4, 6)
    for column in folded.T:
        np.testing.assert_array_equal(np.diff(column), 2)  # a piece of one trajectory, in order
    np.testing.assert_array_equal(unfold(folded, 3), x)
    assert fold(np.zeros((12, 2, 5)), 3).shape == (4, 6, 5)

"""Curiosity in Stable-Baselines3: where the bonus enters, what it is computed from, and that nothing else changes."""

import csv

import numpy as np
import pytest
import torch
from sb3_contrib import ARS, RecurrentPPO
from stable_baselines3 import A2C, DQN, PPO
from stable_baselines3.common.callbacks import BaseCallback
from stable_baselines3.common.env_util import make_vec_env
from stable_baselines3.common.logger import configure

from curiax.errors import UserError
from curiax.sb3 import CuriosityCallback, on_policy
from curiax.sb3.on_policy import divisors, fold, layout, unfold
from tests.support.sb3_corridor import FINAL, SMALL, Corridor, Pictures, Slope, Symbols, Words, curious, record

T, B, GAMMA, LAMBDA = 12, 2, 0.9, 0.8
ALGORITHMS = {
    "ppo": (PPO, "MlpPolicy", {"batch_size": T * B, "n_epochs": 1}),
    "a2c": (A2C, "MlpPolicy", {}),
    "recurrent": (RecurrentPPO, "MlpLstmPolicy", {"batch_size": T * B, "n_epochs": 1}),
}


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
    assert zero.curiosity.num_updates == 3  # one of each rollout
    assert not torch.equal(weights(trained(algorithm, curious(coefficient=1.0))), weights(plain))


@pytest.fixture(params=ALGORITHMS)
def paid(request, monkeypatch):
    """One rollout in which the bonus is known, under both rewards; and the rollouts that the curiosity was given."""
    bonus = np.random.default_rng(0).uniform(0, 1, (T, B)).astype(np.float32)
    given, seen = [], {}
    monkeypatch.setattr(
        on_policy, "pay_and_learn", lambda curiosity, rollout, _: (given.append(rollout), (bonus, {}))[1]
    )
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
    assert loaded.curiosity.num_updates == 4  # two before it was saved, one by hand, one now
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
    assert layout((256, 1), 256, beliefs=True) == (1, 16)
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


def number_and_episode(obs):
    """What the corridor's observations say, in whichever form."""
    if obs.ndim == 4:
        return obs[:, 0, 0, 2].astype(float), obs[:, 0, 0, 1].astype(float)
    if obs.shape[-1] == 101:  # one-hot vectors of the episode, and of the number
        return obs[..., 40:].argmax(-1), obs[..., :40].argmax(-1)
    return obs[..., 40], obs[..., :40].argmax(-1)


@pytest.mark.slow
@pytest.mark.parametrize("kind", [PPO, DQN])
@pytest.mark.parametrize("env", [Pictures, Symbols, Words])
def test_observations_of_every_space_are_read_and_paired(kind, env):
    """Pictures channels last, integers as one-hot vectors, Dicts as one vector."""
    policy = "MultiInputPolicy" if env is Words else "MlpPolicy"
    settings = {"learning_starts": 20, "batch_size": 16} if kind is DQN else {"n_steps": T, "batch_size": T * B}
    model = kind(policy, make_vec_env(env, B, seed=0), seed=0, device="cpu", **settings)
    curiosity = record(model)
    model.learn(2 * T * B, callback=curious())
    for now, _, then in curiosity.given:
        (number, episode), (next_number, next_episode) = number_and_episode(now), number_and_episode(then)
        final = next_number >= FINAL
        assert final.any() and not final.all()
        np.testing.assert_array_equal(next_number[~final], number[~final] + 1)
        np.testing.assert_array_equal(next_episode, episode)


@pytest.mark.slow
def test_squashed_actions_are_given_as_the_environment_takes_them():
    settings = {"use_sde": True, "policy_kwargs": {"squash_output": True, "net_arch": [8]}, "seed": 0, "device": "cpu"}
    model = PPO("MlpPolicy", make_vec_env(Slope, B, seed=0), n_steps=T, batch_size=T * B, **settings)
    curiosity = record(model)
    model.learn(T * B, callback=curious(coefficient=1.0))
    ((_, actions, _),) = curiosity.given
    assert model.rollout_buffer.actions.max() <= 1 < actions.max() <= 6


@pytest.mark.slow
@pytest.mark.parametrize("method", ["rnd", "byol-hindsight"])
def test_one_environment_is_enough(method):
    model = A2C("MlpPolicy", Corridor(), n_steps=8, device="cpu")
    model.learn(32, callback=CuriosityCallback(method, options=SMALL))
    assert model.curiosity.num_updates == 4


@pytest.mark.slow
def test_auto_makes_the_bonus_a_share_of_the_return_and_goes_on_with_the_saved_means(tmp_path):
    model = make("a2c")
    record(model).factor = 5
    model.learn(3 * T * B, callback=curious(coefficient="auto", share=0.25))
    weight = model.curiosity_coefficient
    assert weight.value == pytest.approx(0.25 / 0.75 / 5) and weight.count == 3
    assert weight.extrinsic > 1.5  # the mean of returns, where rewards are 1 on average
    model.save(tmp_path / "model")
    loaded = A2C.load(tmp_path / "model", env=make_vec_env(Corridor, B, seed=0))
    assert loaded.curiosity_coefficient.value == weight.value
    loaded.learn(T * B, callback=curious(coefficient="auto", share=0.25))
    assert loaded.curiosity_coefficient.count == 4
    loaded.learn(T * B, callback=curious(coefficient=0.5))
    assert loaded.curiosity_coefficient.value == 0.5


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"reward": "extrinsic"}, "reward: got extrinsic, expected mixed or intrinsic"),
        ({"coefficient": -1.0}, "coefficient: got -1.0"),
        ({"coefficient": "auto", "share": 2.0}, "share: got 2.0"),
        ({"coefficient": "auto", "reward": "intrinsic"}, "coefficient: got 'auto', expected a number"),
        ({"transitions": 0}, "transitions: got 0"),
    ],
)
def test_a_wrong_setting_is_one_line(settings, words):
    with pytest.raises(UserError, match=words):
        curious(**settings)


def test_a_model_that_learns_otherwise_is_refused_in_one_line():
    with pytest.raises(UserError, match=r"^model: got ARS, expected a learner with a rollout or a replay buffer"):
        ARS("MlpPolicy", Corridor(), device="cpu").learn(1, callback=curious())

"""SAC, TD3, DQN and QR-DQN: the bonus of a sampled batch, and that nothing else changes."""

import csv
import pickle

import numpy as np
import pytest
import torch
from sb3_contrib import QRDQN, TQC, TRPO, CrossQ
from stable_baselines3 import DDPG, DQN, SAC, TD3, HerReplayBuffer
from stable_baselines3.common.buffers import ReplayBuffer
from stable_baselines3.common.callbacks import BaseCallback
from stable_baselines3.common.env_util import make_vec_env
from stable_baselines3.common.envs import BitFlippingEnv
from stable_baselines3.common.logger import configure
from stable_baselines3.common.noise import NormalActionNoise
from stable_baselines3.common.vec_env import VecNormalize

from curiax.errors import UserError
from curiax.sb3 import CuriosityCallback
from tests.support.sb3_corridor import FINAL, SMALL, Corridor, Slope, curious, record

BATCH = 32
LEARNERS = {"sac": (SAC, Slope), "td3": (TD3, Slope), "dqn": (DQN, Corridor), "qrdqn": (QRDQN, Corridor)}
WITHOUT_TIMEOUTS = {"handle_timeout_termination": False}
BUFFERS = {
    "plain": {},
    "without-timeouts": {"replay_buffer_kwargs": WITHOUT_TIMEOUTS},
    "optimised": {"replay_buffer_kwargs": WITHOUT_TIMEOUTS, "optimize_memory_usage": True},
    "three-steps": {"n_steps": 3, "gamma": 0.9},
}
FIELDS = ("observations", "actions", "next_observations", "dones")


def make(learner, env=None, wrap=lambda envs: envs, **settings):
    kind, world = LEARNERS[learner]
    envs = wrap(make_vec_env(env or world, 2, seed=0))
    small = {"policy_kwargs": {"net_arch": [8]}, "batch_size": BATCH, "seed": 0, "device": "cpu", "buffer_size": 40}
    return kind("MlpPolicy", envs, **small | {"learning_starts": 20, "train_freq": 1} | settings)


def filled(learner, num_steps=70, **settings):
    """A model whose buffer is full, and has begun anew."""
    model = make(learner, learning_starts=1_000, **settings)
    return model.learn(num_steps)


def sampled(model, **settings):
    """The same samples as the learner gets them with a bonus, and without."""
    callback = curious(**settings)
    callback.init_callback(model)
    callback.on_training_start({}, {})
    np.random.seed(1)
    paid = model.replay_buffer.sample(BATCH, env=model._vec_normalize_env)
    callback.on_training_end()
    np.random.seed(1)
    return paid, model.replay_buffer.sample(BATCH, env=model._vec_normalize_env)


def weights(model):
    return torch.cat([parameter.detach().ravel() for parameter in model.policy.parameters()])


def trained(learner, callback):
    return make(learner).learn(60, callback=callback)


@pytest.mark.slow
@pytest.mark.parametrize("learner", LEARNERS)
def test_with_coefficient_zero_the_run_is_that_of_plain_sb3_to_the_bit_and_else_not(learner):
    plain, zero = trained(learner, None), trained(learner, curious(coefficient=0.0))
    assert torch.equal(weights(zero), weights(plain))
    assert zero.curiosity.num_updates == zero._n_updates > 0
    assert not torch.equal(weights(trained(learner, curious(coefficient=1.0))), weights(plain))


@pytest.mark.parametrize("learner", ["sac", "dqn"])
@pytest.mark.parametrize("buffer", BUFFERS)
def test_the_bonus_is_discounted_summed_and_stopped_as_the_rewards_are(learner, buffer):
    model = filled(learner, **BUFFERS[buffer])
    record(model)  # its bonus is the action, and so is the reward
    paid, plain = sampled(model, coefficient=0.5)
    lost = plain.dones if buffer == "optimised" else torch.zeros_like(plain.dones)
    assert plain.rewards.abs().min() < 1 < plain.rewards.abs().max()
    torch.testing.assert_close(paid.rewards, plain.rewards * (1.5 - 0.5 * lost))
    for field in FIELDS:
        assert torch.equal(getattr(paid, field), getattr(plain, field))
    replaced, _ = sampled(model, coefficient=0.5, reward="intrinsic")
    torch.testing.assert_close(replaced.rewards, plain.rewards * (0.5 - 0.5 * lost))


@pytest.mark.parametrize("num_steps", [30, 70])
@pytest.mark.parametrize("buffer", BUFFERS)
def test_the_curiosity_is_given_what_followed_and_never_another_episode(buffer, num_steps):
    """Before the buffer is full, and after."""
    model = filled("dqn", num_steps, **BUFFERS[buffer])
    curiosity = record(model)
    sampled(model)
    ((now, action, then),) = curiosity.given
    fewest, most = {"optimised": (1, BATCH - 1), "three-steps": (BATCH + 1, 3 * BATCH - 1)}.get(buffer, (BATCH, BATCH))
    assert fewest <= len(now) == len(action) <= most
    np.testing.assert_array_equal(then[..., 1], now[..., 1])
    final = then[..., 0] >= FINAL
    np.testing.assert_array_equal(then[~final][:, 0], now[~final][:, 0] + 1)
    ages = {(FINAL, 2.0), (FINAL + 10, 4.0)} if buffer != "optimised" else set()
    assert set(zip(then[final][:, 0], now[final][:, 0], strict=True)) == ages


@pytest.mark.parametrize("buffer", ["plain", "three-steps"])
def test_with_vec_normalize_the_curiosity_sees_plain_observations_and_its_bonus_is_not_normalised(buffer):
    model = filled("sac", wrap=VecNormalize, **BUFFERS[buffer])
    curiosity = record(model)
    paid, plain = sampled(model, coefficient=1.0)
    np.random.seed(1)
    raw = model.replay_buffer.sample(BATCH)
    torch.testing.assert_close(paid.rewards - plain.rewards, raw.rewards, rtol=1e-4, atol=1e-5)
    assert not torch.allclose(plain.rewards, raw.rewards)
    ((now, action, _),) = curiosity.given
    np.testing.assert_array_equal(now, np.round(now))
    assert -2 <= action.min() < -1 and 1 < action.max() <= 6  # the environment's


@pytest.mark.slow
def test_the_bonus_is_of_the_newest_curiosity():
    model = filled("dqn")
    paid, plain = sampled(model)
    before = model.curiosity.metrics()
    for _ in range(100):
        again, _ = sampled(model)
    assert model.curiosity.num_updates == 101
    assert model.curiosity.metrics()["error"] < 0.5 * before["error"]
    assert not torch.equal(again.rewards, paid.rewards) and torch.equal(again.actions, plain.actions)


def test_a_small_batch_is_learned_from_by_way_of_the_replay():
    model = make("dqn", batch_size=4)
    model.learn(40, callback=curious())
    assert model.curiosity.num_updates == model._n_updates
    assert model.curiosity.metrics()["replay"] == 4 * model._n_updates


@pytest.mark.slow
@pytest.mark.parametrize("learner", ["sac", "dqn"])
def test_the_curiosity_and_the_means_of_its_coefficient_are_saved_with_the_model(learner, tmp_path):
    model = make(learner).learn(60, callback=curious(coefficient="auto"))
    model.save(tmp_path / "model")
    kind, env = LEARNERS[learner]
    loaded = kind.load(tmp_path / "model", env=make_vec_env(env, 2, seed=0))
    weight, updates = model.curiosity_coefficient, model.curiosity.num_updates
    assert loaded.curiosity_coefficient.value == weight.value != 1 and weight.count == updates
    assert loaded.curiosity.__getstate__() == model.curiosity.__getstate__()
    loaded.learn(60, callback=curious(coefficient="auto"))
    assert loaded.curiosity.num_updates == loaded.curiosity_coefficient.count > updates


class Keep(BaseCallback):
    """Saves the buffer in the middle, and may stop there."""

    def __init__(self, path, stop):
        super().__init__()
        self.path, self.stop = path, stop

    def _on_step(self):
        if self.num_timesteps == 40:
            self.model.save_replay_buffer(self.path)
            if self.stop:
                raise KeyboardInterrupt
        return True


def test_the_buffer_is_saved_plain_while_training_and_left_plain_after(tmp_path):
    model, path = make("dqn"), tmp_path / "buffer.pkl"
    model.learn(60, callback=[curious(), Keep(path, stop=False)])
    assert type(model.replay_buffer) is ReplayBuffer
    saved = pickle.loads(path.read_bytes())
    assert type(saved) is ReplayBuffer and saved.pos == 19 and b"curiax" not in path.read_bytes()
    model.load_replay_buffer(path)
    assert model.replay_buffer.pos == 19


def test_after_an_interrupt_the_buffer_is_saved_plain_and_the_bonus_is_paid_once(tmp_path):
    model, path = make("dqn"), tmp_path / "buffer.pkl"
    with pytest.raises(KeyboardInterrupt):
        model.learn(60, callback=[curious(), Keep(path, stop=True)])
    model.save_replay_buffer(path)
    assert type(pickle.loads(path.read_bytes())) is ReplayBuffer and isinstance(model.replay_buffer, ReplayBuffer)
    record(model)
    paid, plain = sampled(model, coefficient=1.0)
    torch.testing.assert_close(paid.rewards, 2 * plain.rewards)


def test_auto_makes_the_bonus_a_share_of_the_batch():
    model = filled("sac", **BUFFERS["three-steps"])
    record(model).factor = 5
    paid, plain = sampled(model, coefficient="auto", share=0.25)
    bonus, reward = (x.abs().mean() for x in (paid.rewards - plain.rewards, plain.rewards))
    assert bonus / (bonus + reward) == pytest.approx(0.25)


def test_bonus_coefficient_and_losses_are_logged(tmp_path):
    model = make("dqn")
    model.set_logger(configure(str(tmp_path), ["csv"]))
    model.learn(60, callback=curious(coefficient=0.3), log_interval=2)
    model.logger.close()
    with open(tmp_path / "progress.csv") as file:
        row = list(csv.DictReader(file))[-1]
    assert float(row["rollout/intrinsic_reward"]) > 0 and float(row["rollout/intrinsic_coefficient"]) == 0.3
    assert 0 < float(row["rollout/noise_dwell"]) < 1 and float(row["curiosity/loss/distillation"]) > 0


@pytest.mark.slow
def test_goals_that_are_relabelled_afterwards_are_read_too():
    settings = {"replay_buffer_class": HerReplayBuffer, "learning_starts": 20, "batch_size": BATCH}
    settings |= {"policy_kwargs": {"net_arch": [8]}, "device": "cpu"}
    model = DQN("MultiInputPolicy", BitFlippingEnv(n_bits=4), seed=0, **settings)
    model.learn(40, callback=curious())
    assert model.curiosity.num_updates == model._n_updates > 0


@pytest.mark.slow
@pytest.mark.parametrize("kind", [DDPG, TQC, CrossQ, TRPO])
def test_the_other_learners_of_both_kinds_get_their_bonus_too(kind):
    settings = {"n_steps": 16, "batch_size": BATCH} if kind is TRPO else {"learning_starts": 20, "batch_size": BATCH}
    small = {"policy_kwargs": {"net_arch": [8]}, "seed": 0, "device": "cpu"}
    model = kind("MlpPolicy", make_vec_env(Slope, 2, seed=0), **small | settings).learn(32, callback=curious())
    assert model.curiosity.num_updates > 0


def test_dora_is_refused_in_one_line():
    with pytest.raises(UserError, match=r"^dora: it learns from the next action, which sampled transitions lack"):
        make("dqn").learn(1, callback=CuriosityCallback("dora", options=SMALL))


class Shuffled(ReplayBuffer):
    """Draws in another way than SB3's buffer of n steps."""

    n_steps, gamma = 2, 0.9

    def sample(self, batch_size, env=None):
        return self._get_samples(np.random.permutation(self.size())[:batch_size], env)


def test_a_buffer_of_n_steps_that_draws_otherwise_is_refused_in_one_line():
    with pytest.raises(UserError, match="replay_buffer: got Shuffled, expected SB3's NStepReplayBuffer"):
        make("dqn", replay_buffer_class=Shuffled, batch_size=8).learn(60, callback=curious())


@pytest.mark.slow
def test_action_noise_and_several_gradient_steps_pass_through():
    noise = NormalActionNoise(np.zeros(1), np.ones(1))
    model = make("td3", action_noise=noise, gradient_steps=2)
    model.learn(40, callback=curious())
    assert model.curiosity.num_updates == model._n_updates > 0

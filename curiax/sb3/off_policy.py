"""Algorithms that learn from a replay buffer: SAC, TD3, DQN, and QR-DQN of sb3-contrib.

The bonus is computed when a batch is sampled, from the newest curiosity, and the curiosity then learns from the batch.
Nothing in the buffer changes.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import torch
from jaxtyping import Float, Int, Shaped

from curiax.errors import UserError
from curiax.sb3.reader import Reader


class PaidReplay:
    """A replay buffer whose samples are paid for. In all else it is the buffer itself, also when it is pickled."""

    __slots__ = ("_buffer", "_sample")

    def __init__(self, buffer: Any, sample: Callable[..., Any]):
        object.__setattr__(self, "_buffer", buffer)
        object.__setattr__(self, "_sample", sample)

    def sample(self, batch_size: int, env: Any = None) -> Any:
        return self._sample(self._buffer, batch_size, env)

    @property
    def __class__(self) -> type:
        return type(self._buffer)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._buffer, name)

    def __setattr__(self, name: str, value: Any) -> None:
        setattr(self._buffer, name, value)

    def __reduce_ex__(self, protocol: Any) -> Any:
        return self._buffer.__reduce_ex__(protocol)


class Transitions(NamedTuple):
    """The n transitions of each of B samples, unnormalised, and the weight that each has in the sample's reward."""

    obs: Shaped[np.ndarray, "n B *obs"]
    actions: Shaped[np.ndarray, "n B *action"]
    next_obs: Shaped[np.ndarray, "n B *obs"]
    weight: Float[np.ndarray, "n B"]  # 0 where there is no such transition


class OffPolicy:
    """Pays for each batch that is sampled."""

    def __init__(self, model: Any, reader: Reader, reward: str, log: Callable[..., None]):
        self._model, self._reader, self._log = model, reader, log
        self._replaces = reward == "intrinsic"

    def start(self) -> None:
        self.stop()  # the last call of `learn` may have been interrupted
        self._model.replay_buffer = PaidReplay(self._model.replay_buffer, self._sample)

    def stop(self) -> None:
        if type(self._model.replay_buffer) is PaidReplay:
            self._model.replay_buffer = self._model.replay_buffer._buffer

    def step(self, now: dict[str, Any]) -> None:
        """The buffer has all that is needed."""

    def rollout_end(self) -> None:
        """Nothing is learned from yet."""

    def _sample(self, buffer: Any, batch_size: int, env: Any) -> Any:
        samples, transitions = draw(self._reader, buffer, batch_size, env)
        bonus, metrics = pay_and_learn(self._model.curiosity, transitions)
        coefficient = self._model.curiosity_coefficient
        if coefficient.fixed is None:
            coefficient.see(samples.rewards.cpu().numpy().ravel(), bonus)
        self._log(bonus, metrics)
        paid = torch.from_numpy(bonus[:, None]).to(samples.rewards)
        extrinsic = torch.zeros_like(paid) if self._replaces else samples.rewards
        return samples._replace(rewards=extrinsic + coefficient.value * paid)


def draw(reader: Reader, buffer: Any, batch_size: int, env: Any) -> tuple[Any, Transitions]:
    """Samples of the buffer, as the learner takes them, and the transitions that they are made of.

    `env` is SB3's VecNormalize, or None.
    """
    state = np.random.get_state()
    samples = found = buffer.sample(batch_size, env=env)
    if getattr(buffer, "n_steps", 1) > 1:
        return samples, many_steps(reader, buffer, *drawn(buffer, samples, state))
    if env is not None:
        np.random.set_state(state)
        found = buffer.sample(batch_size)  # the same transitions, as they are
    return samples, one_step(reader, found, getattr(buffer, "optimize_memory_usage", False))


def one_step(reader: Reader, samples: Any, optimised: bool) -> Transitions:
    """The sampled transitions. An optimised buffer has overwritten an episode's final observation with the first of the
    next one, so the last transition is none."""
    shape = 1, len(samples.actions)
    lost = samples.dones.cpu().numpy().reshape(shape) if optimised else np.zeros(shape)
    obs, next_obs = (reader.obs(x, shape) for x in (samples.observations, samples.next_observations))
    return Transitions(obs, reader.actions(samples.actions, shape), next_obs, 1.0 - lost)


def many_steps(reader: Reader, buffer: Any, start: Int[np.ndarray, " B"], env: Int[np.ndarray, " B"]) -> Transitions:
    """The transitions of n-step samples, with weights γᵏ until an episode ends or the newest transition is reached."""
    steps = np.arange(buffer.n_steps)[:, None]
    index = (start + steps) % buffer.buffer_size
    newest = index == (buffer.pos - 1) % buffer.buffer_size
    last = (buffer.dones[index, env] > 0) | (buffer.timeouts[index, env] > 0) | newest
    goes_on = np.cumsum(last, axis=0) - last == 0
    return Transitions(
        obs=reader.obs(buffer.observations[index, env], index.shape),
        actions=reader.actions(buffer.actions[index, env], index.shape),
        next_obs=reader.obs(buffer.next_observations[index, env], index.shape),
        weight=goes_on * buffer.gamma**steps,
    )


def drawn(buffer: Any, samples: Any, state: Any) -> tuple[Int[np.ndarray, " B"], Int[np.ndarray, " B"]]:
    """The steps and environments of samples of SB3's NStepReplayBuffer: it draws them first, from NumPy's `state`."""
    rng = np.random.RandomState()
    rng.set_state(state)
    batch_size = len(samples.actions)
    index, env = rng.randint(0, buffer.size(), batch_size), rng.randint(0, buffer.n_envs, batch_size)
    if not np.array_equal(buffer.actions[index, env], samples.actions.cpu().numpy()):
        raise UserError(f"replay_buffer: got {type(buffer).__name__}, expected SB3's NStepReplayBuffer for n steps")
    return index, env


def pay_and_learn(curiosity: Any, transitions: Transitions) -> tuple[Float[np.ndarray, " B"], dict[str, float]]:
    """The bonus of each sample, a weighted sum over its steps, and metrics. The curiosity then learns from the first
    steps. Every transition is a trajectory of its own: there is no history to a sample."""
    shape = transitions.weight.shape
    never, valid = np.zeros(shape, bool), transitions.weight > 0
    arrays = [x.reshape(1, -1, *x.shape[2:]) for x in (*transitions[:3], never, never, valid)]
    curiosity.reset()
    bonus = curiosity.reward(*arrays).reshape(shape)
    metrics = curiosity.update(*(x[:, : shape[1]] for x in arrays))
    return np.sum(transitions.weight * bonus, axis=0).astype(np.float32), metrics

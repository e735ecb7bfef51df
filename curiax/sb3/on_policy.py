"""Algorithms that learn from a rollout: PPO, A2C, and RecurrentPPO of sb3-contrib.

They compute returns and advantages before a callback sees the rollout. So the bonus is added to the rewards in the
buffer, and both are computed again.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import torch
from jaxtyping import Bool, Float, Shaped
from stable_baselines3.common.utils import obs_as_tensor

from curiax.dropin import Curiosity
from curiax.dropin.coefficient import Returns
from curiax.dropin.settings import COLUMNS
from curiax.sb3.reader import Reader

MIN_STEPS = 4  # of a folded trajectory
MIN_BELIEF_STEPS = 16  # the same for methods with beliefs, which restart in every piece


class Ending(NamedTuple):
    """Where an episode ended, and its final observation."""

    step: int
    env: int
    obs: Any


class Rollout(NamedTuple):
    """The arrays that `Curiosity` takes."""

    obs: Shaped[np.ndarray, "T B *obs"]
    actions: Shaped[np.ndarray, "T B *action"]
    next_obs: Shaped[np.ndarray, "T B *obs"]
    ended: Bool[np.ndarray, "T B"]


class OnPolicy:
    """Pays for each rollout."""

    def __init__(self, model: Any, reader: Reader, reward: str, transitions: int, log: Callable[..., None]):
        self._model, self._reader, self._transitions, self._log = model, reader, transitions, log
        self._replaces = reward == "intrinsic"

    def start(self) -> None:
        if np.all(self._model._last_episode_starts):
            self._model.curiosity.reset()
        self._returns = Returns(self._model.gamma), Returns(self._model.gamma)
        self._clear()

    def _clear(self) -> None:
        self._endings: list[Ending] = []
        self._extrinsic: list[np.ndarray] = []

    def step(self, now: dict[str, Any]) -> None:
        """Records what the buffer lacks: final observations, and rewards without the value SB3 adds at time limits."""
        step = self._model.rollout_buffer.pos
        for i in np.flatnonzero(now["dones"]):
            self._endings.append(Ending(step, int(i), now["infos"][i]["terminal_observation"]))
        self._extrinsic.append(np.array(now["rewards"], np.float32))

    def rollout_end(self) -> None:
        model, buffer = self._model, self._model.rollout_buffer
        rollout = read_rollout(self._reader, buffer, model._last_obs, model._last_episode_starts, self._endings)
        extrinsic = np.stack(self._extrinsic)
        self._clear()
        bonus, metrics = pay_and_learn(model.curiosity, rollout, self._transitions)
        if model.curiosity_coefficient.fixed is None:
            streams = zip(self._returns, (extrinsic, bonus), strict=True)
            model.curiosity_coefficient.see(*(returns.add(x, rollout.ended) for returns, x in streams))
        if self._replaces:
            buffer.rewards -= extrinsic
        buffer.rewards += np.float32(model.curiosity_coefficient.value) * bonus
        buffer.compute_returns_and_advantage(last_values(model), model._last_episode_starts)
        self._log(bonus, metrics)

    def stop(self) -> None:
        """Nothing is left to undo."""


def read_rollout(reader: Reader, buffer: Any, new_obs: Any, dones: np.ndarray, endings: list[Ending]) -> Rollout:
    """The rollout in a full buffer; `new_obs` and `dones` are those after its last step.

    next_obs[t] is obs[t + 1], except where an episode ends: there obs[t + 1] belongs to the next episode.
    """
    shape = buffer.rewards.shape
    obs = reader.obs(buffer.observations, shape)
    next_obs = np.concatenate([obs[1:], reader.obs(new_obs, shape[1:])[None]])
    for step, env, final in endings:
        next_obs[step, env] = reader.obs(final, ())
    ended = np.concatenate([buffer.episode_starts[1:], dones[None]]).astype(bool)
    return Rollout(obs, reader.actions(buffer.actions, shape), next_obs, ended)


def pay_and_learn(
    curiosity: Curiosity, rollout: Rollout, transitions: int
) -> tuple[Float[np.ndarray, "T B"], dict[str, float]]:
    """The bonus [T, B] and mean metrics. Each segment is rewarded first, then learned from."""
    shape = rollout.ended.shape
    num_segments, num_folds = layout(shape, transitions, curiosity.has_beliefs)
    paid, learned = [], []
    for part in np.split(np.arange(shape[0]), num_segments):
        if num_folds > 1:
            curiosity.reset()  # columns of successive segments are not consecutive
        obs, actions, next_obs, ended = (fold(x[part], num_folds) for x in rollout)
        arrays = (obs, actions, next_obs, ended, np.zeros_like(ended))  # how an episode ends does not matter here
        paid.append(unfold(curiosity.reward(*arrays), num_folds))
        learned.append(curiosity.update(*arrays))
    return np.concatenate(paid), {name: float(np.mean([m[name] for m in learned])) for name in learned[0]}


def layout(shape: tuple[int, int], transitions: int, beliefs: bool) -> tuple[int, int]:
    """Number of segments for T steps of B environments, and number of folds of each segment.

    Folding cuts trajectories into pieces, so that there are 16 and the segment is one gradient step. A segment that is
    too short stays as it is, and `Curiosity` learns from its replay, with more and smaller steps.
    """
    num_steps, num_envs = shape
    cuts = [n for n in divisors(num_steps) if num_steps // n * num_envs >= transitions]
    num_segments = max(cuts, default=1)
    length, shortest = num_steps // num_segments, MIN_BELIEF_STEPS if beliefs else MIN_STEPS
    folds = (n for n in divisors(length) if n * num_envs >= COLUMNS and length // n >= shortest)
    return num_segments, next(folds, 1)


def divisors(number: int) -> list[int]:
    return [n for n in range(1, number + 1) if number % n == 0]


def fold(x: Shaped[np.ndarray, "T B *any"], num_folds: int) -> np.ndarray:
    """[T, B] → [T/n, n·B]: each trajectory is cut into n pieces, which become columns."""
    pieces = x.reshape(num_folds, -1, *x.shape[1:]).swapaxes(0, 1)
    return pieces.reshape(pieces.shape[0], -1, *x.shape[2:])


def unfold(x: Shaped[np.ndarray, "T B"], num_folds: int) -> np.ndarray:
    """The inverse of `fold`."""
    pieces = x.reshape(x.shape[0], num_folds, -1).swapaxes(0, 1)
    return pieces.reshape(-1, pieces.shape[2])


def last_values(model: Any) -> torch.Tensor:
    """Values of the observations after the rollout, as the algorithm itself computes them."""
    with torch.no_grad():
        obs = obs_as_tensor(model._last_obs, model.device)
        states = getattr(model, "_last_lstm_states", None)
        if states is None:
            return model.policy.predict_values(obs)
        starts = torch.tensor(model._last_episode_starts, dtype=torch.float32, device=model.device)
        return model.policy.predict_values(obs, states.vf, starts)

"""Curiosity for PPO and A2C of Stable-Baselines3, and RecurrentPPO of sb3-contrib. Needs the extra `gym`.

These algorithms compute returns and advantages before a callback sees the rollout. So the callback adds the bonus to
the rewards in the buffer and computes both again.
"""

from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Bool, Float, Shaped

from curiax.curiosity import uses_hindsight
from curiax.dropin import Curiosity
from curiax.envs import spaces
from curiax.errors import UserError, not_installed

try:
    import torch
    from gymnasium.spaces import Box
    from stable_baselines3.common.callbacks import BaseCallback
    from stable_baselines3.common.on_policy_algorithm import OnPolicyAlgorithm
    from stable_baselines3.common.preprocessing import is_image_space, is_image_space_channels_first
    from stable_baselines3.common.utils import obs_as_tensor
except ImportError as error:
    raise not_installed("Stable-Baselines3", "gym") from error

COLUMNS = 16  # trajectories wanted; rollouts of fewer environments are folded
MIN_STEPS = 4  # of a folded trajectory
MIN_BELIEF_STEPS = 16  # the same for methods with beliefs, which restart in every piece


class CuriosityCallback(BaseCallback):
    """Adds curiosity to `model.learn(..., callback=...)`: see docs/sb3.md.

    The curiosity is `model.curiosity`, and is saved and loaded with the model.
    """

    model: OnPolicyAlgorithm

    def __init__(
        self,
        method: str = "icm+hindsight",
        *,
        coefficient: float = 0.2,
        reward: str = "mixed",
        transitions: int = 1024,
        verbose: int = 0,
        **settings: Any,
    ):
        """method: one of `curiax list methods`.

        coefficient: weight of the bonus, whose standard deviation is about 1.
        reward: "mixed" adds the bonus to the environment's reward, "intrinsic" replaces it.
        transitions: long rollouts are split into gradient steps of at least this many transitions.
        settings: arguments of curiax.Curiosity, such as seed, learning_rate and options.
        """
        super().__init__(verbose)
        if reward not in ("mixed", "intrinsic"):
            raise UserError(f"reward: got {reward}, expected mixed or intrinsic")
        if not (np.isfinite(coefficient) and coefficient >= 0):
            raise UserError(f"coefficient: got {coefficient}, expected at least 0")
        if transitions < 1:
            raise UserError(f"transitions: got {transitions}, expected at least 1")
        self._method, self._settings = method, settings
        self._coefficient, self._reward, self._transitions = coefficient, reward, transitions
        self._endings: list[Ending] = []
        self._extrinsic: list[np.ndarray] = []
        self._dwell: list[float] = []

    def _init_callback(self) -> None:
        if not isinstance(self.model, OnPolicyAlgorithm):
            raise UserError(f"model: got {type(self.model).__name__}, expected PPO, A2C or RecurrentPPO")
        known: Curiosity | None = getattr(self.model, "curiosity", None)
        if known is None:
            known = Curiosity(self._method, picture_space(self.model), self.model.action_space, **self._settings)
        elif known.name != self._method:
            raise UserError(
                f"method: got {self._method}, but the model has learned {known.name}; `del model.curiosity` starts anew"
            )
        shape = (self.model.n_steps, self.model.n_envs)
        num_columns = layout(shape, self._transitions, known.has_beliefs)[1] * shape[1]
        if num_columns < 2 and uses_hindsight(known.name):
            raise UserError(f"{known.name}: got 1 environment, expected at least 2: it contrasts trajectories")
        self.model.curiosity = known  # pyright: ignore[reportAttributeAccessIssue] — SB3 saves attributes of the model

    def _on_training_start(self) -> None:
        if np.all(self.model._last_episode_starts):
            self.model.curiosity.reset()  # pyright: ignore[reportAttributeAccessIssue]

    def _on_rollout_start(self) -> None:
        self._endings, self._extrinsic, self._dwell = [], [], []

    def _on_step(self) -> bool:
        """Records what the buffer lacks: final observations, and rewards without the value SB3 adds at time limits."""
        step, infos = self.model.rollout_buffer.pos, self.locals["infos"]
        for i in np.flatnonzero(self.locals["dones"]):
            self._endings.append(Ending(step, int(i), infos[i]["terminal_observation"]))
        if self._reward == "intrinsic":
            self._extrinsic.append(np.array(self.locals["rewards"], np.float32))
        if "noise" in infos[0]:
            self._dwell.append(float(np.mean([info["noise"] for info in infos])))
        return True

    def _on_rollout_end(self) -> None:
        model: Any = self.model
        buffer = model.rollout_buffer
        rollout = read(buffer, model._last_obs, model._last_episode_starts, self._endings)
        if channels_first(model):
            rollout = rollout._replace(obs=last(rollout.obs), next_obs=last(rollout.next_obs))
        rollout = rollout._replace(actions=rollout.actions.reshape(*rollout.ended.shape, *model.action_space.shape))
        bonus, metrics = pay_and_learn(model.curiosity, rollout, self._transitions)
        if self._reward == "intrinsic":
            buffer.rewards -= np.stack(self._extrinsic)
        buffer.rewards += np.float32(self._coefficient) * bonus
        buffer.compute_returns_and_advantage(last_values(model), model._last_episode_starts)
        self.logger.record("rollout/intrinsic_reward", float(bonus.mean()))
        if self._dwell:
            self.logger.record("rollout/noise_dwell", float(np.mean(self._dwell)))
        for name, value in metrics.items():
            self.logger.record(f"curiosity/{name}", value)


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


def read(buffer: Any, new_obs: np.ndarray, dones: np.ndarray, endings: list[Ending]) -> Rollout:
    """The rollout in a full buffer; `new_obs` and `dones` are those after its last step.

    next_obs[t] is obs[t + 1], except where an episode ends: there obs[t + 1] belongs to the next episode.
    """
    next_obs = np.concatenate([buffer.observations[1:], new_obs[None]])
    for step, env, obs in endings:
        next_obs[step, env] = obs
    ended = np.concatenate([buffer.episode_starts[1:], dones[None]]).astype(bool)
    return Rollout(buffer.observations, buffer.actions, next_obs, ended)


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

    Folding cuts a trajectory into pieces, which hindsight contrasts as separate trajectories.
    """
    num_steps, num_envs = shape
    cuts = [n for n in divisors(num_steps) if num_steps // n * num_envs >= transitions]
    num_segments = max(cuts, default=1)
    length, shortest = num_steps // num_segments, MIN_BELIEF_STEPS if beliefs else MIN_STEPS
    folds = [n for n in divisors(length) if n == 1 or length // n >= shortest]
    return num_segments, next((n for n in folds if n * num_envs >= COLUMNS), folds[-1])


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


def channels_first(model: Any) -> bool:
    """Whether SB3 has transposed images to [C, H, W] for PyTorch."""
    space = model.observation_space
    return is_image_space(space) and is_image_space_channels_first(space)


def last(x: Shaped[np.ndarray, "T B C H W"]) -> np.ndarray:
    return np.moveaxis(x, 2, -1)


def picture_space(model: Any) -> spaces.Box:
    """The model's observation space, channels last."""
    space = model.observation_space
    if not isinstance(space, Box):
        raise UserError(f"observation_space: got {space}, expected a Box")
    shape = (*space.shape[1:], space.shape[0]) if channels_first(model) else space.shape
    return spaces.Box(shape, space.dtype, np.min(space.low), np.max(space.high))

"""The callback, for every algorithm that learns from a rollout or from a replay buffer."""

from typing import Any

import numpy as np
from jaxtyping import Float
from stable_baselines3.common.callbacks import BaseCallback
from stable_baselines3.common.off_policy_algorithm import OffPolicyAlgorithm
from stable_baselines3.common.on_policy_algorithm import OnPolicyAlgorithm

from curiax.dropin import Curiosity
from curiax.dropin.coefficient import SHARE, Coefficient
from curiax.errors import UserError
from curiax.sb3.off_policy import OffPolicy
from curiax.sb3.on_policy import OnPolicy
from curiax.sb3.reader import Reader


class CuriosityCallback(BaseCallback):
    """Adds curiosity to `model.learn(..., callback=...)`: see docs/sb3.md.

    The curiosity is `model.curiosity`, and is saved and loaded with the model.
    """

    def __init__(
        self,
        method: str = "icm+hindsight",
        *,
        coefficient: float | str = 0.2,
        share: float = SHARE,
        reward: str = "mixed",
        transitions: int = 1024,
        verbose: int = 0,
        **settings: Any,
    ):
        """method: one of `curiax list methods`.

        coefficient: weight of the bonus, whose standard deviation is about 1; "auto": so that the bonus is a `share` of
        the return.
        reward: "mixed" adds the bonus to the environment's reward, "intrinsic" replaces it.
        transitions: long rollouts are split into gradient steps of at least this many transitions.
        settings: arguments of curiax.Curiosity, such as seed, learning_rate and options.
        """
        super().__init__(verbose)
        if reward not in ("mixed", "intrinsic"):
            raise UserError(f"reward: got {reward}, expected mixed or intrinsic")
        if transitions < 1:
            raise UserError(f"transitions: got {transitions}, expected at least 1")
        if Coefficient(coefficient, share).fixed is None and reward == "intrinsic":
            raise UserError("coefficient: got 'auto', expected a number: an intrinsic reward has no share")
        self._method, self._settings = method, settings
        self._weight, self._reward, self._transitions = (coefficient, share), reward, transitions

    def _init_callback(self) -> None:
        model: Any = self.model
        reader = Reader(model)
        self._payer = self._payer_of(model, reader)
        known: Curiosity | None = getattr(model, "curiosity", None)
        coefficient = Coefficient(*self._weight)
        if known is None:
            settings: dict[str, Any] = {"observation_scale": reader.scale} | self._settings
            known = Curiosity(self._method, reader.observation_space, reader.action_space, **settings)
        elif known.name != self._method:
            raise UserError(
                f"method: got {self._method}, but the model has learned {known.name}; `del model.curiosity` starts anew"
            )
        else:
            resume(coefficient, getattr(model, "curiosity_coefficient", coefficient))
        model.curiosity, model.curiosity_coefficient = known, coefficient  # SB3 saves attributes of the model

    def _payer_of(self, model: Any, reader: Reader) -> OnPolicy | OffPolicy:
        if isinstance(model, OnPolicyAlgorithm):
            return OnPolicy(model, reader, self._reward, self._transitions, self._log)
        if not isinstance(model, OffPolicyAlgorithm):
            expected = "a learner with a rollout or a replay buffer, such as PPO, A2C, SAC, TD3 or DQN"
            raise UserError(f"model: got {type(model).__name__}, expected {expected}")
        if self._method == "dora":
            raise UserError("dora: it learns from the next action, which sampled transitions lack; rnd needs none")
        return OffPolicy(model, reader, self._reward, self._log)

    def _on_training_start(self) -> None:
        self._payer.start()

    def _on_step(self) -> bool:
        self._payer.step(self.locals)
        infos = self.locals["infos"]
        if "noise" in infos[0]:
            self.logger.record_mean("rollout/noise_dwell", float(np.mean([info["noise"] for info in infos])))
        return True

    def _on_rollout_end(self) -> None:
        self._payer.rollout_end()

    def _on_training_end(self) -> None:
        self._payer.stop()

    def _log(self, bonus: Float[np.ndarray, "*any"], metrics: dict[str, float]) -> None:
        """Means of these are logged with SB3's metrics."""
        model: Any = self.model
        self.logger.record_mean("rollout/intrinsic_reward", float(bonus.mean()))
        self.logger.record_mean("rollout/intrinsic_coefficient", model.curiosity_coefficient.value)
        for name, value in metrics.items():
            self.logger.record_mean(f"curiosity/{name}", value)


def resume(new: Coefficient, old: Coefficient) -> None:
    """Goes on with the running means of an earlier call of `learn`."""
    new.count, new.extrinsic, new.intrinsic = old.count, old.extrinsic, old.intrinsic

"""Curiosity for any library that steps Gymnasium's vector environments: see docs/wrapper.md.

What is a transition depends on how an ended environment is reset. In mode NEXT_STEP its next step is only the reset,
which is paid nothing and not learned from. In SAME_STEP its final observation is in `infos`. In DISABLED the caller
resets it.
"""

import io
import os
from pathlib import Path
from typing import Any

import numpy as np
from gymnasium.vector import AutoresetMode, VectorEnv, VectorWrapper
from jaxtyping import Bool, Float, Shaped

from curiax.dropin import Curiosity
from curiax.dropin.coefficient import SHARE, Coefficient, Returns
from curiax.dropin.files import read_saved
from curiax.envs.gymnasium import kinds_of
from curiax.envs.gymnasium_observations import read, read_space
from curiax.envs.spaces import Box
from curiax.errors import UserError
from curiax.training.run.outputs import writing_file

MEMORY = 0.9999  # of the running means of "auto", per step


class CuriosityReward(VectorWrapper):
    """A vector environment whose rewards include a bonus, by a curiosity that learns as the environments are stepped.

    `infos` has "extrinsic_reward", "intrinsic_reward" and "intrinsic_coefficient", arrays [B]. `curiosity` is the
    `curiax.Curiosity`, `coefficient.value` the weight of the bonus now.
    """

    def __init__(
        self,
        env: Any,
        method: str = "icm+hindsight",
        coefficient: Any = 0.2,
        *,
        reward: str = "mixed",
        share: float = SHARE,
        discount: float = 0.99,
        kinds: int | None = None,
        **settings: Any,
    ):
        """method: one of `curiax list methods`.

        coefficient: weight of the bonus, whose standard deviation is about 1. "auto" keeps the bonus at `share` of the
        return with this discount.
        reward: "mixed" adds the bonus to the environment's reward, "intrinsic" replaces it.
        kinds: integers in observations are categories below this number; 11 by default for MiniGrid and BabyAI, else 0.
        settings: arguments of curiax.Curiosity, such as seed, learning_rate and options.
        """
        require_vector(env)
        super().__init__(env)
        if reward not in ("mixed", "intrinsic"):
            raise UserError(f"reward: got {reward}, expected mixed or intrinsic")
        if not 0 <= discount < 1:
            raise UserError(f"discount: got {discount}, expected at least 0 and below 1")
        self.coefficient = Coefficient(coefficient, share, MEMORY)
        self._mixed = reward == "mixed"
        self._mode = AutoresetMode(env.metadata.get("autoreset_mode", AutoresetMode.NEXT_STEP))
        if kinds is None:
            kinds = 0 if env.spec is None else kinds_of(env.spec.id)
        self._reading = read_space(env.single_observation_space, kinds)
        space = Box(self._reading.shape, self._reading.dtype.name)
        settings = {"observation_scale": self._reading.scale} | settings
        self.curiosity = Curiosity(method, space, env.single_action_space, **settings)
        self._obs: np.ndarray | None = None
        self._resets = np.zeros(env.num_envs, bool)  # where the next step is only a reset
        self._extrinsic, self._intrinsic = Returns(discount), Returns(discount)

    def reset(self, *, seed: Any = None, options: dict[str, Any] | None = None) -> tuple[Any, dict[str, Any]]:
        """Starts new episodes, of all environments or of those in options["reset_mask"]."""
        mask = None if options is None else options.get("reset_mask")
        obs, infos = self.env.reset(seed=seed, options=options and dict(options))  # Gymnasium takes the mask out of it
        self._obs = self._read(obs)
        self.curiosity.reset(mask)
        begun = np.ones(self.num_envs, bool) if mask is None else mask
        self._resets = self._resets & ~begun
        self._extrinsic.cut(begun)
        self._intrinsic.cut(begun)
        return obs, infos

    def step(self, actions: Any) -> tuple[Any, Any, Any, Any, dict[str, Any]]:
        """A step of all environments. Where it is only a reset, the bonus is 0."""
        if self._obs is None:
            raise UserError("step: got actions before the first reset")
        obs, reward, terminated, truncated, infos = self.env.step(actions)
        ended = np.asarray(terminated, bool) | np.asarray(truncated, bool)
        now, valid = self._read(obs), ~self._resets
        next_obs = self._final(now, ended, infos) if self._mode == AutoresetMode.SAME_STEP else now
        bonus = self.curiosity.observe(self._obs, actions, next_obs, terminated, truncated, valid).astype(np.float64)
        self._obs = now
        self._resets = ended & (self._mode == AutoresetMode.NEXT_STEP)
        extrinsic = np.asarray(reward, np.float64)
        self._weigh(extrinsic, bonus, ended, valid)
        found = {
            "extrinsic_reward": extrinsic,
            "intrinsic_reward": bonus,
            "intrinsic_coefficient": np.full(self.num_envs, self.coefficient.value),
        }
        mixed = (extrinsic if self._mixed else 0.0) + self.coefficient.value * bonus
        return obs, mixed, terminated, truncated, infos | found | {f"_{name}": valid for name in found}

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes the curiosity and the running means of its coefficient to one file."""
        content = io.BytesIO()
        means = [self.coefficient.count, self.coefficient.extrinsic, self.coefficient.intrinsic]
        np.savez(content, curiosity=np.frombuffer(self.curiosity.__getstate__(), np.uint8), means=means)
        with writing_file("path", Path(path)) as file:
            file.write_bytes(content.getvalue())

    def load(self, path: str | os.PathLike[str]) -> None:
        """Reads a file that `save` wrote. The curiosity has the file's settings."""
        curiosity, (count, extrinsic, intrinsic) = read_saved(path, from_bytes)
        if curiosity.name != self.curiosity.name:
            raise UserError(f"path: got {path} with {curiosity.name}, expected {self.curiosity.name}, the method here")
        self.curiosity = curiosity
        self.coefficient.count = int(count)
        self.coefficient.extrinsic, self.coefficient.intrinsic = float(extrinsic), float(intrinsic)

    def _read(self, obs: Any) -> Shaped[np.ndarray, "B *obs"]:
        try:
            return read(self._reading, obs, (self.num_envs,))
        except ValueError as error:  # its words are "its observation has shape …"
            raise UserError(f"env: {error}") from None

    def _final(self, now: Shaped[np.ndarray, "B *obs"], ended: Bool[np.ndarray, " B"], infos: dict[str, Any]) -> Any:
        """What followed each action, where `now` may be the first observation of the next episode."""
        if not ended.any():
            return now
        if "final_obs" not in infos:
            raise UserError("env: its autoreset mode is same-step, but infos has no final_obs where an episode ended")
        seen = now.copy()
        for which in np.flatnonzero(ended):
            seen[which] = read(self._reading, infos["final_obs"][which])
        return seen

    def _weigh(
        self,
        extrinsic: Float[np.ndarray, " B"],
        bonus: Float[np.ndarray, " B"],
        ended: Bool[np.ndarray, " B"],
        valid: Bool[np.ndarray, " B"],
    ) -> None:
        """Updates the coefficient with the returns after this step."""
        pairs = ((self._extrinsic, extrinsic), (self._intrinsic, bonus))
        found = [returns.add(reward[None], ended[None])[0, valid] for returns, reward in pairs]
        if valid.any():
            self.coefficient.see(*found)


def require_vector(env: Any) -> None:
    if not isinstance(env, VectorEnv):
        how = "gymnasium.make_vec(ID, 8), or gymnasium.vector.SyncVectorEnv([lambda: env])"
        raise UserError(f"env: got {type(env).__name__}, expected a vector environment: {how}")


def from_bytes(content: bytes) -> tuple[Curiosity, Float[np.ndarray, "3"]]:
    """The inverse of what `save` writes."""
    with np.load(io.BytesIO(content), allow_pickle=False) as file:
        curiosity = object.__new__(Curiosity)
        curiosity.__setstate__(file["curiosity"].tobytes())
        return curiosity, file["means"]

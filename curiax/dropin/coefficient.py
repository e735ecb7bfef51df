"""The weight of the bonus beside the environment's reward."""

from typing import Any

import numpy as np
from jaxtyping import Bool, Float

from curiax.errors import UserError

SHARE = 0.1  # of the return that is intrinsic, with "auto"
MEMORY = 0.99  # of the running means, per call of `see`, if each call is a rollout


class Coefficient:
    """A number, or "auto": c such that c·I is a stated share of E + c·I,

    c = share/(1 − share) · E/I,

    where E and I are running means of the absolute discounted returns of the environment's rewards and of the bonus.
    While no reward has been seen, c is 1: the bonus is then all there is.
    """

    __slots__ = ("count", "extrinsic", "fixed", "intrinsic", "memory", "share")

    def __init__(self, value: Any = "auto", share: float = SHARE, memory: float = MEMORY):
        automatic = str(value) == "auto"
        if not automatic and not (is_number(value) and np.isfinite(value) and value >= 0):
            raise UserError(f"coefficient: got {value!r}, expected a number of at least 0, or 'auto'")
        if not (is_number(share) and 0 < share < 1):
            raise UserError(f"share: got {share!r}, expected a number between 0 and 1")
        self.fixed = None if automatic else float(value)
        self.share, self.memory = float(share), memory
        self.count, self.extrinsic, self.intrinsic = 0, 0.0, 0.0

    def see(self, extrinsic: Float[np.ndarray, "*any"], intrinsic: Float[np.ndarray, "*any"]) -> None:
        """Updates the running means with returns of both streams."""
        self.count += 1
        step = max(1 - self.memory, 1 / self.count)
        self.extrinsic += step * (float(np.mean(np.abs(extrinsic))) - self.extrinsic)
        self.intrinsic += step * (float(np.mean(np.abs(intrinsic))) - self.intrinsic)

    @property
    def value(self) -> float:
        """The weight of the bonus now."""
        if self.fixed is not None:
            return self.fixed
        if not (self.extrinsic > 0 and self.intrinsic > 0):
            return 1.0
        return self.share / (1 - self.share) * self.extrinsic / self.intrinsic


class Returns:
    """The discounted sum of past rewards of B environments, F ← r + γ F, which starts anew with every episode. Its mean
    over time is that of the discounted return."""

    __slots__ = ("discount", "sums")

    def __init__(self, discount: float):
        self.discount, self.sums = discount, np.zeros(0)

    def add(self, reward: Float[np.ndarray, "T B"], ended: Bool[np.ndarray, "T B"]) -> Float[np.ndarray, "T B"]:
        """The sums after each of T steps."""
        if len(self.sums) != reward.shape[1]:
            self.sums = np.zeros(reward.shape[1])
        found = np.empty(reward.shape)
        for step, (now, last) in enumerate(zip(reward, ended, strict=True)):
            found[step] = now + self.discount * self.sums
            self.sums = np.where(last, 0.0, found[step])
        return found

    def cut(self, which: Bool[np.ndarray, " B"]) -> None:
        """Begins new episodes in these environments."""
        if len(self.sums) == len(which):
            self.sums = np.where(which, 0.0, self.sums)


def is_number(x: Any) -> bool:
    return isinstance(x, int | float | np.number) and not isinstance(x, bool)

"""A bounded replay of the last transitions, from which a stream of few trajectories is learned."""

from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Bool, Float, Shaped

from curiax.envs.spaces import Segment

NEWEST = 4  # a quarter of the pieces, at most, are of the newest transitions


class Rows(NamedTuple):
    """T transitions of B trajectories, each with the recurrent state before it."""

    obs: Shaped[np.ndarray, "T B *obs"]
    action: Shaped[np.ndarray, "T B *action"]
    next_obs: Shaped[np.ndarray, "T B *obs"]
    ended: Bool[np.ndarray, "T B"]
    valid: Bool[np.ndarray, "T B"]
    belief: Float[np.ndarray, "T B D"]
    previous_action: Shaped[np.ndarray, "T B *action"]
    first: Bool[np.ndarray, "T B"]  # obs is the first of an episode


class Pieces(NamedTuple):
    """K pieces of L successive transitions, and the recurrent state before each piece."""

    segment: Segment  # [L, K, ...]
    belief: Float[np.ndarray, "K D"]
    previous_action: Shaped[np.ndarray, "K *action"]
    first: Bool[np.ndarray, " K"]


class Replay:
    """The last steps of B trajectories, as rings."""

    __slots__ = ("count", "rows")

    def __init__(self, rows: Rows, count: int = 0):
        """rows: [capacity, B, ...]. count: the number of steps ever added."""
        self.rows, self.count = rows, count

    @classmethod
    def like(cls, rows: Rows, capacity: int) -> "Replay":
        """An empty replay for rows of these shapes, of `capacity` transitions in all."""
        num_steps = max(1, capacity // rows.ended.shape[1])
        return cls(Rows(*(np.zeros((num_steps, *x.shape[1:]), x.dtype) for x in rows)))

    @property
    def num_steps(self) -> int:
        """The number of steps held."""
        return min(self.count, len(self.rows.ended))

    @property
    def num_bytes(self) -> int:
        return sum(x.nbytes for x in self.rows)

    def add(self, rows: Rows) -> None:
        """Appends steps; the oldest give way."""
        capacity = len(self.rows.ended)
        index = (self.count + np.arange(len(rows.ended))) % capacity
        for ring, new in zip(self.rows, rows, strict=True):
            ring[index[-capacity:]] = new[-capacity:]
        self.count += len(rows.ended)

    def cut(self, which: Bool[np.ndarray, " B"]) -> None:
        """Ends the episodes of these trajectories with the last step."""
        if self.count:
            self.rows.ended[(self.count - 1) % len(self.rows.ended)] |= which

    def sample(self, rng: np.random.Generator, length: int, number: int, num_new: int) -> Pieces:
        """Pieces from random places. Some are the newest, since the last `num_new` steps were never learned from."""
        size, capacity, num_envs = self.num_steps, *self.rows.ended.shape
        last = max(size - length, 0)
        start, env = rng.integers(0, last + 1, number), rng.integers(0, num_envs, number)
        newest = min(num_new, last + 1, number // NEWEST)
        start[:newest] = last - np.arange(newest)
        oldest = self.count - size
        none = np.flatnonzero(~self.rows.valid[(oldest + start) % capacity, env])
        if len(none):  # they begin with no transition: others take their place
            others = np.argwhere(self.rows.valid[(oldest + np.arange(size)) % capacity])
            step, env[none] = rng.choice(others, len(none)).T
            start[none] = np.minimum(step, last)
        steps = np.minimum(start + np.arange(length)[:, None], size - 1)
        index = (oldest + steps) % capacity
        segment = Segment(*(getattr(self.rows, name)[index, env] for name in Segment._fields))
        return Pieces(segment, *(getattr(self.rows, name)[index[0], env] for name in Pieces._fields[1:]))


def rows_of(segment: Segment, beliefs: Any, previous_action: Any, first: Any) -> Rows:
    """The rows of a segment. `beliefs` [T, B, D] are those before each step; the others are those before the first."""
    ended, action = np.asarray(segment.ended), np.asarray(segment.action)
    previous = np.concatenate([np.asarray(previous_action, action.dtype)[None], action[:-1]])
    firsts = np.concatenate([np.asarray(first)[None], ended[:-1]])
    obs, next_obs = np.asarray(segment.obs), np.asarray(segment.next_obs)
    return Rows(obs, action, next_obs, ended, np.asarray(segment.valid), np.asarray(beliefs), previous, firsts)

"""Reads observations of any Gymnasium space as one array of numbers.

A Box stays as it is. If a Dict or Tuple has an image large enough for convolutions, only the image is read; otherwise
all numbers are concatenated into a vector. Discrete values become one-hot. Text and other non-numbers are dropped.
"""

import math
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from gymnasium import spaces

from curiax.envs.spaces import NARROW, is_image, read_observation_space
from curiax.errors import UserError


class Part(NamedTuple):
    """One array of an observation."""

    path: tuple[Any, ...]  # of keys, into Dicts and Tuples
    shape: tuple[int, ...]  # as the environment gives it
    dtype: np.dtype  # in which it is kept
    kinds: tuple[int, ...] = ()  # number of categories of each value, which becomes one-hot; () for quantities
    start: tuple[int, ...] = ()  # lowest category of each value
    scale: float = 1.0  # divides it, to bring values to size 1

    @property
    def name(self) -> str:
        return ".".join(map(str, self.path)) or "observation"

    @property
    def size(self) -> int:
        return sum(self.kinds) if self.kinds else math.prod(self.shape)


class Reading(NamedTuple):
    """Which parts of an observation are read, and the array that they become."""

    parts: tuple[Part, ...]
    dropped: tuple[str, ...]  # names of the other parts
    shape: tuple[int, ...]  # of the array
    dtype: np.dtype
    scale: float


def read_space(space: Any, kinds: int = 0) -> Reading:
    """How observations of a space are read; with `kinds`, integers are categories below that number."""
    found = list(leaves(space))
    parts = [part for path, leaf in found if (part := read_leaf(path, leaf, kinds)) is not None]
    images = [part for part in parts if not part.kinds and is_image(part.shape)]
    parts = images[:1] or parts
    if not parts:
        raise UserError(f"observation_space: got {space}, in which there are no numbers")
    taken = {part.path for part in parts}
    dropped = tuple(".".join(map(str, path)) for path, _ in found if path not in taken)
    if len(parts) == 1 and not parts[0].kinds:
        return Reading(tuple(parts), dropped, parts[0].shape, parts[0].dtype, parts[0].scale)
    bytes_alone = all(part.dtype == np.uint8 and part.scale == 1 for part in parts)
    size = sum(part.size for part in parts)
    return Reading(tuple(parts), dropped, (size,), np.dtype(np.uint8 if bytes_alone else np.float32), 1.0)


def leaves(space: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[tuple[Any, ...], Any]]:
    """The leaves of nested Dicts and Tuples, with their paths."""
    if isinstance(space, spaces.Dict | spaces.Tuple):
        inner = space.spaces.items() if isinstance(space, spaces.Dict) else enumerate(space.spaces)
        for key, value in inner:
            yield from leaves(value, (*path, key))
    else:
        yield path, space


def read_leaf(path: tuple[Any, ...], space: Any, kinds: int) -> Part | None:
    """How a leaf is read; None if it is not numeric."""
    byte = np.dtype(np.uint8)
    if isinstance(space, spaces.Discrete):
        return Part(path, (), byte, (int(space.n),), (int(space.start),))
    if isinstance(space, spaces.MultiDiscrete):
        start = np.broadcast_to(space.start, space.shape).ravel().tolist()
        return Part(path, space.shape, byte, tuple(map(int, space.nvec.ravel())), tuple(start))
    if isinstance(space, spaces.MultiBinary):
        return Part(path, tuple(space.shape), byte)
    if not isinstance(space, spaces.Box):
        return None
    if kinds and np.dtype(space.dtype).kind in "iu":
        count = math.prod(space.shape)
        return Part(path, space.shape, byte, (kinds,) * count, (0,) * count)
    read = read_observation_space(space, None)
    return Part(path, read.shape, np.dtype(read.dtype if read.dtype in NARROW else np.float32), (), (), read.scale)


def pick(reading: Reading, obs: Any) -> Any:
    """The parts of one observation that are read, unprocessed: an array, or arrays by name."""
    if not reading.parts[0].path:
        return array_of(reading.parts[0], obs)
    return {part.name: array_of(part, obs) for part in reading.parts}


def picked(reading: Reading, space: Any) -> tuple[Reading, Any]:
    """How to read what `pick` returns, and its space."""
    if not reading.parts[0].path:
        return reading, space
    inner = {part.name: follow(part.path, space) for part in reading.parts}
    parts = tuple(part._replace(path=(part.name,)) for part in reading.parts)
    return reading._replace(parts=parts), spaces.Dict(inner)


def array_of(part: Part, obs: Any, leading: tuple[int, ...] = ()) -> np.ndarray:
    x = np.asarray(follow(part.path, obs))
    if x.shape != leading + part.shape:
        raise ValueError(f"its {part.name} has shape {x.shape[len(leading) :]}, where its space says {part.shape}")
    return x


def follow(path: tuple[Any, ...], tree: Any) -> Any:
    for key in path:
        tree = tree[key]
    return tree


def read(reading: Reading, obs: Any, leading: tuple[int, ...] = ()) -> np.ndarray:
    """An observation, or a batch of them, as one new array."""
    arrays = []
    for part in reading.parts:
        x = array_of(part, obs, leading).reshape(*leading, -1)
        if part.kinds:
            x = one_hot(part, x)
        elif len(reading.parts) > 1 and part.scale != 1:
            x = x / part.scale
        arrays.append(x.astype(reading.dtype))
    whole = arrays[0] if len(arrays) == 1 else np.concatenate(arrays, axis=-1)
    return whole.reshape(*leading, *reading.shape)


def one_hot(part: Part, x: np.ndarray) -> np.ndarray:
    """The one-hot vectors of all values, concatenated."""
    kinds = np.array(part.kinds)
    index = x.reshape(-1, len(kinds)).astype(np.int64) - np.array(part.start)
    if index.min() < 0 or np.any(index >= kinds):
        raise ValueError(f"its {part.name} has a category that is not one of {max(part.kinds)}")
    rows = np.zeros((len(index), part.size), np.uint8)
    rows[np.arange(len(index))[:, None], index + (np.cumsum(kinds) - kinds)] = 1
    return rows.reshape(*x.shape[:-1], part.size)

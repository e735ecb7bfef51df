"""Observation and action spaces, and checks of the arrays that belong to them.

Any object with the attributes of Gymnasium's Box, Discrete or MultiDiscrete will do. The classes here need no
Gymnasium.
"""

import math
from typing import Any, NamedTuple

import numpy as np

from curiax.errors import UserError

NARROW = ("uint8", "int8", "bool")  # kept until a network reads them; other dtypes become float32
SMALLEST_IMAGE = 16  # pixels along the shorter side; smaller observations are read as vectors


class Box(NamedTuple):
    """Arrays of numbers."""

    shape: tuple[int, ...]
    dtype: Any = "float32"
    low: Any = -math.inf
    high: Any = math.inf


class Discrete(NamedTuple):
    """The integers start, …, start + n − 1."""

    n: int
    start: int = 0


class MultiDiscrete(NamedTuple):
    """Several integers, the i-th from 0 to nvec[i] − 1."""

    nvec: tuple[int, ...]


class Observations(NamedTuple):
    """A parsed observation space."""

    shape: tuple[int, ...]
    dtype: str
    scale: float  # divides observations, to bring values to size 1


class Actions(NamedTuple):
    """A parsed action space. `parts` and `width` are `action_parts` and `num_actions` of an EnvSpec."""

    shape: tuple[int, ...]
    parts: tuple[int, ...] | None
    width: int
    start: tuple[int, ...] = ()  # the lowest of discrete actions
    low: tuple[float, ...] = ()  # of continuous ones
    high: tuple[float, ...] = ()


class Segment(NamedTuple):
    """T transitions of B trajectories, checked: numpy arrays, or JAX arrays inside a compiled function."""

    obs: Any  # [T, B, ...]
    action: Any  # [T, B] or [T, B, width]
    next_obs: Any  # [T, B, ...]
    ended: Any  # [T, B]


def read_observation_space(space: Any, scale: float | None) -> Observations:
    """The parsed space. By default the scale is the largest bound of integers, and 1 for floats."""
    if getattr(space, "shape", None) is None or getattr(space, "dtype", None) is None:
        raise UserError(f"observation_space: got {space!r}, expected a Box: an object with shape, dtype, low and high")
    shape, dtype = tuple(int(length) for length in space.shape), np.dtype(space.dtype)
    if dtype.kind not in "fiub" or not all(length > 0 for length in shape):
        raise UserError(f"observation_space: got shape {shape} of {dtype}, expected numbers, at least one")
    if len(shape) == 3 and shape[0] < 16 <= min(shape[1:]):
        raise UserError(f"observation_space: got images of shape {shape}, expected channels last, [H, W, C]")
    if scale is None:
        bounds = np.abs(np.array([np.min(space.low), np.max(space.high)], float))
        scale = float(bounds.max()) if dtype.kind in "iu" and np.isfinite(bounds).all() else 1.0
    if not (math.isfinite(scale) and scale > 0):
        raise UserError(f"observation_scale: got {scale}, expected a number above 0")
    return Observations(shape, dtype.name, scale)


def is_image(shape: tuple[int, ...]) -> bool:
    """Whether the shape is [H, W] or [H, W, C], large enough for convolutions."""
    return len(shape) in (2, 3) and min(shape[:2]) >= SMALLEST_IMAGE


def read_action_space(space: Any) -> Actions:
    shape = getattr(space, "shape", ()) or ()
    if hasattr(space, "nvec"):
        nvec = np.asarray(space.nvec)
        parts = tuple(int(n) for n in nvec.ravel())
        start = np.broadcast_to(getattr(space, "start", 0), nvec.shape).ravel()
        if parts and min(parts) >= 1:
            return Actions(nvec.shape, parts, sum(parts), tuple(int(s) for s in start))
    elif hasattr(space, "n") and not shape:
        if int(space.n) >= 1:
            return Actions((), None, int(space.n), (int(getattr(space, "start", 0)),))
    elif hasattr(space, "low") and hasattr(space, "high") and np.dtype(space.dtype).kind == "f":
        low, high = (np.broadcast_to(np.asarray(x, float), shape).ravel() for x in (space.low, space.high))
        if low.size and np.all(low < high):
            return Actions(tuple(shape), (), low.size, (), tuple(low.tolist()), tuple(high.tolist()))
    raise UserError(f"action_space: got {space!r}, expected Discrete, MultiDiscrete or a Box of floats, none empty")


def check_segment(
    observations: Observations, actions: Actions, obs: Any, action: Any, next_obs: Any, terminated: Any, truncated: Any
) -> Segment:
    """The arrays of a call, checked and converted. Raises a UserError with the argument, what it got and expected."""
    obs = check_observations("obs", observations, obs, None)
    leading = obs.shape[:2]
    return Segment(
        obs=obs,
        action=check_actions(actions, action, leading),
        next_obs=check_observations("next_obs", observations, next_obs, leading),
        ended=check_flags("terminated", terminated, leading) | check_flags("truncated", truncated, leading),
    )


def check_observations(name: str, space: Observations, x: Any, leading: tuple[int, ...] | None) -> np.ndarray:
    x = as_array(name, x)
    fits = x.ndim == 2 + len(space.shape) and x.shape[2:] == space.shape and min(x.shape[:2]) > 0
    if not fits or (leading is not None and x.shape[:2] != leading):
        raise wrong_shape(name, x, space.shape, leading)
    expected = np.dtype(space.dtype)
    if x.dtype != expected and not (x.dtype.kind == "f" and expected.kind == "f"):
        raise UserError(f"{name}: got {x.dtype}, expected {'floats' if expected.kind == 'f' else expected}")
    x = x if space.dtype in NARROW else np.asarray(x, np.float32)
    require_finite(name, x)
    return x


def check_actions(space: Actions, x: Any, leading: tuple[int, ...]) -> np.ndarray:
    """Actions as integers from 0, or as vectors: concatenated one-hot parts, or real numbers clipped to their bounds
    and scaled to ±1."""
    x = as_array("actions", x)
    if x.shape != leading + space.shape:
        raise wrong_shape("actions", x, space.shape, leading)
    if space.parts == ():
        if x.dtype.kind not in "fiu":
            raise UserError(f"actions: got {x.dtype}, expected numbers")
        require_finite("actions", x)
        return to_unit(space, x.reshape(*leading, -1).astype(np.float32))
    if x.dtype.kind not in "iu":
        raise UserError(f"actions: got {x.dtype}, expected integers")
    sizes = (space.width,) if space.parts is None else space.parts
    index = x.reshape(*leading, -1).astype(np.int64) - np.array(space.start)
    for part, size in enumerate(sizes):
        bad = (index[..., part] < 0) | (index[..., part] >= size)
        if bad.any():
            step, trajectory = first_index(bad)
            low = space.start[part]
            got = f"got {index[step, trajectory, part] + low} at step {step}, trajectory {trajectory}"
            raise UserError(f"actions: {got}, expected {low} to {low + size - 1}")
    if space.parts is None:
        return index[..., 0].astype(np.int32)
    one_hot = [np.eye(size, dtype=np.float32)[index[..., part]] for part, size in enumerate(sizes)]
    return np.concatenate(one_hot, axis=-1)


def check_flags(name: str, x: Any, leading: tuple[int, ...]) -> np.ndarray:
    x = as_array(name, x)
    if x.shape != leading:
        raise wrong_shape(name, x, (), leading)
    if x.dtype.kind not in "biuf" or not np.all((x == 0) | (x == 1)):
        raise UserError(f"{name}: got {x.dtype} {'values' if x.dtype.kind in 'iuf' else ''}, expected true or false")
    return x.astype(bool)


def to_unit(space: Actions, x: np.ndarray) -> np.ndarray:
    """Scales coordinates with two bounds to ±1; others stay as they are."""
    centre, half = unit(space)
    return ((np.clip(x, space.low, space.high) - centre) / half).astype(np.float32)


def from_unit(space: Actions, x: np.ndarray) -> np.ndarray:
    """The inverse of `to_unit`, clipped to the bounds."""
    centre, half = unit(space)
    return np.clip(centre + half * x, space.low, space.high).astype(np.float32)


def unit(space: Actions) -> tuple[np.ndarray, np.ndarray]:
    """Centre and half-width of each coordinate that has two bounds; 0 and 1 for the others."""
    low, high = np.array(space.low), np.array(space.high)
    bounded = np.isfinite(low) & np.isfinite(high)
    low, high = np.where(bounded, low, -1), np.where(bounded, high, 1)
    return (low + high) / 2, (high - low) / 2


def as_array(name: str, x: Any) -> np.ndarray:
    try:
        return np.asarray(x)
    except ValueError:
        raise UserError(f"{name}: got rows of unequal length, expected an array") from None


def require_finite(name: str, x: np.ndarray) -> None:
    bad = ~np.isfinite(x)
    if bad.any():
        where = first_index(bad)
        raise UserError(f"{name}: got {x[where]} at step {where[0]}, trajectory {where[1]}, expected finite numbers")


def first_index(bad: np.ndarray) -> tuple[int, ...]:
    return tuple(int(i) for i in np.argwhere(bad)[0])


def wrong_shape(name: str, x: np.ndarray, shape: tuple[int, ...], leading: tuple[int, ...] | None) -> UserError:
    expected = [*(("T", "B") if leading is None else leading), *shape]
    because = "" if leading is None else ", as obs has [T, B] = [{}, {}]".format(*leading)
    return UserError(f"{name}: got shape {list(x.shape)}, expected [{', '.join(map(str, expected))}]{because}")

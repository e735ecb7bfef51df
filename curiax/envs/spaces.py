"""Observation and action spaces as a caller describes them, and the check of the arrays that come from them.

Whatever has the attributes of Gymnasium's Box, Discrete and MultiDiscrete will do; those below are for who has none.
"""

import math
from typing import Any, NamedTuple

import numpy as np

from curiax.errors import UserError

NARROW = ("uint8", "int8", "bool")  # kept as they are until a network reads them; all else is made float32
SMALLEST_IMAGE = 16  # pixels along the shorter side; what is smaller is read as a vector


class Box(NamedTuple):
    """Arrays of numbers."""

    shape: tuple[int, ...]
    dtype: Any = "float32"
    low: Any = -math.inf
    high: Any = math.inf


class Discrete(NamedTuple):
    """start, …, start + n − 1."""

    n: int
    start: int = 0


class MultiDiscrete(NamedTuple):
    """Several numbers, each from 0 to one less than its entry in `nvec`."""

    nvec: tuple[int, ...]


class Observations(NamedTuple):
    """An observation space, read."""

    shape: tuple[int, ...]
    dtype: str
    scale: float  # what divides observations to make their numbers of size 1


class Actions(NamedTuple):
    """An action space, read. `parts` and `width` are `action_parts` and `num_actions` of an EnvSpec."""

    shape: tuple[int, ...]
    parts: tuple[int, ...] | None
    width: int
    start: tuple[int, ...] = ()  # the lowest of discrete actions
    low: tuple[float, ...] = ()  # of continuous ones
    high: tuple[float, ...] = ()


class Segment(NamedTuple):
    """T steps of B trajectories in pairs of observations, checked."""

    obs: Any  # [T, B, ...], as are all; arrays of numpy outside a compiled program, of JAX inside
    action: Any  # [T, B] or [T, B, width]
    next_obs: Any
    ended: Any  # [T, B]


def read_observation_space(space: Any, scale: float | None) -> Observations:
    """Integers are divided by their largest bound, unless `scale` says otherwise; floats are taken as they are."""
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
    """[H, W] or [H, W, C], large enough for convolutions to pay."""
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
    """The arrays of a call, ready for a device; or one line that names the argument, what was got and expected."""
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
    """Numbers from 0, or vectors: one-hot parts side by side, or reals clipped to their bounds, as an environment does,
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
    """A coordinate with two bounds goes to ±1; one without stays as it is."""
    centre, half = unit(space)
    return ((np.clip(x, space.low, space.high) - centre) / half).astype(np.float32)


def from_unit(space: Actions, x: np.ndarray) -> np.ndarray:
    """The inverse, clipped to the bounds."""
    centre, half = unit(space)
    return np.clip(centre + half * x, space.low, space.high).astype(np.float32)


def unit(space: Actions) -> tuple[np.ndarray, np.ndarray]:
    """Centre and half the width of each coordinate that has two bounds; 0 and 1 of the others."""
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

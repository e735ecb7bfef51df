"""Observation and action spaces, and checks of the arrays that belong to them.

Any object with the attributes of Gymnasium's Box, Discrete, MultiDiscrete or MultiBinary will do. The classes here need
no Gymnasium.
"""

import contextlib
import math
from collections.abc import Iterator
from numbers import Real
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

    shape: tuple[int, ...]  # as the networks read it
    dtype: str
    scale: float  # divides observations, to bring values to size 1
    categories: tuple[Any, ...] | None = None  # `Categories`, if they are integers that become one-hot


class Categories(NamedTuple):
    """The integers of a Discrete or MultiDiscrete space: value i is one of sizes[i], the lowest is start[i]."""

    shape: tuple[int, ...]  # as the caller gives them
    sizes: tuple[int, ...]
    start: tuple[int, ...]


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
    valid: Any  # [T, B] false where a step is no transition; it then counts as ended


def read_observation_space(space: Any, scale: float | None) -> Observations:
    """The parsed space. By default the scale is the largest bound of integers, and 1 for floats and one-hot vectors."""
    if scale is not None and not (isinstance(scale, Real) and math.isfinite(scale) and scale > 0):
        raise UserError(f"observation_scale: got {scale!r}, expected a number above 0")
    expected = "a Box with a shape such as (4,), Discrete, MultiDiscrete or MultiBinary"
    with one_clear_line("observation_space", space, expected):
        return _observations(space, scale)


def _observations(space: Any, scale: float | None) -> Observations:
    categories = read_categories(space)
    if categories is not None:
        return Observations((sum(categories.sizes),), "uint8", scale or 1.0, categories)
    shape, dtype = tuple(int(length) for length in space.shape), np.dtype(space.dtype)
    if dtype.kind not in "fiub" or not all(length > 0 for length in shape):
        raise UserError(f"observation_space: got shape {shape} of {dtype}, expected numbers, at least one")
    if len(shape) == 3 and shape[0] < 16 <= min(shape[1:]):
        raise UserError(f"observation_space: got images of shape {shape}, expected channels last, [H, W, C]")
    if scale is None and hasattr(space, "n"):  # MultiBinary
        scale = 1.0
    if scale is None:
        bounds = np.abs(np.array([np.min(space.low), np.max(space.high)], float))
        scale = float(bounds.max() or 1) if dtype.kind in "iu" and np.isfinite(bounds).all() else 1.0
    return Observations(shape, dtype.name, float(scale))


def read_categories(space: Any) -> Categories | None:
    """The integers of a Discrete or MultiDiscrete space; None for other spaces."""
    if hasattr(space, "nvec"):
        sizes = np.asarray(space.nvec)
    elif hasattr(space, "n") and not getattr(space, "shape", ()):
        sizes = np.asarray(space.n)
    else:
        return None
    start = np.broadcast_to(getattr(space, "start", 0), sizes.shape).ravel()
    if sizes.dtype.kind not in "iu" or not sizes.size or sizes.min() < 1:
        raise ValueError("not integers, or none")
    return Categories(sizes.shape, tuple(int(n) for n in sizes.ravel()), tuple(int(s) for s in start))


def is_image(shape: tuple[int, ...]) -> bool:
    """Whether the shape is [H, W] or [H, W, C], large enough for convolutions."""
    return len(shape) in (2, 3) and min(shape[:2]) >= SMALLEST_IMAGE


def read_action_space(space: Any) -> Actions:
    """The parsed space."""
    with one_clear_line("action_space", space, "Discrete, MultiDiscrete or a Box of floats, none empty"):
        return _actions(space)


def _actions(space: Any) -> Actions:
    categories = read_categories(space)
    if categories is not None:
        parts = categories.sizes if hasattr(space, "nvec") else None
        return Actions(categories.shape, parts, sum(categories.sizes), categories.start)
    shape = tuple(int(length) for length in space.shape)
    low, high = (np.broadcast_to(np.asarray(x, float), shape).ravel() for x in (space.low, space.high))
    if np.dtype(space.dtype).kind != "f" or not low.size or not np.all(low < high):
        raise ValueError("not a Box of floats")
    return Actions(shape, (), low.size, (), tuple(low.tolist()), tuple(high.tolist()))


@contextlib.contextmanager
def one_clear_line(name: str, space: Any, expected: str) -> Iterator[None]:
    """Turns what an object that is not such a space raises into a `UserError`."""
    try:
        yield
    except (AttributeError, TypeError, ValueError, OverflowError):
        raise UserError(f"{name}: got {space!r}, expected {expected}") from None


def check_segment(
    observations: Observations,
    actions: Actions,
    obs: Any,
    action: Any,
    next_obs: Any,
    terminated: Any,
    truncated: Any,
    valid: Any = None,
) -> Segment:
    """The arrays of a call, checked and converted. Raises a UserError with the argument, what it got and expected."""
    obs = check_observations("obs", observations, obs, None)
    leading = obs.shape[:2]
    action = check_actions(actions, action, leading)
    next_obs = check_observations("next_obs", observations, next_obs, leading)
    ended = check_flags("terminated", terminated, leading) | check_flags("truncated", truncated, leading)
    valid = np.ones(leading, bool) if valid is None else check_flags("valid", valid, leading)
    return Segment(obs, action, next_obs, ended | ~valid, valid)


def check_observations(name: str, space: Observations, x: Any, leading: tuple[int, ...] | None) -> np.ndarray:
    x = as_array(name, x)
    categories = None if space.categories is None else Categories(*space.categories)
    shape = space.shape if categories is None else categories.shape
    fits = x.ndim == 2 + len(shape) and x.shape[2:] == shape and min(x.shape[:2]) > 0
    if not fits or (leading is not None and x.shape[:2] != leading):
        raise wrong_shape(name, x, shape, leading)
    if categories is not None:
        return one_hot(check_categories(name, categories, x), categories.sizes, space.dtype)
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
    sizes = (space.width,) if space.parts is None else space.parts
    index = check_categories("actions", Categories(space.shape, sizes, space.start), x)
    return index[..., 0].astype(np.int32) if space.parts is None else one_hot(index, sizes, "float32")


def check_categories(name: str, space: Categories, x: np.ndarray) -> np.ndarray:
    """The integers of an array [T, B, ...], counted from 0 and flattened to [T, B, N]."""
    if x.dtype.kind not in "iu":
        raise UserError(f"{name}: got {x.dtype}, expected integers")
    index = x.reshape(*x.shape[:2], -1).astype(np.int64) - np.array(space.start)
    bad = (index < 0) | (index >= np.array(space.sizes))
    if bad.any():
        step, trajectory, part = first_index(bad)
        low = space.start[part]
        got = f"got {index[step, trajectory, part] + low} at step {step}, trajectory {trajectory}"
        raise UserError(f"{name}: {got}, expected {low} to {low + space.sizes[part] - 1}")
    return index


def one_hot(index: np.ndarray, sizes: tuple[int, ...], dtype: str) -> np.ndarray:
    """The one-hot vectors of all values, concatenated: [T, B, N] to [T, B, sum of sizes]."""
    vectors = np.zeros((*index.shape[:2], sum(sizes)), dtype)
    offsets = np.cumsum(sizes) - np.array(sizes)
    np.put_along_axis(vectors, index + offsets, 1, axis=-1)
    return vectors


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

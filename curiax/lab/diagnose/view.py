"""Observations as the instrument sees them: features of the same scale, each with a name and, in images, a place."""

import math
from typing import NamedTuple

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Shaped

from curiax.envs.spaces import is_image
from curiax.lab.diagnose.names import Layout, layout_of
from curiax.types import EnvSpec

LARGEST_SIDE = 24  # pooled pixels along the longer side of an image
LIMIT = 5.0  # standardised features are clipped to this
SMALLEST_SPREAD = 0.01  # relative to the median spread


class View(NamedTuple):
    """A function from observations to F features."""

    shape: tuple[int, ...]  # of an observation
    pool: int  # side of the areas over which pixels are averaged; 1: no pooling
    centre: Float[np.ndarray, " F"]
    spread: Float[np.ndarray, " F"]
    own_units: bool  # whether each feature is standardised by its own spread
    layout: Layout

    @property
    def size(self) -> int:
        return len(self.centre)

    def __call__(self, obs: Shaped[Array, "*batch_obs"]) -> Float[Array, "*batch F"]:
        x = gather(self.shape, self.pool, obs)
        x = (x - jnp.broadcast_to(self.centre, x.shape)) / jnp.broadcast_to(self.spread, x.shape)
        return jnp.clip(x, -LIMIT, LIMIT) if self.own_units else x


def make_view(spec: EnvSpec, seen: Shaped[np.ndarray, "n *obs"]) -> View:
    """A view for an environment. Features within ±1 of the spec's scale, such as 255, are divided by it, so that rare
    events stay rare. Otherwise, as with a pole's angle and speed, each is standardised by its spread in `seen`.
    """
    shape, scale = spec.observation_shape, spec.observation_scale
    pool = math.ceil(max(shape[:2]) / LARGEST_SIDE) if is_image(shape) else 1
    sample = np.asarray(gather(shape, pool, jnp.asarray(seen)))
    own_units = bool(np.abs(sample).max() > scale)
    centre, spread = np.zeros(sample.shape[-1], np.float32), np.full(sample.shape[-1], scale, np.float32)
    if own_units:
        centre, deviation = sample.mean(axis=0), sample.std(axis=0)
        moving = deviation[deviation > 0]
        floor = SMALLEST_SPREAD * float(np.median(moving)) if moving.size else 1.0
        spread = np.maximum(deviation, floor)
    layout = layout_of(spec, areas(shape, pool))
    return View(shape, pool, centre.astype(np.float32), spread.astype(np.float32), own_units, layout)


def gather(shape: tuple[int, ...], pool: int, obs: Shaped[Array, "*batch_obs"]) -> Float[Array, "*batch F"]:
    """Features of observations: flat, with pixels averaged over areas."""
    batch = obs.shape[: obs.ndim - len(shape)]
    x = obs.astype(jnp.float32)
    if pool > 1:
        height, width, channels = (*shape, 1)[:3]
        rows, columns = height // pool, width // pool
        x = x.reshape(-1, height, width, channels)[:, : rows * pool, : columns * pool]
        x = x.reshape(-1, rows, pool, columns, pool, channels).mean(axis=(2, 4))
    return x.reshape(*batch, -1)


def areas(shape: tuple[int, ...], pool: int) -> tuple[int, ...]:
    """The shape of the features before they are flattened."""
    return shape if pool == 1 else (shape[0] // pool, shape[1] // pool, *shape[2:])

"""Transitions that a measure remembers from earlier batches: the same number of them for batches of any size."""

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int, PRNGKeyArray

from curiax.types import Loss

SIZE = 1024  # transitions that are remembered


def draw(key: PRNGKeyArray, valid: Bool[Array, " n"]) -> tuple[Int[Array, " size"], Bool[Array, " size"]]:
    """Places in random order, first of all those where `valid` is true, and which of them are such."""
    order = jnp.argsort(jnp.where(valid, jax.random.uniform(key, valid.shape), 1.0))[:SIZE]
    return jnp.pad(order, (0, SIZE - order.shape[0])), jnp.arange(SIZE) < jnp.sum(valid)


def mean_loss(value: Float[Array, "*any"], mask: Bool[Array, "*any"]) -> Loss:
    """The masked mean as a loss of one number: what is remembered has no axis of streams."""
    count = jnp.sum(mask.astype(jnp.float32))
    return Loss(jnp.sum(jnp.where(mask, value, 0.0)) / jnp.maximum(count, 1.0), count > 0)

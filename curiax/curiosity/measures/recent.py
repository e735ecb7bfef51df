"""Which transitions of a batch a measure remembers: the same number of them for batches of any size."""

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Int, PRNGKeyArray

SIZE = 1024  # transitions that are remembered


def draw(key: PRNGKeyArray, valid: Bool[Array, " n"]) -> tuple[Int[Array, " size"], Bool[Array, " size"]]:
    """Places in random order, first of all those where `valid` is true, and which of them are such."""
    order = jnp.argsort(jnp.where(valid, jax.random.uniform(key, valid.shape), 1.0))[:SIZE]
    return jnp.pad(order, (0, SIZE - order.shape[0])), jnp.arange(SIZE) < jnp.sum(valid)

"""The smallest config that does everything, and what tests ask of a state."""

import dataclasses

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from curiax.config import LAPTOP, NetworkConfig

# The smallest run that does everything. tests/commands/test_train_command.py trains it from the command line.
TINY = dataclasses.replace(
    LAPTOP,
    env_steps=800,
    batch_size=2,
    unroll=4,
    log_every=2,
    checkpoint_every=4,
    network=NetworkConfig(encoder_hidden=(8,), feature_hidden=(8,), embedding=8, belief=8),
    world=dataclasses.replace(LAPTOP.world, hidden=(8, 8), critic_hidden=(8, 8), latent=4, noise=4),
)


def leaves(state):
    """Every number of a state by its path, as bytes: NaN equals NaN and 0 is not −0."""
    state = state._replace(key=jax.random.key_data(state.key))
    flat = jax.tree_util.tree_flatten_with_path(state)[0]
    return {jax.tree_util.keystr(path): (str(leaf.dtype), np.asarray(leaf).tobytes()) for path, leaf in flat}


def poison(part, name):
    """Makes the first number of a part's weights NaN."""
    paths = (path for path, _ in jax.tree_util.tree_flatten_with_path(part)[0])
    path = next(path for path in paths if name in jax.tree_util.keystr(path))
    return jax.tree_util.tree_map_with_path(lambda p, x: x.at[(0,) * x.ndim].set(jnp.nan) if p == path else x, part)


def acting(state, *logits):
    """The state, its acting policy one that always has these logits."""
    last = state.acting.policy.layers[-1]
    fixed = (jnp.zeros_like(last.weight), jnp.array(logits, jnp.float32))
    parts = lambda state: (state.acting.policy.layers[-1].weight, state.acting.policy.layers[-1].bias)  # noqa: E731
    return eqx.tree_at(parts, state, fixed)

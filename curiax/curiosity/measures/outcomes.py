"""Instruments beside hindsight: how well (b, a) alone and z alone tell the outcome (appendix B, "Outcome Losses").

They train nothing but themselves.
"""

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, PRNGKeyArray

from curiax.agent.networks import MLP
from curiax.config import WorldConfig
from curiax.curiosity.base import Distance, Sizes
from curiax.curiosity.measures.predict import OpenLoop
from curiax.types import Masked, Params


def init(world: WorldConfig, sizes: Sizes, key: PRNGKeyArray) -> dict[str, MLP]:
    key_predictor, key_alone = jax.random.split(key)
    return {
        "predictor": MLP(sizes.state, world.hidden, sizes.target, key_predictor, world.layer_norm),
        "hindsight_only": MLP(world.latent, world.hidden, sizes.target, key_alone, world.layer_norm),
    }


def measure(
    params: Params, loop: OpenLoop, z: Float[Array, "H T B Z"], distance: Distance
) -> tuple[dict[str, Masked], dict[str, Array]]:
    """The losses of both instruments, and their errors beside the variance of the targets."""
    predicted = distance(loop.target, params["predictor"](jax.lax.stop_gradient(loop.after)))
    alone = distance(loop.target, params["hindsight_only"](jax.lax.stop_gradient(z)))
    projected = distance.project(loop.target)
    mean = jnp.mean(projected, axis=(0, 1, 2), where=loop.valid[..., None], keepdims=True)
    variance = distance.reduce(jnp.square(projected - jnp.broadcast_to(mean, projected.shape)), axis=-1)
    losses = {"side_prediction": Masked(predicted, loop.valid), "hindsight_only": Masked(alone, loop.valid)}
    return losses, {
        "prediction_error": jnp.mean(predicted, where=loop.valid),
        "hindsight_only_error": jnp.mean(alone, where=loop.valid),
        "target_variance": jnp.mean(variance, where=loop.valid),
    }

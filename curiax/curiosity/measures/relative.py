"""A measure whose losses count in units of the targets' variance, whatever the representation."""

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, PRNGKeyArray

from curiax.curiosity.base import Distance, Measure, Represented
from curiax.types import CuriosityOutput, Params

SMALLEST = 1e-6  # variance; targets that are all the same give no infinite weight
IN_UNITS_OF_THE_TARGET = ("reconstruction", "averaged_reconstruction")


def relative(measure: Measure) -> Measure:
    """The measure with the weight 1/(λ Var[w̄]) of the reconstruction loss.

    A constant output has the error Var[w̄], which is 0.1 for pixels and 100 for features of ICM. Divided by it, the
    reconstruction error lies between 0 and 1, and 1/λ is what it is worth, in nats of L_con, to explain everything.
    """

    def score(
        params: Params,
        critic: Params,
        represented: Represented,
        valid: Bool[Array, "T B"],
        distance: Distance,
        key: PRNGKeyArray,
    ) -> CuriosityOutput:
        output = measure.score(params, critic, represented, valid, distance, key)
        variance = jax.lax.stop_gradient(target_variance(distance, represented.target, valid))
        losses = {
            name: loss._replace(weight=loss.weight / jnp.maximum(variance, SMALLEST))
            if name in IN_UNITS_OF_THE_TARGET
            else loss
            for name, loss in output.losses.items()
        }
        return output._replace(losses=losses)

    return measure._replace(score=score)


def target_variance(
    distance: Distance, target: Float[Array, "*batch F"], valid: Bool[Array, "*batch"]
) -> Float[Array, ""]:
    """The variance of the targets, which is the error of the best constant output."""
    projected = distance.project(target)
    axes = tuple(range(projected.ndim - 1))
    mean = jnp.mean(projected, axis=axes, where=valid[..., None], keepdims=True)
    variance = distance.reduce(jnp.square(projected - jnp.broadcast_to(mean, projected.shape)), axis=-1)
    return jnp.mean(variance, where=valid)

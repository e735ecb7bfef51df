"""The measure *aleatoric*: predict the outcome and its variance, and reward only the error beyond the variance."""

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, PRNGKeyArray

from curiax.agent.gru import GRU
from curiax.agent.networks import MLP
from curiax.config import Config
from curiax.curiosity.base import Distance, Measure, Represented, Sizes, credit
from curiax.curiosity.measures.predict import open_loop
from curiax.types import CuriosityOutput, Loss, Params

LIMIT = 10.0  # of |log σ²|


def aleatoric(config: Config) -> Measure:
    """AMA (Mavor-Parker et al., 2022):  (μ, s) = ψ(b_{t,i}),  s = log σ² in ±10,  y = w̄_{t+i}.

    Loss e^{−s} (y − μ)² + s,  reward ‖y − μ‖² − Tr Σ̂ with Σ̂ = diag(e^s); both reduced over coordinates as the
    representation's distance is, so that rewards are in the units of its prediction error.
    """
    world = config.world

    def init(key: PRNGKeyArray, sizes: Sizes) -> tuple[Params, Params]:
        key_core, key_predictor = jax.random.split(key)
        return {
            "core": GRU(sizes.action, sizes.state, key_core),
            "predictor": MLP(sizes.state, world.hidden, 2 * sizes.target, key_predictor),
        }, ()

    def score(
        params: Params,
        critic: Params,
        represented: Represented,
        valid: Bool[Array, "T B"],
        distance: Distance,
        key: PRNGKeyArray,
    ) -> CuriosityOutput:
        loop = open_loop(params["core"], represented, valid, world.horizon)
        mean, log_variance = jnp.split(params["predictor"](loop.after), 2, axis=-1)
        log_variance = clamp(log_variance)
        square = jnp.square(distance.project(loop.target) - mean)
        variance = jnp.exp(log_variance)
        error = distance.reduce(square - variance, axis=-1)
        return CuriosityOutput(
            losses={"likelihood": Loss(distance.reduce(square / variance + log_variance, axis=-1), loop.valid)},
            error=credit(jax.lax.stop_gradient(error), loop.valid),
            metrics={
                "prediction_error": jnp.mean(distance.reduce(square, axis=-1), where=loop.valid),
                "predicted_variance": jnp.mean(distance.reduce(variance, axis=-1), where=loop.valid),
            },
        )

    return Measure(init, score)


@jax.custom_vjp
def clamp(x: Float[Array, "*any"]) -> Float[Array, "*any"]:
    """x clipped to ±10. Outside, only gradients that lead back pass: a variance at its limit is not stuck there."""
    return jnp.clip(x, -LIMIT, LIMIT)


def _clamp_backward(x: Array, grad: Array) -> tuple[Array]:
    outward = ((x < -LIMIT) & (grad > 0)) | ((x > LIMIT) & (grad < 0))  # descent goes against the gradient
    return (jnp.where(outward, 0.0, grad),)


clamp.defvjp(lambda x: (clamp(x), x), _clamp_backward)

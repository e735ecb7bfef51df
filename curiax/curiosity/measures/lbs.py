"""The measure *lbs*: pay for what an outcome changes in the beliefs about a latent vector."""

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, PRNGKeyArray

from curiax.agent.gru import GRU
from curiax.agent.networks import MLP, concatenate
from curiax.config import Config
from curiax.curiosity.base import Distance, Measure, Represented, Sizes, credit
from curiax.curiosity.measures.aleatoric import clamp
from curiax.curiosity.measures.predict import open_loop
from curiax.types import CuriosityOutput, Loss, Params

Gaussian = tuple[Float[Array, "*batch Z"], Float[Array, "*batch Z"]]  # mean and log variance


def latent_surprise(config: Config) -> Measure:
    """Latent Bayesian surprise (Mazzaglia et al., 2022):  p(z | b_{t,i}),  q(z | b_{t,i}, w̄_{t+i}),  both Gaussian.

    Loss KL(q ‖ p) − 1/β log N(w̄_{t+i}; ψ(z), 1) with z from q, reward KL(q ‖ p).
    1/β is the weight of reconstruction, `world.reconstruction_weight`, as in hindsight.
    """
    world = config.world

    def init(key: PRNGKeyArray, sizes: Sizes) -> tuple[Params, Params]:
        key_core, key_prior, key_posterior, key_head = jax.random.split(key, 4)
        return {
            "core": GRU(sizes.action, sizes.state, key_core),
            "prior": MLP(sizes.state, world.hidden, 2 * world.latent, key_prior),
            "posterior": MLP(sizes.state + sizes.target, world.hidden, 2 * world.latent, key_posterior),
            "head": MLP(world.latent, world.hidden, sizes.target, key_head),
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
        prior = gaussian(params["prior"](loop.after))
        posterior = gaussian(params["posterior"](concatenate(loop.after, loop.target)))
        surprise = kl(posterior, prior)
        mean, log_variance = posterior
        z = mean + jnp.exp(log_variance / 2) * jax.random.normal(key, mean.shape)
        square = jnp.square(distance.project(loop.target) - distance.project(params["head"](z)))
        return CuriosityOutput(
            losses={
                "surprise": Loss(surprise, loop.valid),
                "likelihood": Loss(jnp.sum(square, axis=-1) / 2, loop.valid, world.reconstruction_weight),
            },
            error=credit(jax.lax.stop_gradient(surprise), loop.valid),
            metrics={"reconstruction_error": jnp.mean(distance.reduce(square, axis=-1), where=loop.valid)},
        )

    return Measure(init, score)


def gaussian(output: Float[Array, "*batch Z2"]) -> Gaussian:
    mean, log_variance = jnp.split(output, 2, axis=-1)
    return mean, clamp(log_variance)


def kl(left: Gaussian, right: Gaussian) -> Float[Array, "*batch"]:
    """KL(N(μ₁, σ₁²) ‖ N(μ₂, σ₂²)) = ½ Σ [log σ₂²/σ₁² + (σ₁² + (μ₁ − μ₂)²)/σ₂² − 1], in nats."""
    (mean, log_variance), (other, log_other) = left, right
    terms = log_other - log_variance + (jnp.exp(log_variance) + jnp.square(mean - other)) * jnp.exp(-log_other) - 1
    return jnp.sum(terms, axis=-1) / 2

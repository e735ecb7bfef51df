"""Hindsight with one thing changed, for the studies of the paper's appendix B."""

from dataclasses import replace

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, PRNGKeyArray

from curiax.agent.networks import MLP
from curiax.config import Config
from curiax.curiosity.base import Distance, Measure, Represented, Sizes, credit
from curiax.curiosity.measures.critic import CriticState
from curiax.curiosity.measures.hindsight import explain, hindsight
from curiax.curiosity.measures.relative import target_variance
from curiax.types import CuriosityOutput, Loss, Params


def without_contrast(config: Config) -> Measure:
    """L_con trains the critic but not the generator: z is unconstrained."""
    measure = hindsight(config)

    def score(*args: object) -> CuriosityOutput:
        output = measure.score(*args)
        losses = output.losses | {"invariance": output.losses["invariance"]._replace(weight=0.0)}
        return output._replace(losses=losses)

    return Measure(measure.init, score)


def contrast_paid(config: Config) -> Measure:
    """The reward is the whole loss of Algorithm 2, L_rec/λ + L_con. All time steps are contrasted."""
    measure = hindsight(replace(config, world=replace(config.world, contrast_share=1.0)))

    def score(*args: object) -> CuriosityOutput:
        output = measure.score(*args)
        reconstruction, invariance = output.losses["reconstruction"], output.losses["invariance"]
        error = reconstruction.weight * reconstruction.value + invariance.value
        return output._replace(error=credit(jax.lax.stop_gradient(error), reconstruction.mask))

    return Measure(measure.init, score)


def with_outcomes(config: Config) -> Measure:
    """Hindsight with two probes, which predict the outcome from (b, a) alone and from z alone ("Outcome Losses").

    The probes' losses train only the probes.
    """
    measure, world = hindsight(config), config.world

    def init(key: PRNGKeyArray, sizes: Sizes) -> tuple[Params, CriticState]:
        params, critic = measure.init(key, sizes)
        key_predictor, key_alone = jax.random.split(jax.random.split(key, 5)[4])
        return params | {
            "predictor": MLP(sizes.state, world.hidden, sizes.target, key_predictor, world.layer_norm),
            "hindsight_only": MLP(world.latent, world.hidden, sizes.target, key_alone, world.layer_norm),
        }, critic

    def score(
        params: Params,
        critic: CriticState,
        represented: Represented,
        valid: Bool[Array, "T B"],
        distance: Distance,
        key: PRNGKeyArray,
    ) -> CuriosityOutput:
        output = measure.score(params, critic, represented, valid, distance, key)
        loop, z, _ = explain(
            world, params, represented, valid, jax.random.split(key)[0]
        )  # XLA merges this with the same computation in `measure.score`
        predicted = distance(loop.target, params["predictor"](jax.lax.stop_gradient(loop.after)))
        alone = distance(loop.target, params["hindsight_only"](jax.lax.stop_gradient(z)))
        losses = {"side_prediction": Loss(predicted, loop.valid), "hindsight_only": Loss(alone, loop.valid)}
        metrics = {
            "prediction_error": jnp.mean(predicted, where=loop.valid),
            "hindsight_only_error": jnp.mean(alone, where=loop.valid),
            "target_variance": target_variance(distance, loop.target, loop.valid),
        }
        return output._replace(losses=output.losses | losses, metrics=output.metrics | metrics)

    return Measure(init, score)

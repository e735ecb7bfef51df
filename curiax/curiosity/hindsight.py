"""The measure *hindsight*: learn the unpredictable part of each outcome, and pay only for what is still wrong.

Curiosity in Hindsight (Jarrett et al., 2023), Algorithm 2.
"""

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Int, PRNGKeyArray

from curiax.agent.gru import GRU
from curiax.agent.networks import MLP, concatenate
from curiax.config import Config
from curiax.curiosity.base import Distance, Measure, Represented, Sizes, credit
from curiax.curiosity.critic import contrastive_value, energies, make_critic, reverse_gradient
from curiax.curiosity.predict import OpenLoop, open_loop
from curiax.types import CuriosityOutput, Masked, Params


def hindsight(config: Config) -> Measure:
    """z_{t,i} = G([b_{t,i−1}, a_{t+i−1}, w̄_{t+i}, ε]),  ŵ_{t,i} = ψ([b_{t,i}, z_{t,i}])

    L_rec(t, i) = distance(w̄_{t+i}, ŵ_{t,i}) trains the world model through every path, the generator's inputs included.
    L_con(t, i) keeps z independent of (b, a): it trains the generator (down) and the critic (up) and nothing else.
    """
    world, bonus = config.world, config.bonus
    open_generator = "generator-inputs" in world.open_routes
    open_critic = "critic-inputs" in world.open_routes

    def init(key: PRNGKeyArray, sizes: Sizes) -> tuple[Params, Params]:
        key_core, key_generator, key_reconstructor, key_side, key_critic = jax.random.split(key, 5)
        context = sizes.state + sizes.action
        num_in = context + sizes.target + world.noise
        params = {
            "core": GRU(sizes.action, sizes.state, key_core),
            "generator": MLP(num_in, world.hidden, world.latent, key_generator, world.layer_norm, world.shortcut),
            "reconstructor": MLP(
                sizes.state + world.latent,
                world.hidden,
                sizes.target,
                key_reconstructor,
                world.layer_norm,
                world.shortcut,
            ),
        }
        if world.side_share > 0:
            params["side"] = MLP(sizes.state, world.hidden, sizes.target, key_side, world.layer_norm)
        return params, make_critic(world.critic, context, world.latent, world.hidden, key_critic)

    def score(
        params: Params,
        critic: Params,
        represented: Represented,
        valid: Bool[Array, "T B"],
        distance: Distance,
        key: PRNGKeyArray,
    ) -> CuriosityOutput:
        key_noise, key_contrast, key_side = jax.random.split(key, 3)
        loop = open_loop(params["core"], represented, valid, world.horizon)
        noise = jax.random.normal(key_noise, (*loop.valid.shape, world.noise))
        inputs = concatenate(loop.before, loop.action, loop.target, noise)
        z = params["generator"](inputs)
        # The same value by another route: with its inputs stopped, L_con reaches the generator's weights only.
        z_contrast = z if open_generator else params["generator"](jax.lax.stop_gradient(inputs))
        reconstruction = distance(loop.target, params["reconstructor"](concatenate(loop.after, z)))

        # Beliefs and actions are stopped where they enter the critic: L_con must not blur them to make z look good.
        context = concatenate(loop.before, loop.action)
        context = context if open_critic else jax.lax.stop_gradient(context)
        steps = sample_steps(key_contrast, valid.shape[0], world.contrast_share)
        energy = energies(reverse_gradient(critic), context[:, steps], z_contrast[:, steps])
        contrast_valid = loop.valid[:, steps]
        contrast = contrastive_value(energy, contrast_valid, world.temperature)

        error = reconstruction
        if bonus.include_invariance:  # every step is contrasted then; `steps` is a permutation
            error = world.reconstruction_weight * reconstruction + contrast[:, jnp.argsort(steps)]
        losses = {"reconstruction": Masked(reconstruction, loop.valid), "invariance": Masked(contrast, contrast_valid)}
        metrics = {
            "reconstruction_error": jnp.mean(reconstruction, where=loop.valid),
            "contrastive_value": jnp.mean(contrast, where=contrast_valid),
        }
        diagnostics = {}
        if world.side_share > 0:
            side_steps = sample_steps(key_side, valid.shape[0], world.side_share)
            side = side_prediction(params["side"], loop, distance, side_steps)
            losses["side_prediction"] = side
            diagnostics["prediction"] = spread(side, side_steps, valid.shape[0])
            metrics["prediction_error"] = jnp.mean(side.value, where=side.mask)
        return CuriosityOutput(
            losses=losses,
            error=credit(jax.lax.stop_gradient(error), loop.valid, bonus.rescale_horizon),
            metrics=metrics,
            diagnostics=diagnostics,
        )

    return Measure(init, score)


def side_prediction(predictor: MLP, loop: OpenLoop, distance: Distance, steps: Int[Array, " n"]) -> Masked:
    """Prediction error without hindsight: a measuring instrument that trains nothing but itself."""
    output = predictor(jax.lax.stop_gradient(loop.after[:, steps]))
    return Masked(distance(loop.target[:, steps], output), loop.valid[:, steps])


def spread(loss: Masked, steps: Int[Array, " n"], num_steps: int) -> Masked:
    """The one-step errors of some time steps, laid out over all of them."""
    value = jnp.zeros((num_steps, loss.value.shape[-1])).at[steps].set(loss.value[0])
    return Masked(value, jnp.zeros(value.shape, bool).at[steps].set(loss.mask[0]))


def sample_steps(key: PRNGKeyArray, num_steps: int, share: float) -> Int[Array, " n"]:
    """A random share of the time steps, at least one; all of them, in order, if the share is 1."""
    if share >= 1:
        return jnp.arange(num_steps)
    return jax.random.permutation(key, num_steps)[: max(1, round(share * num_steps))]

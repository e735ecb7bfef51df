"""The measure *hindsight*: learn the unpredictable part of each outcome, and pay only for what is still wrong.

Curiosity in Hindsight (Jarrett et al., 2023), Algorithm 2.
"""

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int, PRNGKeyArray

from curiax.agent.gru import GRU
from curiax.agent.networks import MLP, concatenate
from curiax.config import Config
from curiax.curiosity.base import Distance, Measure, Represented, Sizes, credit
from curiax.curiosity.measures import outcomes
from curiax.curiosity.measures.critic import CriticState, contrast, critic_init
from curiax.curiosity.measures.predict import OpenLoop, open_loop
from curiax.types import CuriosityOutput, Masked, Params


def hindsight(config: Config) -> Measure:
    """z_{t,i} = G([b_{t,i−1}, a_{t+i−1}, w̄_{t+i}, ε]),  ŵ_{t,i} = ψ([b_{t,i}, z_{t,i}])

    L_rec(t, i) = distance(w̄_{t+i}, ŵ_{t,i}) trains generator and reconstructor, and the beliefs through b_{t,i}.
    L_con(t, i) keeps z independent of (b, a): it trains the generator (down) and the critic (up) and nothing else.
    """
    world, bonus = config.world, config.bonus

    def init(key: PRNGKeyArray, sizes: Sizes) -> tuple[Params, CriticState]:
        key_core, key_generator, key_reconstructor, key_critic, key_outcomes = jax.random.split(key, 5)
        context = sizes.state + sizes.action
        num_heard, num_given = context + sizes.target + world.noise, sizes.state + world.latent
        params = {
            "core": GRU(sizes.action, sizes.state, key_core),
            "generator": MLP(num_heard, world.hidden, world.latent, key_generator, world.layer_norm),
            "reconstructor": MLP(num_given, world.hidden, sizes.target, key_reconstructor, world.layer_norm),
        }
        if world.measure_outcomes:
            params |= outcomes.init(world, sizes, key_outcomes)
        return params, critic_init(config, context, key_critic)

    def score(
        params: Params,
        critic: CriticState,
        represented: Represented,
        valid: Bool[Array, "T B"],
        distance: Distance,
        key: PRNGKeyArray,
    ) -> CuriosityOutput:
        key_noise, key_contrast = jax.random.split(key)
        loop = open_loop(params["core"], represented, valid, world.horizon)
        z = generate(params["generator"], world.noise, loop, key_noise)
        reconstruction = distance(loop.target, params["reconstructor"](concatenate(loop.after, z)))

        steps = sample_steps(key_contrast, valid.shape[0], world.contrast_share)
        contrasted = loop.valid[:, steps]
        critic, invariance = contrast(config, critic, context_of(loop)[:, steps], z[:, steps], contrasted)

        error = reconstruction
        if bonus.include_invariance:  # every step is contrasted then; `steps` is a permutation
            error = world.reconstruction_weight * reconstruction + invariance[:, jnp.argsort(steps)]
        losses = {"reconstruction": Masked(reconstruction, loop.valid), "invariance": Masked(invariance, contrasted)}
        metrics = {
            "reconstruction_error": jnp.mean(reconstruction, where=loop.valid),
            "contrastive_value": jnp.mean(invariance, where=contrasted),
        }
        if world.measure_outcomes:
            measured_losses, measured = outcomes.measure(params, loop, z, distance)
            losses, metrics = losses | measured_losses, metrics | measured
        return CuriosityOutput(
            losses=losses,
            error=credit(jax.lax.stop_gradient(error), loop.valid, bonus.rescale_horizon),
            metrics=metrics,
            critic=critic,
        )

    return Measure(init, score)


def context_of(loop: OpenLoop) -> Float[Array, "H T B C"]:
    """(b_{t,i−1}, a_{t+i−1}) as generator and critic see it. Stopped: z must not bend the beliefs to become cheap."""
    return jax.lax.stop_gradient(concatenate(loop.before, loop.action))


def generate(generator: MLP, num_noise: int, loop: OpenLoop, key: PRNGKeyArray) -> Float[Array, "H T B Z"]:
    """z = G([b, a, w̄, ε]),  ε ~ N(0, I)."""
    noise = jax.random.normal(key, (*loop.valid.shape, num_noise))
    return generator(concatenate(context_of(loop), loop.target, noise))


def sample_steps(key: PRNGKeyArray, num_steps: int, share: float) -> Int[Array, " n"]:
    """A random share of the time steps, at least one; all of them, in order, if the share is 1."""
    if share >= 1:
        return jnp.arange(num_steps)
    return jax.random.permutation(key, num_steps)[: max(1, round(share * num_steps))]

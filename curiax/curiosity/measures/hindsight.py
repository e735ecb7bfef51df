"""The measure *hindsight*: learn the unpredictable part of each outcome, and reward only the remaining error.

Curiosity in Hindsight (Jarrett et al., 2023), Algorithm 2.
"""

from typing import NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int, PRNGKeyArray

from curiax.agent.gru import GRU
from curiax.agent.networks import MLP, concatenate
from curiax.config import Config, WorldConfig
from curiax.curiosity.base import Distance, Generator, Measure, Represented, Sizes, credit
from curiax.curiosity.measures.critic import CriticState, contrast, critic_init
from curiax.curiosity.measures.predict import OpenLoop, context_of, open_loop
from curiax.types import CuriosityOutput, Loss, Params


class Explained(NamedTuple):
    """Hindsight vectors and reconstructions of every pair (t, i)."""

    loop: OpenLoop
    z: Float[Array, "H T B Z"]
    output: Float[Array, "H T B F"]  # ŵ, the reconstruction


def hindsight(config: Config) -> Measure:
    """z_{t,i} = G([b_{t,i−1}, a_{t+i−1}, w̄_{t+i}, ε]),  ŵ_{t,i} = ψ([b_{t,i}, z_{t,i}])

    L_rec(t, i) = distance(w̄_{t+i}, ŵ_{t,i}) trains generator and reconstructor, and the beliefs through b_{t,i}.
    L_con(t, i) keeps z independent of (b, a): it trains the generator (down) and the critic (up) and nothing else.
    """
    world = config.world

    def init(key: PRNGKeyArray, sizes: Sizes) -> tuple[Params, CriticState]:
        key_core, key_generator, key_reconstructor, key_critic = jax.random.split(key, 4)
        context = sizes.state + sizes.action
        num_generator, num_reconstructor = context + sizes.target + world.noise, sizes.state + world.latent
        # In the inputs, w̄ follows the context, and z the belief. ε has no linear map: its noise would hide w̄ in z.
        skips = ((context, context + sizes.target), (sizes.state, num_reconstructor)) if world.skip else (None, None)
        form = (world.hidden, world.layer_norm)
        generator = Generator(num_generator, form[0], world.latent, key_generator, form[1], skips[0])
        reconstructor = MLP(num_reconstructor, form[0], sizes.target, key_reconstructor, form[1], skip=skips[1])
        parts = {"core": GRU(sizes.action, sizes.state, key_core), "generator": generator}
        return parts | {"reconstructor": reconstructor}, critic_init(config, context, key_critic)

    def score(
        params: Params,
        critic: CriticState,
        represented: Represented,
        valid: Bool[Array, "T B"],
        distance: Distance,
        key: PRNGKeyArray,
    ) -> CuriosityOutput:
        key_noise, key_contrast = jax.random.split(key)
        loop, z, output = explain(world, params, represented, valid, key_noise)
        reconstruction = distance(loop.target, output)

        steps = sample_steps(key_contrast, valid.shape[0], world.contrast_share)
        contrasted = loop.valid[:, steps]
        contexts, key_critic = context_of(loop)[:, steps], jax.random.fold_in(key_contrast, 1)
        critic, invariance = contrast(config, critic, contexts, z[:, steps], contrasted, key_critic)
        return CuriosityOutput(
            losses={
                "reconstruction": Loss(reconstruction, loop.valid, world.reconstruction_weight),
                "invariance": Loss(invariance, contrasted),
            },
            error=credit(jax.lax.stop_gradient(reconstruction), loop.valid),
            metrics={
                "reconstruction_error": jnp.mean(reconstruction, where=loop.valid),
                "contrastive_value": jnp.mean(invariance, where=contrasted),
            },
            critic=critic,
        )

    return Measure(init, score)


def explain(
    world: WorldConfig, params: Params, represented: Represented, valid: Bool[Array, "T B"], key: PRNGKeyArray
) -> Explained:
    """The open loop, hindsight vectors and reconstructions."""
    loop = open_loop(params["core"], represented, valid, world.horizon)
    noise = jax.random.normal(key, (*loop.valid.shape, world.noise))
    z = params["generator"](concatenate(context_of(loop), loop.target, noise))
    return Explained(loop, z, params["reconstructor"](concatenate(loop.after, z)))


def sample_steps(key: PRNGKeyArray, num_steps: int, share: float) -> Int[Array, " n"]:
    """A random share of the time steps, at least one; all of them, in order, if the share is 1."""
    if share >= 1:
        return jnp.arange(num_steps)
    return jax.random.permutation(key, num_steps)[: max(1, round(share * num_steps))]

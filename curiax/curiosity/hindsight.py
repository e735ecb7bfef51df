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
from curiax.curiosity.critic import contrast, critic_init
from curiax.curiosity.predict import open_loop
from curiax.trial import trial
from curiax.types import CuriosityOutput, Masked, Params


def hindsight(config: Config) -> Measure:
    """z_{t,i} = G([b_{t,i−1}, a_{t+i−1}, w̄_{t+i}, ε]),  ŵ_{t,i} = ψ([b_{t,i}, z_{t,i}])

    L_rec(t, i) = distance(w̄_{t+i}, ŵ_{t,i}) trains generator and reconstructor, and the beliefs through b_{t,i}.
    L_con(t, i) keeps z independent of (b, a): it trains the generator (down) and the critic (up) and nothing else.
    """
    world, bonus = config.world, config.bonus

    def init(key: PRNGKeyArray, sizes: Sizes) -> tuple[Params, Params]:
        key_core, key_generator, key_reconstructor, key_critic = jax.random.split(key, 4)
        context = sizes.state + sizes.action
        heard = context + sizes.target + world.noise
        params = {
            "core": GRU(sizes.action, sizes.state, key_core),
            "generator": MLP(heard, world.hidden, world.latent, key_generator, world.layer_norm),
            "reconstructor": MLP(
                sizes.state + world.latent, world.hidden, sizes.target, key_reconstructor, world.layer_norm
            ),
        }
        if trial("side", "no") == "yes":
            params["predictor"] = MLP(sizes.state, world.hidden, sizes.target, jax.random.fold_in(key, 9))
        return params, critic_init(config, context, key_critic)

    def score(
        params: Params,
        critic: Params,
        represented: Represented,
        valid: Bool[Array, "T B"],
        distance: Distance,
        key: PRNGKeyArray,
    ) -> CuriosityOutput:
        key_noise, key_contrast = jax.random.split(key)
        loop = open_loop(params["core"], represented, valid, world.horizon)
        context = concatenate(loop.before, loop.action)
        if trial("inputs", "stopped") == "stopped":
            context = jax.lax.stop_gradient(context)
        noise = jax.random.normal(key_noise, (*loop.valid.shape, world.noise))
        heard = concatenate(context, heard_target(loop.target), noise)
        z = params["generator"](heard)
        z_contrast = z if trial("inputs", "stopped") == "stopped" else params["generator"](jax.lax.stop_gradient(heard))
        reconstruction = distance(loop.target, params["reconstructor"](concatenate(loop.after, z)))

        steps = sample_steps(key_contrast, valid.shape[0], world.contrast_share)
        taught = steps
        if trial("halves", "same") == "other":
            both = jax.random.permutation(key_contrast, valid.shape[0])
            num = len(steps)
            steps, taught = both[:num], both[-num:]
        critic, contrasted = contrast(
            config,
            critic,
            jax.lax.stop_gradient(context)[:, steps],
            z_contrast[:, steps],
            loop.valid[:, steps],
            jax.lax.stop_gradient(context)[:, taught],
            z_contrast[:, taught],
            loop.valid[:, taught],
        )
        diagnostics, extra = {}, {}
        if trial("side", "no") == "yes":
            side = distance(loop.target, params["predictor"](jax.lax.stop_gradient(loop.after)))
            diagnostics = {"prediction": Masked(side[0], loop.valid[0])}
            extra = {"side_prediction": Masked(side, loop.valid)}
        return CuriosityOutput(
            losses=extra | {
                "reconstruction": Masked(reconstruction, loop.valid),
                "invariance": Masked(contrasted, loop.valid[:, steps]),
            },
            error=credit(jax.lax.stop_gradient(reconstruction), loop.valid, bonus.rescale_horizon),
            metrics={
                "reconstruction_error": jnp.mean(reconstruction, where=loop.valid),
                "contrastive_value": jnp.mean(contrasted, where=loop.valid[:, steps]),
            },
            critic=critic,
            diagnostics=diagnostics,
        )

    return Measure(init, score)


def sample_steps(key: PRNGKeyArray, num_steps: int, share: float) -> Int[Array, " n"]:
    """A random share of the time steps, at least one; all of them, in order, if the share is 1."""
    if share >= 1:
        return jnp.arange(num_steps)
    return jax.random.permutation(key, num_steps)[: max(1, round(share * num_steps))]


def heard_target(w):
    how = trial("hear", "raw")
    if how == "raw":
        return w
    if how == "l2":
        return w / jnp.linalg.norm(w, axis=-1, keepdims=True) * w.shape[-1] ** 0.5
    flat = w.reshape(-1, w.shape[-1])
    centred = flat - flat.mean(0, keepdims=True)
    if how == "standard":
        return (centred / (centred.std(0, keepdims=True) + 1e-6)).reshape(w.shape)
    if how == "cholesky":
        cov = centred.T @ centred / len(flat)
        cov = cov + 1e-3 * jnp.trace(cov) / len(cov) * jnp.eye(len(cov))
        low = jnp.linalg.cholesky(cov)
        return jax.scipy.linalg.solve_triangular(low, centred.T, lower=True).T.reshape(w.shape)
    cov = centred.T @ centred / len(flat)
    values, vectors = jnp.linalg.eigh(cov)
    floor = 1e-3 * values.mean()
    white = (centred @ vectors) * jax.lax.rsqrt(values + floor)[None]
    return (white @ vectors.T).reshape(w.shape)

"""The measure *hindsight*: learn the unpredictable part of each outcome, and pay only for what is still wrong.

Curiosity in Hindsight (Jarrett et al., 2023), Algorithm 2.
"""

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int, PRNGKeyArray

from curiax.agent.gru import GRU
from curiax.agent.networks import MLP, Channel, concatenate
from curiax.config import Config, WorldConfig
from curiax.curiosity.base import Distance, Measure, Represented, Sizes, credit
from curiax.curiosity.critic import contrastive_value, energies, make_critic, reverse_gradient
from curiax.curiosity.predict import OpenLoop, open_loop
from curiax.types import CuriosityOutput, Masked, Params


def hindsight(config: Config) -> Measure:
    """z_{t,i} = G([b_{t,i−1}, a_{t+i−1}, w̄_{t+i}, ε]),  ŵ_{t,i} = ψ([b_{t,i}, z_{t,i}])

    L_rec(t, i) = distance(w̄_{t+i}, ŵ_{t,i}) trains the world model through every path, the generator's inputs included.
    L_con(t, i) keeps z independent of (b, a): it trains the generator (down) and the critic (up) and nothing else.

    In the form *innovation* a predictor trains the beliefs, as in BYOL-Explore; generator and reconstructor stand on
    them without moving them, and pass on only what it missed: see `innovate`.
    """
    world, bonus = config.world, config.bonus
    innovation = world.hindsight == "innovation"
    open_generator = "generator-inputs" in world.open_routes

    def init(key: PRNGKeyArray, sizes: Sizes) -> tuple[Params, Params]:
        key_core, key_generator, key_reconstructor, key_predictor, key_critic = jax.random.split(key, 5)
        context = sizes.state + sizes.action
        make = make_channel if innovation else make_mlp
        params = {
            "core": GRU(sizes.action, sizes.state, key_core),
            "generator": make(world, context, (sizes.target, world.noise), world.latent, key_generator),
            "reconstructor": make(world, sizes.state, (world.latent,), sizes.target, key_reconstructor),
        }
        if innovation or world.side_share > 0:
            params["predictor"] = make_mlp(world, sizes.state, (), sizes.target, key_predictor)
        if world.measure_outcomes:
            params["hindsight_only"] = make_mlp(world, 0, (world.latent,), sizes.target, jax.random.fold_in(key, 5))
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
        losses, metrics, diagnostics = {}, {}, {}
        if innovation or world.side_share > 0:
            steps = sample_steps(key_side, valid.shape[0], 1.0 if innovation else world.side_share)
            after = loop.after if innovation else jax.lax.stop_gradient(loop.after)
            predicted = predict_steps(params["predictor"], loop._replace(after=after), distance, steps)
            losses["prediction" if innovation else "side_prediction"] = predicted
            diagnostics["prediction"] = spread(predicted, steps, valid.shape[0])
            metrics["prediction_error"] = jnp.mean(predicted.value, where=predicted.mask)

        heard = loop.target
        expected, scale = jnp.zeros(()), jnp.ones(())
        if innovation:
            loop = jax.lax.stop_gradient(loop)
            expected, heard, scale = innovate(params["predictor"], loop, distance)
        noise = jax.random.normal(key_noise, (*loop.valid.shape, world.noise))
        inputs = concatenate(loop.before, loop.action, heard, noise)
        z = params["generator"](inputs)
        if innovation:  # its inputs are stopped already
            z_contrast = standardise(z, loop.valid)
        else:  # the same value by another route: with its inputs stopped, L_con reaches the generator's weights only
            z_contrast = z if open_generator else params["generator"](jax.lax.stop_gradient(inputs))
        if world.blur > 0:
            z, z_contrast = (blurred(world, vector, loop.valid, key_noise) for vector in (z, z_contrast))
        output = params["reconstructor"](concatenate(loop.after, z))
        reconstruction = distance(loop.target, expected + scale * output)

        steps = sample_steps(key_contrast, valid.shape[0], world.contrast_share)
        contrast = contrast_steps(world, critic, loop, z_contrast, steps)

        error = reconstruction
        if bonus.include_invariance:  # every step is contrasted then; `steps` is a permutation
            error = world.reconstruction_weight * reconstruction + contrast.value[:, jnp.argsort(steps)]
        unit = jax.lax.stop_gradient(metrics["prediction_error"]) + 1e-8 if world.relative else 1.0
        losses |= {"reconstruction": Masked(reconstruction / unit, loop.valid), "invariance": contrast}
        metrics |= {
            "reconstruction_error": jnp.mean(reconstruction, where=loop.valid),
            "contrastive_value": jnp.mean(contrast.value, where=contrast.mask),
        }
        if world.measure_outcomes:
            losses["hindsight_only"], measured = outcomes(params["hindsight_only"], loop, z, distance)
            metrics |= measured
        return CuriosityOutput(
            losses=losses,
            error=credit(jax.lax.stop_gradient(error), loop.valid, bonus.rescale_horizon),
            metrics=metrics,
            diagnostics=diagnostics,
        )

    return Measure(init, score)


def make_mlp(
    world: WorldConfig, num_context: int, num_signals: tuple[int, ...], num_out: int, key: PRNGKeyArray
) -> MLP:
    return MLP(num_context + sum(num_signals), world.hidden, num_out, key, world.layer_norm)


def make_channel(
    world: WorldConfig, num_context: int, num_signals: tuple[int, ...], num_out: int, key: PRNGKeyArray
) -> Channel:
    return Channel(num_context, num_signals, world.hidden, num_out, key, world.layer_norm)


def innovate(
    predictor: MLP, loop: OpenLoop, distance: Distance
) -> tuple[Float[Array, "H T B F"], Float[Array, "H T B F"], Float[Array, ""]]:
    """What was expected, what was missed in units of its size, and that size:  x = x̂ + scale · innovation.

    Nothing is lost, since x̂ is a function of (b, a), which the generator also hears; but the noise, which is small in x
    and stays when all else is learned, is then all that there is to hear. Nothing is trained through this.
    """
    expected = distance.project(predictor(loop.after))
    missed = distance.project(loop.target) - expected
    scale = jnp.sqrt(jnp.mean(jnp.mean(jnp.square(missed), axis=-1), where=loop.valid) + 1e-8)
    return jax.lax.stop_gradient((expected, missed / scale, scale))


def outcomes(
    hindsight_only: MLP, loop: OpenLoop, z: Float[Array, "H T B Z"], distance: Distance
) -> tuple[Masked, dict[str, Array]]:
    """How well z alone tells the outcome, beside how much the outcomes vary (appendix B, "Outcome Losses").

    A measuring instrument: it trains nothing but itself.
    """
    alone = distance(loop.target, hindsight_only(jax.lax.stop_gradient(z)))
    mean = jnp.mean(distance.project(loop.target), axis=(0, 1, 2), where=loop.valid[..., None], keepdims=True)
    varied = distance._replace(project=lambda x: x)(
        distance.project(loop.target), jnp.broadcast_to(mean, loop.target.shape)
    )
    return Masked(alone, loop.valid), {
        "hindsight_only_error": jnp.mean(alone, where=loop.valid),
        "target_variance": jnp.mean(varied, where=loop.valid),
    }


def contrast_steps(
    world: WorldConfig, critic: Params, loop: OpenLoop, z: Float[Array, "H T B Z"], steps: Int[Array, " n"]
) -> Masked:
    """L_con at some time steps. Beliefs and actions are stopped where they enter the critic, unless that route is open:
    L_con must not blur them to make z look good."""
    context = concatenate(loop.before, loop.action)
    context = context if "critic-inputs" in world.open_routes else jax.lax.stop_gradient(context)
    energy = energies(reverse_gradient(critic), context[:, steps], z[:, steps])
    return Masked(contrastive_value(energy, loop.valid[:, steps], world.temperature), loop.valid[:, steps])


def standardise(z: Float[Array, "H T B Z"], valid: Bool[Array, "H T B"]) -> Float[Array, "H T B Z"]:
    """Every coordinate in units of its own spread: what z tells of (b, a) stays the same, but the generator cannot hide
    it from the critic in a coordinate that is small beside others full of ε."""
    valid = valid[..., None]
    count = jnp.sum(valid.astype(z.dtype))
    mean = jnp.sum(jnp.where(valid, z, 0.0), axis=(0, 1, 2)) / count
    centred = z - jnp.broadcast_to(mean, z.shape)
    deviation = jnp.sqrt(jnp.sum(jnp.where(valid, jnp.square(centred), 0.0), axis=(0, 1, 2)) / count)
    return centred / (jnp.broadcast_to(deviation, z.shape) + 1e-6)


def blurred(
    world: WorldConfig, z: Float[Array, "H T B Z"], valid: Bool[Array, "H T B"], key: PRNGKeyArray
) -> Float[Array, "H T B Z"]:
    """z of finite precision. Without it a generator at rest may tell the context by differences too fine for a critic
    that learns beside it, though not for one trained afterwards."""
    return standardise(z, valid) + world.blur * jax.random.normal(jax.random.fold_in(key, 1), z.shape)


def predict_steps(predictor: MLP, loop: OpenLoop, distance: Distance, steps: Int[Array, " n"]) -> Masked:
    """Prediction error without hindsight, at some time steps."""
    output = predictor(loop.after[:, steps])
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

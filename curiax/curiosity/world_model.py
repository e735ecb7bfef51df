"""Trains a curiosity method: the only place that turns its losses into an optimiser step.

The learner adds the losses of policy and value to the same step. Everything else that trains a curiosity method (the
drop-in class, `lab.diagnose`, `lab.scm`, `lab.patches`) trains it alone, as a `WorldModel`.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import optax
from jaxtyping import Array, Float, Int, PRNGKeyArray

from curiax.config import Config
from curiax.curiosity.base import Curiosity, Generator, decay_of
from curiax.curiosity.experience import following
from curiax.types import Agent, CuriosityOutput, Experience, LearnerParams, Loss, Params, State

MAX_GRADIENT_NORM = 1.0  # a larger gradient is scaled down to this norm
NO_AGENT: Any = Agent((), (), (), (), ())  # pyright: ignore[reportArgumentType] — for methods that train no beliefs

# Masks of LearnerParams: the encoder ω, the curiosity, and the curiosity with encoder, action embedding and core.
ENCODER: Any = LearnerParams(agent=Agent(True, False, False, False, False), duals=False, curiosity=False)  # pyright: ignore
CURIOSITY: Any = LearnerParams(agent=Agent(False, False, False, False, False), duals=False, curiosity=True)  # pyright: ignore
BELIEFS: Any = LearnerParams(agent=Agent(True, True, True, False, False), duals=False, curiosity=True)  # pyright: ignore


class Step(NamedTuple):
    """The result of one optimiser step."""

    params: Any
    optimizer: State
    losses: dict[str, Float[Array, ""]]  # masked means, before weighting
    grads: Any
    aux: Any  # auxiliary output of the losses


class WorldState(NamedTuple):
    """The training state of a curiosity method that is trained alone."""

    params: LearnerParams  # encoder, action embedding and core, if the method trains them, and the method's own
    critic: State
    targets: State
    optimizer: State
    num_updates: Int[Array, ""]


class WorldModel(NamedTuple):
    """Functions that train a curiosity method alone. They take data as a function `experience_of(agent)`, since the
    beliefs depend on trained parameters."""

    init: Callable[[PRNGKeyArray, Agent], WorldState]
    score: Callable[[WorldState, Callable[[Agent], Experience], PRNGKeyArray], CuriosityOutput]
    step: Callable[[WorldState, Callable[[Agent], Experience], PRNGKeyArray], tuple[WorldState, "Learned"]]


class Learned(NamedTuple):
    """What a step of a world model computed, with the parameters before the step."""

    output: CuriosityOutput
    experience: Experience
    losses: dict[str, Float[Array, ""]]
    grads: LearnerParams


def make_world_model(curiosity: Curiosity, optimizer: optax.GradientTransformation) -> WorldModel:
    """The functions that train this curiosity method alone."""

    def init(key: PRNGKeyArray, agent: Agent) -> WorldState:
        params, critic, targets = curiosity.init(key, agent.encoder)
        beliefs = agent._replace(policy=(), value=()) if curiosity.trains_beliefs else NO_AGENT
        everything = LearnerParams(beliefs, {}, params)
        return WorldState(everything, critic, targets, optimizer.init(everything), jnp.int32(0))

    def score(state: WorldState, experience_of: Callable[[Agent], Experience], key: PRNGKeyArray) -> CuriosityOutput:
        experience = experience_of(state.params.agent)
        return curiosity.score(state.params.curiosity, state.critic, state.targets, experience, key)

    def step(
        state: WorldState, experience_of: Callable[[Agent], Experience], key: PRNGKeyArray
    ) -> tuple[WorldState, Learned]:
        return world_step(curiosity, optimizer, state, experience_of, key)

    return WorldModel(init, score, step)


def world_step(
    curiosity: Curiosity,
    optimizer: optax.GradientTransformation,
    state: WorldState,
    experience_of: Callable[[Agent], Experience],
    key: PRNGKeyArray,
) -> tuple[WorldState, Learned]:
    """One gradient step on the curiosity's losses and one of its critic, then an update of the targets."""

    def losses(params: LearnerParams) -> tuple[dict[str, Loss], tuple[CuriosityOutput, Experience]]:
        experience = experience_of(params.agent)
        output = curiosity.score(params.curiosity, state.critic, state.targets, experience, key)
        return output.losses, (output, experience)

    done = gradient_step(optimizer, losses, state.params, state.optimizer)
    output, experience = done.aux
    counting = None if experience.next_obs is None else experience.valid  # a stream's resets are observations too
    targets = curiosity.follow(state.targets, done.params.agent.encoder, following(experience), counting)
    after = WorldState(done.params, output.critic, targets, done.optimizer, state.num_updates + 1)
    return after, Learned(output, experience, done.losses, done.grads)


def gradient_step(
    optimizer: optax.GradientTransformation,
    losses: Callable[[Any], tuple[dict[str, Loss], Any]],
    params: Any,
    optimizer_state: State,
) -> Step:
    """One optimiser step on the weighted sum of the mean losses. `losses` also returns auxiliary output."""

    def total(params: Any) -> tuple[Float[Array, ""], tuple[dict[str, Array], Any]]:
        found, aux = losses(params)
        means = masked_means(found)
        return weighted_sum(found, means), (means, aux)

    grads, (means, aux) = jax.grad(total, has_aux=True)(params)
    params, optimizer_state = descend(optimizer, grads, params, optimizer_state)
    return Step(params, optimizer_state, means, grads, aux)


def descend(
    optimizer: optax.GradientTransformation, grads: Params, params: Any, optimizer_state: State
) -> tuple[Any, State]:
    """Parameters and optimiser state after one step."""
    with jax.numpy_dtype_promotion("standard"):  # optax relies on it
        updates, optimizer_state = optimizer.update(grads, optimizer_state)
    return optax.apply_updates(params, updates), optimizer_state


def weighted_sum(losses: dict[str, Loss], means: dict[str, Float[Array, ""]]) -> Float[Array, ""]:
    return jnp.sum(jnp.stack([loss.weight * means[name] for name, loss in losses.items()]))


def masked_means(losses: dict[str, Loss]) -> dict[str, Float[Array, ""]]:
    sums = masked_sums(list(losses.values()))
    return {name: total / jnp.maximum(count, 1.0) for name, (total, count) in zip(losses, sums, strict=True)}


def masked_mean(loss: Loss) -> Float[Array, ""]:
    return masked_means({"loss": loss})["loss"]


def masked_sums(values: list[Loss]) -> list[tuple[Float[Array, ""], Float[Array, ""]]]:
    """Sum and count of each loss. The last axis, the streams, is summed for all losses at once: with several processes
    that is one message."""
    parts = []
    for value, mask, _ in values:
        others = tuple(range(value.ndim - 1))
        parts += [jnp.sum(jnp.where(mask, value, 0.0), others), jnp.sum(mask.astype(jnp.float32), others)]
    streams = [part for part in parts if part.ndim]
    added = iter(jnp.sum(jnp.stack(streams), axis=-1) if streams else ())
    sums = [next(added) if part.ndim else part for part in parts]
    return list(zip(sums[::2], sums[1::2], strict=True))


def make_optimizer(config: Config, trains_beliefs: bool = True) -> optax.GradientTransformation:
    """Adam with clipping of the global gradient norm. The encoder ω has a learning rate of its own, and so has the
    generator of hindsight vectors.

    The world model's learning rate decays: that of the curiosity's parameters, and of the agent's beliefs if it trains
    them.
    """
    world = config.world
    clip = optax.clip_by_global_norm(MAX_GRADIENT_NORM)
    adam = optax.flatten(optax.chain(clip, optax.adam(config.learning_rate)))  # one long vector is faster
    steps = [adam, optax.masked(optax.scale(config.network.encoder_speed), ENCODER)]
    if world.generator_speed != 1:
        steps.append(optax.masked(optax.scale(world.generator_speed), generators))
    if world.half_life:
        parts = BELIEFS if trains_beliefs else CURIOSITY
        steps.append(optax.masked(optax.scale_by_schedule(decay_of(world)), parts))
    return optax.chain(*steps)


def generators(params: Params) -> Params:
    """A mask that is true for the generators of hindsight vectors."""

    def is_generator(part: Any) -> bool:
        return isinstance(part, Generator)

    return jax.tree.map(is_generator, params, is_leaf=is_generator)

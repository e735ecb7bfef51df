"""What a curiosity in somebody's loop computes, as pure compiled functions."""

import functools
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import optax
from jaxtyping import Array, Bool, Float, Int, PRNGKeyArray, Shaped

from curiax import curiosity as curiosities
from curiax.agent.policy import make_agent
from curiax.curiosity.experience import from_pairs
from curiax.curiosity.inside import NUM_STRANGERS, Split, look_inside, split_errors
from curiax.curiosity.reward import Moments, grown_mean_and_scale, moments_grow, moments_init, pay
from curiax.curiosity.world_model import Learned, WorldModel, WorldState, make_optimizer, make_world_model
from curiax.dropin.settings import Setup
from curiax.envs.spaces import Segment
from curiax.training.cache import use_compilation_cache
from curiax.training.memory import device_memory, require_memory, size_of
from curiax.types import Agent, Experience


class Memory(NamedTuple):
    """Recurrent state of B trajectories between two segments."""

    belief: Float[Array, "B D"]
    previous_action: Shaped[Array, "B *action"]
    first: Bool[Array, " B"]  # the next observation is the first of an episode


class DropInState(NamedTuple):
    """Everything else that `update` changes."""

    world: WorldState
    moments: Moments  # of the errors; they normalise the rewards
    key: PRNGKeyArray


class Seen(NamedTuple):
    """What one forward pass tells of a segment."""

    reward: Float[Array, "T B"]
    error: Float[Array, "T B"]
    moments: Moments  # that include this segment
    memory: Memory  # after it
    beliefs: Float[Array, "T B D"]  # before each step


def model_of(setup: Setup) -> WorldModel:
    return make_world_model(curiosities.make(setup.config, setup.spec), make_optimizer(setup.config))


def begin(setup: Setup) -> DropInState:
    """The initial state. Raises a UserError, before anything is allocated, if it cannot fit in memory."""
    use_compilation_cache()
    shapes = initial_state.eval_shape(setup)
    require_memory(size_of(shapes) + size_of(shapes.world.params), "options, with these spaces", device_memory())
    return initial_state(setup)


@functools.partial(jax.jit, static_argnums=0)
def initial_state(setup: Setup) -> DropInState:
    key, key_agent, key_curiosity = jax.random.split(jax.random.key(setup.config.seed), 3)
    agent = make_agent(setup.config.network, setup.spec, key_agent)
    return DropInState(model_of(setup).init(key_curiosity, agent), moments_init(), key)


def fresh_memory(setup: Setup, batch_size: int) -> Memory:
    """The memory of B trajectories that all begin an episode."""
    vector = () if setup.actions.parts is None else (setup.actions.width,)
    return Memory(
        belief=jnp.zeros((batch_size, setup.config.network.belief)),
        previous_action=jnp.zeros((batch_size, *vector), jnp.float32 if vector else jnp.int32),
        first=jnp.ones(batch_size, bool),
    )


@functools.partial(jax.jit, static_argnums=0)
def see(
    setup: Setup, state: DropInState, memory: Memory, segment: Segment, number: Int[Array, ""] | int | None = None
) -> Seen:
    """Rewards of a segment, without training. Statistics include the segment, and the key is the next update's.

    `number` counts the segments since the last update: each has noise ε of its own.
    """
    key = jax.random.split(state.key)[1]
    key = key if number is None else jax.random.fold_in(key, number)
    seen: list[Experience] = []

    def experience(agent: Agent) -> Experience:
        seen.append(experience_of(agent, memory, segment))
        return seen[-1]

    error = model_of(setup).score(state.world, experience, key).error
    moments = moments_after(setup, state.moments, error, segment)
    after, beliefs = memory_after(memory, seen[-1], segment)
    return Seen(rewards(setup, moments, error, segment), error, moments, after, beliefs)


@functools.partial(jax.jit, static_argnums=0)
def update(
    setup: Setup, state: DropInState, memory: Memory, segment: Segment
) -> tuple[DropInState, Memory, dict[str, Array]]:
    """State, memory and metrics after one gradient step on a segment."""
    state, learned = step(setup, state, memory, segment)
    moments = moments_after(setup, state.moments, learned.output.error, segment)
    after, _ = memory_after(memory, learned.experience, segment)
    metrics = metrics_of(learned) | reward_metrics(setup, moments, learned.output.error, segment)
    return state._replace(moments=moments), after, metrics


@functools.partial(jax.jit, static_argnums=0)
def practise(
    setup: Setup, state: DropInState, memory: Memory, segment: Segment
) -> tuple[DropInState, dict[str, Array]]:
    """State and metrics after one gradient step on pieces of the replay. The reward statistics stay."""
    state, learned = step(setup, state, memory, segment)
    return state, metrics_of(learned)


def step(setup: Setup, state: DropInState, memory: Memory, segment: Segment) -> tuple[DropInState, Learned]:
    key, key_learn = jax.random.split(state.key)
    world, learned = model_of(setup).step(state.world, lambda agent: experience_of(agent, memory, segment), key_learn)
    return DropInState(world, state.moments, key), learned


@functools.partial(jax.jit, static_argnums=0)
def reward_metrics(setup: Setup, moments: Moments, error: Float[Array, "T B"], segment: Segment) -> dict[str, Array]:
    """Mean error and reward of new transitions, and the statistics that rewards are computed with."""
    mean, scale = grown_mean_and_scale(moments)
    both = {"error": error, "reward": rewards(setup, moments, error, segment)}
    named = {name: jnp.mean(x, where=segment.valid) for name, x in both.items()}
    return named | {"statistics/mean": mean, "statistics/scale": scale}


def rewards(setup: Setup, moments: Moments, error: Float[Array, "T B"], segment: Segment) -> Float[Array, "T B"]:
    """Rewards of transitions; 0 for steps that are none."""
    return jnp.where(segment.valid, pay(setup.bonus, *grown_mean_and_scale(moments), error), 0.0)


def metrics_of(learned: Learned) -> dict[str, Array]:
    losses = {f"loss/{name}": mean for name, mean in learned.losses.items()}
    return losses | learned.output.metrics | {"gradient": optax.tree.norm(learned.grads)}


@functools.partial(jax.jit, static_argnums=0)
def split(
    setup: Setup, state: DropInState, memory: Memory, segment: Segment, others: tuple[Memory, Segment]
) -> tuple[Split, Float[Array, "L K"]]:
    """Errors with and without hindsight; the vectors that stand for p(z) are those of `others`. Also the mean square
    deviation of the others' targets, which is the error of a constant prediction."""
    key = jax.random.split(state.key)[1]
    agent = state.world.params.agent
    inside, strange = (
        look_inside(setup.config, setup.spec, state.world, experience_of(agent, *pair), key)
        for pair in ((memory, segment), others)
    )
    loop, z, _ = strange.explained
    target, valid = strange.distance.project(loop.target[0]), others[1].valid
    mean = jnp.mean(target, axis=(0, 1), where=valid[..., None], keepdims=True)
    spread = strange.distance.reduce(jnp.square(target - mean), axis=-1)
    chosen = evenly(valid, max(1, valid.size // NUM_STRANGERS))
    return split_errors(inside, z[0].reshape(-1, z.shape[-1])[chosen]), spread


def evenly(valid: Bool[Array, "T B"], step: int) -> Int[Array, " n"]:
    """Indices of valid steps: of all of them in order every so many, from the start again where they end."""
    valid_first = jnp.argsort(~valid.ravel(), stable=True)
    return valid_first[jnp.arange(0, valid.size, step) % jnp.maximum(jnp.sum(valid.astype(jnp.int32)), 1)]


def experience_of(agent: Agent, memory: Memory, segment: Segment) -> Experience:
    """The segment as `Experience`, with this agent's beliefs."""
    before = (memory.first, memory.belief, memory.previous_action)
    return from_pairs(agent, segment.obs, segment.action, segment.next_obs, segment.ended, segment.valid, *before)


def memory_after(memory: Memory, experience: Experience, segment: Segment) -> tuple[Memory, Float[Array, "T B D"]]:
    """The memory after a segment, and the beliefs before each of its steps. Methods without beliefs leave it."""
    belief: Any = experience.belief
    if belief is None:
        return memory, jnp.broadcast_to(memory.belief, (*segment.ended.shape, memory.belief.shape[-1]))
    belief = jax.lax.stop_gradient(belief)
    after = Memory(belief[-1], segment.action[-1], segment.ended[-1])
    return after, jnp.concatenate([memory.belief[None], belief[:-1]])


def moments_after(setup: Setup, moments: Moments, error: Float[Array, "T B"], segment: Segment) -> Moments:
    return moments_grow(moments, error, segment.valid, setup.config.bonus.decay)

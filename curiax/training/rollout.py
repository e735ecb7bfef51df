"""Rollouts of JAX environments: T steps of every stream, inside the compiled program."""

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, PRNGKeyArray, Shaped

from curiax.agent.distributions import distribution_of, no_action
from curiax.agent.policy import believe_step
from curiax.envs.base import Environment, Stream, stream_reset, stream_step
from curiax.types import Agent, Trajectory


class Actor(NamedTuple):
    """B streams and the recurrent state of the acting network."""

    stream: Stream
    belief: Float[Array, "B D"]
    previous_action: Shaped[Array, "B *action"]


def actor_init(env: Environment, batch_size: int, belief_size: int, key: PRNGKeyArray) -> Actor:
    """Streams at the start of their first episodes."""
    noise = jax.vmap(env.draw)(jax.random.split(key, batch_size))
    return Actor(
        stream=stream_reset(env, noise, batch_size),
        belief=jnp.zeros((batch_size, belief_size)),
        previous_action=no_action(env.spec, batch_size),
    )


def rollout(
    env: Environment, agent: Agent, actor: Actor, num_steps: int, key: PRNGKeyArray
) -> tuple[Actor, Trajectory]:
    """T steps of every stream. Random numbers are drawn before the loop, which makes the loop faster."""
    batch_size = actor.belief.shape[0]
    key_env, key_act = jax.random.split(key)
    noise = jax.vmap(jax.vmap(env.draw))(jax.random.split(key_env, (num_steps, batch_size)))
    distribution = distribution_of(actor.previous_action)
    chances = distribution.draw(key_act, (num_steps, batch_size, env.spec.num_actions))

    def step(actor: Actor, randomness: tuple[Any, Array]) -> tuple[Actor, tuple]:
        noise, chance = randomness
        stream = actor.stream
        belief = believe_step(agent, actor.belief, stream.obs, actor.previous_action, stream.first)
        logits = agent.policy(belief)
        action = distribution.sample(logits, chance)
        next_stream, timestep = stream_step(env, stream, action, noise)
        recorded = (stream.obs, stream.first, stream.last, action, logits, timestep._replace(obs=()))
        return Actor(next_stream, belief, action), recorded

    start = actor
    actor, (obs, first, last, action, logits, timestep) = jax.lax.scan(step, start, (noise, chances))
    end = actor.stream
    return actor, Trajectory(
        obs=jnp.concatenate([obs, end.obs[None]]),
        first=jnp.concatenate([first, end.first[None]]),
        last=jnp.concatenate([last, end.last[None]]),
        action=action,
        logits=logits,
        reward=timestep.reward,
        terminated=timestep.terminated,
        belief=start.belief,
        previous_action=start.previous_action,
        info=timestep.info,
        episode=timestep.episode,
    )

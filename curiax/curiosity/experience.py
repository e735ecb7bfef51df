"""Trajectories as a curiosity method sees them: with beliefs, as a stream or as pairs of observations."""

import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Shaped

from curiax.agent.networks import embed_action
from curiax.agent.policy import believe
from curiax.types import Agent, Experience, Trajectory


def from_stream(agent: Agent, trajectory: Trajectory, belief: Float[Array, "B D"] | None = None) -> Experience:
    """A rollout with its beliefs, which start from `belief`, by default the acting network's.

    There are no beliefs if the agent has no core, as for methods that train none.
    """
    if not has_beliefs(agent):
        return Experience(trajectory.obs, trajectory.action, trajectory.valid)
    belief = trajectory.belief if belief is None else belief
    previous_action = jnp.concatenate([trajectory.previous_action[None], trajectory.action])
    beliefs = believe(agent, belief, trajectory.obs, previous_action, trajectory.first)
    embedded = embed_action(agent.action_embedding, trajectory.action)
    return Experience(trajectory.obs, trajectory.action, trajectory.valid, beliefs, embedded)


def from_pairs(
    agent: Agent,
    obs: Shaped[Array, "T B *obs"],
    action: Shaped[Array, "T B *action"],
    next_obs: Shaped[Array, "T B *obs"],
    ended: Bool[Array, "T B"],
    valid: Bool[Array, "T B"],
    first: Bool[Array, " B"],
    belief: Float[Array, "B D"],
    previous_action: Shaped[Array, "B *action"],
) -> Experience:
    """T transitions where `valid`, any of which may end an episode. The last three arguments are the state before the
    first step."""
    pairs = Experience(obs, action, valid, next_obs=next_obs, ended=ended)
    if not has_beliefs(agent):
        return pairs
    firsts = jnp.concatenate([first[None], ended[:-1]])
    previous_actions = jnp.concatenate([previous_action[None], action[:-1]])
    beliefs = believe(agent, belief, obs, previous_actions, firsts)
    return pairs._replace(belief=beliefs, action_embedding=embed_action(agent.action_embedding, action))


def has_beliefs(agent: Agent) -> bool:
    return agent.core != ()


def current(experience: Experience) -> Shaped[Array, "T B *obs"]:
    """o_t."""
    return experience.obs[: experience.valid.shape[0]]


def following(experience: Experience) -> Shaped[Array, "T B *obs"]:
    """o_{t+1}, before any reset."""
    return experience.obs[1:] if experience.next_obs is None else experience.next_obs


def observations(experience: Experience) -> Shaped[Array, "N B *obs"]:
    """All observations, each once: T+1 of a stream, or 2T of pairs."""
    return experience.obs if experience.next_obs is None else jnp.concatenate([experience.obs, experience.next_obs])


def ends(experience: Experience, x: Shaped[Array, "N B *any"]) -> tuple[Array, Array]:
    """x_t and x_{t+1} of every transition, where x was computed from `observations`."""
    num_steps = experience.valid.shape[0]
    return x[:num_steps], x[-num_steps:]

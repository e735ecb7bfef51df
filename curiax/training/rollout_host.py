"""Rollouts of environments on the host: the policy runs on the device, the environment in Python.

A thread collects batches, so that the learner can update on the last one meanwhile.
"""

from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, PRNGKeyArray, Shaped

from curiax.agent.distributions import distribution_of, no_action
from curiax.agent.policy import believe_step
from curiax.envs.base import HostEnvironment, HostStep
from curiax.types import Agent, Trajectory

NUM_ROOMS = 2**16  # a room is identified by two bytes


class HostActor(NamedTuple):
    """B streams on the host and the recurrent state of the acting network."""

    step: HostStep
    belief: Float[Array, "B D"]
    previous_action: Shaped[Array, "B *action"]


def host_actor_init(env: HostEnvironment, belief_size: int) -> HostActor:
    """Streams at the start of their first episodes."""
    step = env.reset()
    batch_size = len(step.first)
    return HostActor(step, jnp.zeros((batch_size, belief_size)), no_action(env.spec, batch_size))


@jax.jit
def act(
    agent: Agent,
    belief: Float[Array, "B D"],
    obs: Shaped[Array, "B *obs"],
    previous_action: Shaped[Array, "B *action"],
    first: Bool[Array, " B"],
    chance: Float[Array, "B A"],
) -> tuple[Array, Array, Array]:
    """Belief, logits and a sampled action: one device call per step."""
    belief = believe_step(agent, belief, obs, previous_action, first)
    logits = agent.policy(belief)
    return belief, logits, distribution_of(previous_action).sample(logits, chance)


def host_rollout(
    env: HostEnvironment, agent: Agent, actor: HostActor, num_steps: int, key: PRNGKeyArray
) -> tuple[HostActor, Trajectory]:
    """T steps of every stream, as in `rollout`. Observations keep their dtype, such as uint8."""
    step, belief, action = start = actor
    _, key_act = jax.random.split(key)
    shape = (num_steps, len(step.first), env.spec.num_actions)
    chances = np.asarray(distribution_of(action).draw(key_act, shape))
    obs = np.empty((num_steps + 1, *step.obs.shape), step.obs.dtype)
    obs[0] = step.obs
    steps, actions, logits = [step._replace(obs=())], [], []
    for t in range(num_steps):
        belief, logit, action = act(agent, belief, obs[t], action, step.first, chances[t])
        step = env.step(np.asarray(action))
        obs[t + 1] = step.obs
        steps.append(step._replace(obs=()))
        actions.append(action)
        logits.append(logit)
    after = jax.tree.map(lambda *parts: np.stack(parts), *steps[1:])
    return HostActor(step, belief, action), Trajectory(
        obs=jnp.asarray(obs),
        first=jnp.asarray(np.concatenate([start.step.first[None], after.first])),
        last=jnp.asarray(np.concatenate([start.step.last[None], after.last])),
        action=jnp.stack(actions),
        logits=jnp.stack(logits),
        reward=jnp.asarray(after.reward),
        terminated=jnp.asarray(after.terminated),
        belief=start.belief,
        previous_action=start.previous_action,
        info=jax.tree.map(jnp.asarray, after.info),
        episode=jax.tree.map(jnp.asarray, after.episode),
    )


class Found(NamedTuple):
    """What a run has found over all its episodes."""

    rooms: Bool[Array, " R"]


def nothing_found() -> Found:
    return Found(rooms=jnp.zeros(NUM_ROOMS, bool))


def remember(found: Found, trajectory: Trajectory) -> Found:
    """Adds the rooms of a batch, if the environment has rooms."""
    if "room" not in trajectory.info:
        return found
    return Found(found.rooms.at[trajectory.info["room"] % NUM_ROOMS].max(trajectory.valid))


def found(stream: Any) -> dict[str, float]:
    """The number of rooms found, as a metric; {} if the environment has no rooms."""
    count = int(stream.rooms.sum()) if isinstance(stream, Found) else 0
    return {"rooms_found": float(count)} if count else {}


class Collector:
    """Collects batches, one after the other, in a thread."""

    def __init__(self, make_env: Callable[[], HostEnvironment], num_steps: int, belief_size: int):
        self._make_env, self._num_steps, self._belief_size = make_env, num_steps, belief_size
        self._env: HostEnvironment | None = None
        self._actor: HostActor | None = None
        self._thread = ThreadPoolExecutor(1, "collector")

    def ask(self, agent: Agent, key: PRNGKeyArray) -> "Future[Trajectory]":
        """A future of the next batch, with actions of this agent."""
        return self._thread.submit(self._collect, agent, key)

    def _collect(self, agent: Agent, key: PRNGKeyArray) -> Trajectory:
        if self._env is None:  # made in the thread that uses it: an emulator may be bound to its thread
            self._env = self._make_env()
            self._actor = host_actor_init(self._env, self._belief_size)
        assert self._actor is not None
        self._actor, trajectory = host_rollout(self._env, agent, self._actor, self._num_steps, key)
        return trajectory

    def __enter__(self) -> "Collector":
        return self

    def __exit__(self, *_: object) -> None:
        self._thread.shutdown(cancel_futures=True)  # waits for the current batch
        if self._env is not None:
            self._env.close()

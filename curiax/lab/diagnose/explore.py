"""The experience of a diagnosis: of a curious agent, and in some streams of a random one."""

import time
from collections.abc import Callable, Generator, Iterator
from dataclasses import replace
from typing import Any, NamedTuple, TypeVar

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float

from curiax import envs
from curiax.config import Config
from curiax.errors import UserError
from curiax.training.rollout import actor_init, rollout
from curiax.training.rollout_host import host_actor_init, host_rollout
from curiax.training.train import bad_loss, train
from curiax.types import Agent, LearnerState, Trajectory

SHARE_AT_RANDOM = 0.25  # fraction of the streams that act at random
MANY = 10**12  # environment steps: more than any budget of time allows

Item = TypeVar("Item")


class Budget(NamedTuple):
    """A budget of environment steps or, if `steps` is None, of seconds."""

    seconds: float
    steps: int | None = None

    def part(self, share: float) -> "Budget":
        return Budget(share * self.seconds, None if self.steps is None else max(1, round(share * self.steps)))


class SomeAtRandom(NamedTuple):
    """A policy that acts uniformly at random in some streams."""

    policy: Any
    at_random: Bool[Array, " B"]

    def __call__(self, belief: Float[Array, "B D"]) -> Float[Array, "B A"]:
        return jnp.where(self.at_random[:, None], 0.0, self.policy(belief))


def explore(config: Config, budget: Budget, say: Callable[[str], None]) -> LearnerState:
    """The state of a curious agent, trained until the budget is spent."""
    config = replace(config, env_steps=budget.steps or MANY)
    state = None
    for row in spend(train(config), budget, lambda row: config.log_every * config.steps_per_update):
        if (loss := bad_loss(row.metrics)) is not None:
            raise UserError(f"{loss} is not finite after update {row.num_updates} of exploring {config.env}")
        state = row.state
    assert state is not None
    say(f"explored for {int(state.num_updates) * config.steps_per_update:,} steps")
    return state


def spend(items: Iterator[Item], budget: Budget, steps_of: Callable[[Item], int]) -> Iterator[Item]:
    """Items until the budget is spent, at least one. Time counts from the first item on, which includes compilation."""
    started, steps = None, 0
    for item in items:
        yield item
        started = time.monotonic() if started is None else started
        steps += steps_of(item)
        if (steps >= budget.steps) if budget.steps is not None else (time.monotonic() - started >= budget.seconds):
            return


def streams_at_random(batch_size: int) -> Bool[np.ndarray, " B"]:
    """A mask of the streams that act at random: the last ones, at least one and never all."""
    number = min(max(1, round(SHARE_AT_RANDOM * batch_size)), batch_size - 1)
    return np.arange(batch_size) >= batch_size - number


def mixed(agent: Agent, batch_size: int) -> Agent:
    """The agent with a policy that acts at random in some streams."""
    return agent._replace(policy=SomeAtRandom(agent.policy, jnp.asarray(streams_at_random(batch_size))))


def batches(config: Config, agent: Agent, seed: int) -> Generator[Trajectory, None, None]:
    """Trajectories of the agent, without end and without training."""
    agent = mixed(agent, config.batch_size)
    return (on_the_host if envs.on_host(config.env) else compiled)(config, agent, seed)


def compiled(config: Config, agent: Agent, seed: int) -> Generator[Trajectory, None, None]:
    env = envs.make(config.env)
    key, key_start = jax.random.split(jax.random.key(seed))
    actor = jax.jit(lambda key: actor_init(env, config.batch_size, config.network.belief, key))(key_start)
    step = jax.jit(lambda agent, actor, key: rollout(env, agent, actor, config.unroll, key))
    while True:
        key, key_rollout = jax.random.split(key)
        actor, trajectory = step(agent, actor, key_rollout)
        yield trajectory


def on_the_host(config: Config, agent: Agent, seed: int) -> Generator[Trajectory, None, None]:
    env = envs.make_host(config, config.batch_size, seed)
    key = jax.random.key(seed)
    try:
        actor = host_actor_init(env, config.network.belief)
        while True:
            key, key_rollout = jax.random.split(key)
            actor, trajectory = host_rollout(env, agent, actor, config.unroll, key_rollout)
            yield trajectory
    finally:
        env.close()

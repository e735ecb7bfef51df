"""Evaluates a frozen policy in environments that are stepped on the host."""

from typing import Any

import jax.numpy as jnp
import numpy as np
from jaxtyping import Int
from rich.console import Console

from curiax import envs
from curiax.agent.distributions import entropy_of
from curiax.config import Config
from curiax.envs.base import HostEnvironment
from curiax.training.progress import ProgressLine
from curiax.training.rollout_host import HostActor, act, host_actor_init
from curiax.types import Agent

MAX_STREAMS = 32  # episodes played in parallel


def play_on_host(
    config: Config, agent: Agent, num_episodes: int, seed: int, console: Console | None = None
) -> dict[str, Any]:
    """The fields of `evaluate.Episodes`."""
    batch_size = min(num_episodes, MAX_STREAMS)
    num_each = num_episodes // batch_size + (np.arange(batch_size) < num_episodes % batch_size)
    env = envs.make_host(config, batch_size, seed)
    try:
        with ProgressLine(console or Console(quiet=True), num_episodes) as line:
            actor = host_actor_init(env, config.network.belief)
            ended = play(env, agent, actor, num_each, np.random.default_rng(seed), line)
    finally:
        env.close()
    columns = {name: np.array([episode[name] for episode in ended], np.float32) for name in ended[0]}
    dwell, entropies = columns.pop("noise_dwell"), columns.pop("entropy")
    return {"outcome": columns | human_normalised(config.env, columns), "noise_dwell": dwell, "entropy": entropies}


def play(
    env: HostEnvironment,
    agent: Agent,
    actor: HostActor,
    num_each: Int[np.ndarray, " B"],
    chances: np.random.Generator,
    line: ProgressLine,
) -> list[dict[str, float]]:
    """The metrics of each episode. The number of episodes of a stream is fixed in advance: to take those that end first
    would favour short ones."""
    (step, belief, action), left, batch_size = actor, num_each.copy(), len(num_each)
    draw = chances.gumbel if env.spec.action_parts is None else chances.normal
    sums = np.zeros((3, batch_size))  # over the episode so far: steps, steps with noise, entropy
    ended, num_steps = [], 0
    while (left > 0).any():
        chance = draw(size=(batch_size, env.spec.num_actions)).astype(np.float32)
        belief, logits, action = act(agent, belief, jnp.asarray(step.obs), action, step.first, chance)
        reset, step = step.last, env.step(np.asarray(action))
        taken = np.stack([np.ones(batch_size), step.info["noise"], entropy_of(logits, action)])
        sums = np.where(reset, 0.0, sums + taken)
        for stream in np.flatnonzero(step.last & (left > 0)):
            length, noise, total = sums[:, stream]
            outcome = {name: float(value[stream]) for name, value in step.episode.items()}
            ended.append(outcome | {"noise_dwell": noise / length, "entropy": total / length})
            left[stream] -= 1
        num_steps += batch_size
        line.show(len(ended), f"{len(ended):,} of {num_each.sum():,} episodes  {num_steps:,} steps")
    return ended


def human_normalised(env: str, outcome: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    """The return on a scale where a random policy has 0 and a person 1; {} if these are not known."""
    reference = envs.profile_of(env).human
    if reference is None:
        return {}
    random, human = reference
    return {"human_normalised": ((outcome["return"] - random) / (human - random)).astype(np.float32)}

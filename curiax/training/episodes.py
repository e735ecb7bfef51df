"""Whole episodes of a frozen policy: for `curiax evaluate`, and now and then while a run trains."""

from collections.abc import Callable
from functools import lru_cache
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, PRNGKeyArray
from rich.console import Console

from curiax import envs
from curiax.agent.distributions import entropy_of
from curiax.agent.policy import greedy
from curiax.config import Config
from curiax.envs.base import Environment
from curiax.training.evaluate_host import play_on_host
from curiax.training.rollout import actor_init, rollout
from curiax.training.statistics import EVALUATION
from curiax.types import Agent, LearnerState, Trajectory

MAX_STREAMS = 128  # episodes played in parallel
NUM_EPISODES = 20  # of an evaluation while a run trains


class Episodes(NamedTuple):
    """Numbers of N whole episodes."""

    outcome: dict[str, Float[np.ndarray, " N"]]  # what the environment reports: return, length, …
    noise_dwell: Float[np.ndarray, " N"]  # share of the steps with noise
    entropy: Float[np.ndarray, " N"]  # of the policy, mean over the steps, in nats


def play_episodes(env: Environment, agent: Agent, num_episodes: int, key: PRNGKeyArray) -> Trajectory:
    """Whole episodes in parallel, each from its start to its end or the time limit."""
    key_start, key_rollout = jax.random.split(key)
    actor = actor_init(env, num_episodes, agent.core.recurrent.shape[0], key_start)
    whole = actor.stream._replace(limit=jnp.full(num_episodes, env.spec.time_limit, jnp.int32))
    return rollout(env, agent, actor._replace(stream=whole), env.spec.time_limit, key_rollout)[1]


def first_episode(trajectory: Trajectory) -> tuple[Bool[Array, "T B"], Bool[Array, "T B"]]:
    """Masks of the steps of each stream's first episode, and of the last of these steps."""
    ended = jnp.cumsum(trajectory.last.astype(jnp.int32), axis=0)
    within = ended[:-1] == 0
    return within, within & trajectory.last[1:]


def summarise(trajectory: Trajectory) -> dict[str, Any]:
    """The fields of `Episodes`."""
    within, end = first_episode(trajectory)
    entropy = entropy_of(trajectory.logits, trajectory.action)
    return {
        "outcome": {name: jnp.sum(jnp.where(end, x, 0.0), axis=0) for name, x in trajectory.episode.items()},
        "noise_dwell": jnp.mean(trajectory.info["noise"].astype(jnp.float32), axis=0, where=within),
        "entropy": jnp.mean(entropy, axis=0, where=within),
    }


@lru_cache(maxsize=2)
def player(name: str, num_episodes: int) -> Callable[[Agent, PRNGKeyArray], dict[str, Any]]:
    """Plays so many episodes in parallel and summarises them. Cached, so that it is compiled once."""
    env = envs.make(name)
    return jax.jit(lambda agent, key: summarise(play_episodes(env, agent, num_episodes, key)))


def evaluate(
    config: Config, state: LearnerState, num_episodes: int, seed: int = 0, console: Console | None = None
) -> Episodes:
    """Plays episodes with the acting policy; nothing is learned."""
    if envs.on_host(config.env):
        return Episodes(**play_on_host(config, state.acting, num_episodes, seed, console))
    num_batches = -(-num_episodes // MAX_STREAMS)
    batch = player(config.env, -(-num_episodes // num_batches))
    batches = [jax.device_get(batch(state.acting, key)) for key in jax.random.split(jax.random.key(seed), num_batches)]
    return Episodes(**jax.tree.map(lambda *parts: np.concatenate(parts)[:num_episodes], *batches))


def evaluation(config: Config, state: LearnerState, num_updates: int) -> dict[str, float]:
    """Metrics of the deterministic policy after so many updates; NaN in rows without an evaluation, {} in runs without.

    The seed of the episodes depends on that of the run and on the update.
    """
    if not config.evaluate_every:
        return {}
    names = [EVALUATION + name for name in ("return", "length", "noise_dwell", *played_scores(config.env))]
    if num_updates % config.evaluate_every >= config.log_every:
        return dict.fromkeys(names, float("nan"))
    seed = np.random.SeedSequence([config.seed, num_updates, NUM_EPISODES]).generate_state(1)[0]
    acting = greedy(state.acting, envs.spec_of(config))
    played = evaluate(config, state._replace(acting=acting), NUM_EPISODES, int(seed) % 2**31)
    columns = played.outcome | {"noise_dwell": played.noise_dwell}
    return {name: float(np.mean(columns.get(name.removeprefix(EVALUATION), np.nan))) for name in names}


def played_scores(env: str) -> list[str]:
    """Other scores of the environment that an episode has by itself."""
    return [score.metric for score in envs.scores_of(env) if not score.accumulates and score.metric != "return"]

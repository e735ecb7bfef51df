"""The program, top to bottom: a generator of rows of metrics. Nothing here writes; what consumes the rows does."""

from collections.abc import Iterator
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from curiax import envs
from curiax.config import Config
from curiax.learner import Learner, Metrics, make_learner
from curiax.types import LearnerState


class Row(NamedTuple):
    """A log interval."""

    num_updates: int
    metrics: dict[str, float]
    state: LearnerState


def train(config: Config, state: LearnerState | None = None) -> Iterator[Row]:
    """Trains from the start, or goes on from a state, and yields a row after every `config.log_every` updates."""
    learner = make_learner(config, envs.make(config.env, config.coin_reward))
    current = initial_state(config) if state is None else state
    run_interval = jax.jit(lambda state: interval(learner, config.log_every, state))
    while int(current.num_updates) < config.num_updates:
        current, metrics = run_interval(current)
        yield Row(int(current.num_updates), summarise(metrics, config), current)


def initial_state(config: Config) -> LearnerState:
    """Where a run begins: a function of the config alone."""
    learner = make_learner(config, envs.make(config.env, config.coin_reward))
    return jax.jit(learner.init)(jax.random.key(config.seed))


def interval(learner: Learner, num_updates: int, state: LearnerState) -> tuple[LearnerState, Metrics]:
    """Many updates as one compiled program; their metrics are added up, which keeps ratios of sums exact."""

    def body(state: LearnerState, _: None) -> tuple[LearnerState, Metrics]:
        return learner.update(state)

    state, metrics = jax.lax.scan(body, state, None, length=num_updates)
    return state, jax.tree.map(lambda x: jnp.sum(x, axis=0), metrics)


def summarise(metrics: Metrics, config: Config) -> dict[str, float]:
    """Means over the interval; NaN where there was nothing to count, such as episodes that ended."""
    values = {name: float(value) for name, value in jax.device_get(metrics).items()}
    row = {}
    for name, value in values.items():
        if name.endswith("/sum"):
            count = values[name.removesuffix("/sum") + "/count"]
            row[name.removesuffix("/sum")] = value / count if count else float("nan")
        elif not name.endswith("/count"):
            row[name] = value / config.log_every
    return row


def bad_loss(metrics: dict[str, float]) -> str | None:
    """The name of the first loss or gradient that is not a finite number."""
    watched = (name for name in metrics if name.startswith(("loss/", "gradient/")))
    return next((name for name in watched if not np.isfinite(metrics[name])), None)

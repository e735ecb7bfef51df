"""The program, top to bottom: a generator of rows of metrics. Nothing here writes; what consumes the rows does."""

from collections.abc import Iterator
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool

from curiax import envs
from curiax.config import Config
from curiax.envs.base import where
from curiax.learner import Learner, Metrics, make_learner
from curiax.types import LearnerState


class Row(NamedTuple):
    """A log interval."""

    num_updates: int
    metrics: dict[str, float]
    maps: dict[str, np.ndarray]  # sums per cell, where the environment has cells: "visits", "reward"
    state: LearnerState


def train(config: Config, state: LearnerState | None = None) -> Iterator[Row]:
    """Trains from the start, or goes on from a state, and yields a row after every `config.log_every` updates."""
    learner = make_learner(config, envs.make(config.env, config.coin_reward))
    current = initial_state(config) if state is None else state
    run_interval = jax.jit(lambda state: interval(learner, config.log_every, state))
    while int(current.num_updates) < config.num_updates:
        current, metrics = run_interval(current)
        yield Row(int(current.num_updates), summarise(metrics, config), cell_maps(metrics), current)


def initial_state(config: Config) -> LearnerState:
    """Where a run begins: a function of the config alone."""
    learner = make_learner(config, envs.make(config.env, config.coin_reward))
    return jax.jit(learner.init)(jax.random.key(config.seed))


def interval(learner: Learner, num_updates: int, state: LearnerState) -> tuple[LearnerState, Metrics]:
    """Many updates as one compiled program; their metrics are added up, which keeps ratios of sums exact."""

    def body(state: LearnerState, _: None) -> tuple[LearnerState, Metrics]:
        return learner.update(state)

    state, metrics = jax.lax.scan(body, state, None, length=num_updates)
    counted = until_bad(metrics)
    return state, jax.tree.map(lambda x: jnp.sum(where(counted, x, jnp.zeros_like(x)), axis=0), metrics)


def until_bad(metrics: Metrics) -> Bool[Array, " N"]:
    """False after the first of N updates in which a loss is not finite: from there it spreads to all others."""
    finite = jnp.stack([jnp.isfinite(metrics[name]) for name in metrics if watched(name)]).all(axis=0)
    return jnp.concatenate([jnp.ones(1, bool), jnp.cumprod(finite[:-1]).astype(bool)])


def watched(name: str) -> bool:
    return name.startswith(("loss/", "gradient/"))


def summarise(metrics: Metrics, config: Config) -> dict[str, float]:
    """Means over the interval; NaN where there was nothing to count, such as episodes that ended."""
    values = {name: float(value) for name, value in jax.device_get(metrics).items() if not name.startswith("map/")}
    row = {}
    for name, value in values.items():
        if name.endswith("/sum"):
            count = values[name.removesuffix("/sum") + "/count"]
            row[name.removesuffix("/sum")] = value / count if count else float("nan")
        elif not name.endswith("/count"):
            row[name] = value / config.log_every
    return row


def cell_maps(metrics: Metrics) -> dict[str, np.ndarray]:
    maps = {name: value for name, value in metrics.items() if name.startswith("map/")}
    return {name.removeprefix("map/"): np.asarray(value, np.float32) for name, value in maps.items()}


def bad_loss(metrics: dict[str, float]) -> str | None:
    """The name of the loss or gradient that is not a finite number; of several, the one the others follow from."""
    bad = [name for name in metrics if watched(name) and not np.isfinite(metrics[name])]
    return min(bad, key=_place_downstream, default=None)


def _place_downstream(name: str) -> int:
    """A prediction comes first, then hindsight, which corrects it; these make the rewards for value and policy."""
    later = ("loss/reconstruction", "loss/invariance", "loss/value", "loss/policy", "loss/entropy", "gradient/")
    return next((place for place, start in enumerate(later, 1) if name.startswith(start)), 0)

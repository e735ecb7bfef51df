"""The training loop, as a generator of rows of metrics. It writes no files; its caller does."""

import functools
import math
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import Mesh
from jaxtyping import Array, Bool, Int, PRNGKeyArray

from curiax import curiosity, envs
from curiax.config import Config
from curiax.envs.base import HostEnvironment, where
from curiax.errors import EnvironmentFailed, UserError, cause
from curiax.training.devices import assemble, local, replicated, shard_state, state_shardings, with_mesh
from curiax.training.episodes import evaluation
from curiax.training.learner import BatchLearner, Learner, Metrics, make_batch_learner, make_learner
from curiax.training.memory import device_memory, require_memory, size_of
from curiax.training.processes import agree, local_batch_size, own_key, rank
from curiax.training.rollout_host import Collector, found, nothing_found, remember
from curiax.types import LearnerState, Trajectory

CALL_SECONDS = 10.0  # an interval that takes longer is computed in several calls of one program
Watch = Callable[[int], int]  # called with the number of updates; a result other than 0 ends training without a row


class Row(NamedTuple):
    """Metrics of a log interval, and the state after it."""

    num_updates: int
    metrics: dict[str, float]
    maps: dict[str, np.ndarray]  # sums per cell: "visits", "reward", "error"; {} if the environment has no cells
    state: LearnerState


def never(num_updates: int) -> int:
    return 0


def train(
    config: Config, state: LearnerState | None = None, mesh: Mesh | None = None, watch: Watch = never
) -> Iterator[Row]:
    """Trains from the start or from a state, and yields a row after every `config.log_every` updates.

    With several processes, all get the same metrics; the state holds the streams of this process only. Within an
    interval that takes long, `watch` is called every few updates.
    """
    start = shard_state(mesh, initial_state(config) if state is None else state)
    intervals = host_intervals if envs.on_host(config.env) else compiled_intervals
    derive = envs.spec_of(config).derive
    for current, metrics in intervals(config, start, mesh, watch):
        means = summarise(metrics, config)
        summary = means | derive(means | means_of_run(current)) | found(current.stream)
        num_updates = int(current.num_updates)
        acting = current._replace(acting=local(mesh, current.acting))
        summary |= evaluation(config, acting, num_updates)
        yield Row(num_updates, summary, cell_maps(metrics), current)


def initial_state(config: Config) -> LearnerState:
    """The state before the first update. It depends on the config only."""
    return jax.jit(init_of(config))(jax.random.key(config.seed))


def init_of(config: Config) -> Callable[[PRNGKeyArray], LearnerState]:
    """The function that makes the initial state."""
    return (make_host_learner(config) if envs.on_host(config.env) else learner_of(config)).init


def check_memory(config: Config) -> None:
    """Raises a UserError if state, gradients and a batch cannot fit in memory. Allocates nothing.

    The estimate is a lower bound: a batch has observations, embeddings and beliefs, and for hindsight the first layer
    of the critic for each pair of trajectories.
    """
    state = jax.eval_shape(init_of(config), jax.eval_shape(lambda: jax.random.key(config.seed)))
    network, world = config.network, config.world
    num_steps = config.unroll * local_batch_size(config.batch_size)
    floats = network.embedding + network.belief
    if curiosity.uses_hindsight(config.curiosity):
        units = 1 if world.critic == "separable" else world.critic_hidden[0]
        floats += world.contrast_share * config.batch_size * units
    batch = num_steps * (math.prod(envs.spec_of(config).observation_shape) + 4 * floats)
    what = f"--batch-size {config.batch_size} --unroll {config.unroll}, with these layers"
    require_memory(size_of(state) + size_of(state.params) + batch, what, device_memory())


@functools.lru_cache(maxsize=1)
def learner_of(config: Config) -> Learner:
    """The learner of a config. Cached, so that it is compiled once."""
    return make_learner(config, envs.make(config.env))


def compiled_intervals(
    config: Config, state: LearnerState, mesh: Mesh | None, watch: Watch
) -> Iterator[tuple[LearnerState, Metrics]]:
    """State and metrics after each log interval, with environment and learner in one compiled program."""
    update = jax.jit(learner_of(config).update)  # traced once: for the shapes of its metrics, and in the loop
    shardings = (state_shardings(mesh, state), replicated(mesh))

    def compiled(function: Callable, out_shardings: Any = shardings[1]) -> Callable:
        return with_mesh(mesh, jax.jit(function, out_shardings=out_shardings))

    run = compiled(functools.partial(some_updates, update), shardings)
    sums = compiled(add_up)
    metrics = compiled(functools.partial(no_metrics, update, config.log_every))(state)
    for first, num_updates in calls(config.num_updates - int(state.num_updates), config.log_every):
        state, metrics = jax.block_until_ready(run(state, metrics, first, first + num_updates))
        if first + num_updates == config.log_every:
            yield state, sums(metrics)
        elif watch(int(state.num_updates)):
            return


def calls(num_updates: int, log_every: int) -> Iterator[tuple[int, int]]:
    """The position in its interval and the number of updates of each call. The first two are short: one compiles, the
    other is measured."""
    done, num_calls, size = 0, 0, 1
    while done < num_updates:
        first, started = done % log_every, time.perf_counter()
        now = min(size, log_every - first)
        yield first, now
        done, num_calls = done + now, num_calls + 1
        if num_calls == 2:
            seconds = time.perf_counter() - started
            size = agree(max(int(min(CALL_SECONDS / seconds, log_every)), 1))


def some_updates(
    update: Callable, state: LearnerState, metrics: Metrics, first: Int[Array, ""] | int, last: Int[Array, ""] | int
) -> tuple[LearnerState, Metrics]:
    """The state after the updates `first` to `last` of an interval, and the metrics [N, ...] with theirs filled in.

    `first` and `last` are traced, so one program serves every division of an interval, with the same bits.
    """

    def body(index: Int[Array, ""], carry: tuple[LearnerState, Metrics]) -> tuple[LearnerState, Metrics]:
        state, of_update = update(carry[0])
        return state, jax.tree.map(lambda all, x: all.at[index].set(x), carry[1], of_update)

    return jax.lax.fori_loop(first, last, body, (state, metrics))


def no_metrics(update: Callable, num_updates: int, state: LearnerState) -> Metrics:
    """Zeros [N, ...] of the shapes of an update's metrics."""
    _, metrics = jax.eval_shape(update, state)
    return jax.tree.map(lambda x: jnp.zeros((num_updates, *x.shape), x.dtype), metrics)


def interval(learner: Learner, num_updates: int, state: LearnerState) -> tuple[LearnerState, Metrics]:
    """The state after `num_updates` updates, and the sums of their metrics, which keep ratios of sums exact."""
    update = jax.jit(learner.update)
    state, metrics = some_updates(update, state, no_metrics(update, num_updates, state), 0, num_updates)
    return state, add_up(metrics)


def host_intervals(
    config: Config, state: LearnerState, mesh: Mesh | None, watch: Watch
) -> Iterator[tuple[LearnerState, Metrics]]:
    """State and metrics after each log interval, with the environment on the host.

    The next batch is collected while the learner updates on the last one, so its policy is one update behind, or up to
    date with `config.sync`. Every call starts new episodes: the state does not hold the emulators.
    """
    learn = with_mesh(mesh, jax.jit(make_host_learner(config).learn, out_shardings=replicated(mesh)))
    add_up_all = jax.jit(lambda rows: add_up(jax.tree.map(lambda *values: jnp.stack(values), *rows)))
    begun, end = int(state.num_updates), config.num_updates
    asked, rows = None, []
    with Collector(lambda: begin_episodes(config, begun), config.unroll, config.network.belief) as collector:
        for update in range(begun, end):
            key, key_rollout, key_learn = jax.random.split(state.key, 3)
            asked = asked or collector.ask(local(mesh, state.acting), own_key(local(mesh, key_rollout)))
            trajectory = assemble(mesh, wait_for(asked, config, update))
            ahead = not config.sync and update + 1 < end
            key_next = jax.random.split(key, 3)[1]
            asked = collector.ask(local(mesh, state.acting), own_key(local(mesh, key_next))) if ahead else None
            state, metrics = learn(state._replace(key=key), trajectory, key_learn)
            rows.append(metrics)
            if (update + 1) % config.log_every == 0:
                yield state, add_up_all(rows)
                rows = []
            elif watch(update + 1):
                return


def make_host_learner(config: Config) -> BatchLearner:
    """A learner that also records the rooms found over all episodes."""
    init, learn = make_batch_learner(config, envs.spec_of(config), lambda key: nothing_found())

    def learn_and_remember(
        state: LearnerState, trajectory: Trajectory, key: PRNGKeyArray
    ) -> tuple[LearnerState, Metrics]:
        return learn(state._replace(stream=remember(state.stream, trajectory)), trajectory, key)

    return BatchLearner(init, learn_and_remember)


def begin_episodes(config: Config, num_updates: int) -> HostEnvironment:
    """The environments of this process. Their seed depends on the update, so a resumed run does not repeat episodes."""
    seed = np.random.SeedSequence([config.seed, num_updates, rank()]).generate_state(1)[0]
    return envs.make_host(config, local_batch_size(config.batch_size), int(seed) % 2**31)


def wait_for(asked: "Future[Trajectory]", config: Config, num_updates: int) -> Trajectory:
    """The batch, when it is collected."""
    try:
        return asked.result()
    except Exception as error:  # an emulator may raise anything
        if isinstance(error, UserError) and not isinstance(error, EnvironmentFailed):
            raise
        reason = error.reason if isinstance(error, EnvironmentFailed) else cause(error)
        raise EnvironmentFailed(config.env, reason, f" after update {num_updates}") from error


def add_up(metrics: Metrics) -> Metrics:
    """Sums of the metrics of N updates, up to the first bad one."""
    counted = until_bad(metrics)
    return jax.tree.map(lambda x: jnp.sum(where(counted, x, jnp.zeros_like(x)), axis=0), metrics)


def until_bad(metrics: Metrics) -> Bool[Array, " N"]:
    """A mask of N updates: false after the first in which a loss is not finite, since NaN spreads to all losses."""
    watching = [name for name in metrics if watched(name)] or ["noise_dwell/sum"]  # if nothing is learned
    finite = jnp.stack([jnp.isfinite(metrics[name]) for name in watching]).all(axis=0)
    return jnp.concatenate([jnp.ones(1, bool), jnp.cumprod(finite[:-1]).astype(bool)])


def watched(name: str) -> bool:
    """Whether training stops if this metric is not finite."""
    return name.startswith(("loss/", "gradient/"))


def summarise(metrics: Metrics, config: Config) -> dict[str, float]:
    """Means over the interval; NaN if there was nothing to count, such as no ended episode."""
    values = {name: float(value) for name, value in jax.device_get(metrics).items() if not name.startswith("map/")}
    row = {}
    for name, value in values.items():
        if name.endswith("/sum"):
            count = values[name.removesuffix("/sum") + "/count"]
            row[name.removesuffix("/sum")] = value / count if count else float("nan")
        elif not name.endswith("/count"):
            row[name] = value / config.log_every
    return row


def means_of_run(state: LearnerState) -> dict[str, float]:
    """Means over all episodes so far, where they are tallied."""
    if not state.tally:
        return {}
    totals = {name: float(total) for name, total in jax.device_get(state.tally).items()}
    number = totals.pop("episodes") or float("nan")
    return {name: total / number for name, total in totals.items()}


def cell_maps(metrics: Metrics) -> dict[str, np.ndarray]:
    """The metrics that are maps."""
    maps = {name: value for name, value in metrics.items() if name.startswith("map/")}
    return {name.removeprefix("map/"): np.asarray(value, np.float32) for name, value in maps.items()}


def bad_loss(metrics: dict[str, float]) -> str | None:
    """The name of a loss or gradient that is not finite, or None. Of several, the first in the order of computation."""
    bad = [name for name in metrics if watched(name) and not np.isfinite(metrics[name])]
    return min(bad, key=_place_downstream, default=None)


def _place_downstream(name: str) -> int:
    """The place of a loss in the order of computation: prediction, hindsight, value, policy, gradients."""
    later = ("loss/reconstruction", "loss/invariance", "loss/value", "loss/policy", "loss/entropy", "gradient/")
    return next((place for place, start in enumerate(later, 1) if name.startswith(start)), 0)

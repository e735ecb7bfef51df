"""`curiax train`: writes the rows of `train` to the run's directory, shows progress, and saves when it is stopped."""

import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from jax.sharding import Mesh
from rich.console import Console

from curiax.config import Config
from curiax.envs import on_host, scores_of, spec_of
from curiax.errors import EnvironmentFailed, UserError
from curiax.studies.runner.measure import size
from curiax.studies.runner.progress import duration
from curiax.studies.scores import final, read_columns
from curiax.training.devices import gather
from curiax.training.processes import agree, rank
from curiax.training.progress import ProgressLine
from curiax.training.run.directory import Run, default_directory
from curiax.training.signals import Stop, polite_stop
from curiax.training.train import Row, bad_loss, initial_state, train
from curiax.types import LearnerState

PATIENCE = 10.0  # seconds; a signal waits for the next row if it will come within these
SHORT = 60.0  # seconds; shorter runs get no estimate


class Elsewhere:
    """Stands for `Run` in all processes but the first. They only compute; the first writes and prints."""

    def __init__(self, directory: Path, config: Config, fresh: bool):
        self.directory, self.config, self.notes, self.done, self.seconds = directory, config, (), False, 0.0

    def restore(self, initial: LearnerState) -> None:
        """Nothing: the state of the first process is sent to all."""

    def ignore(self, *_: object) -> None: ...

    log = save = finish = go_back = ignore

    def close(self) -> None: ...


def run_training(
    config: Config, directory: Path | None, fresh: bool, console: Console, mesh: Mesh | None = None
) -> int:
    """Trains until the end or a signal. Returns the exit code."""
    with polite_stop(console.print) as stop:  # before all else: JAX may swallow a KeyboardInterrupt
        kind, console = (Run, console) if rank() == 0 else (Elsewhere, Console(quiet=True))
        run = kind(directory or default_directory(config), config, fresh)
        try:
            return _run(run, console, stop, mesh)
        finally:
            run.close()


def _run(run: Run | Elsewhere, console: Console, stop: Stop, mesh: Mesh | None) -> int:
    config = run.config
    title = f"{config.env}  {config.curiosity}  seed {config.seed}  {config.preset}  →  {run.directory}"
    console.print(title, markup=False)
    if agree(run.done):
        for note in run.notes:
            console.print(note, markup=False)
        console.print(f"already done: {describe(run)}")
        return 0
    console.print(f"{size(config, config.num_updates * config.steps_per_update)} in {config.num_updates:,} updates")
    with Display(config, console) as display:
        initial = initial_state(config)
        state = restored(run, initial, console)
        display.begin(int(state.num_updates))
        num_updates, stopped = _train(run, state, display, stop, mesh)
    if stopped and num_updates < config.num_updates:
        stop.wait_for_line()
        console.print(f"saved at update {num_updates:,}; the same command goes on from here")
        return 128 + stopped
    run.finish({"update": num_updates})
    console.print(describe(run))
    return 0


def restored(run: Run | Elsewhere, initial: LearnerState, console: Console) -> LearnerState:
    """The state of the newest checkpoint, or the initial one."""
    state = run.restore(initial)
    if on_host(run.config.env):
        run.go_back(0 if state is None else int(state.num_updates))
    for note in run.notes:
        console.print(note, markup=False)
    if state is None:
        return initial
    console.print(f"going on from update {int(state.num_updates):,} of {run.config.num_updates:,}")
    if on_host(run.config.env):
        console.print("new episodes start: checkpoints do not hold the state of these environments")
    return state


def _train(
    run: Run | Elsewhere, state: LearnerState, display: "Display", stop: Stop, mesh: Mesh | None
) -> tuple[int, int]:
    """Logs and saves rows until the end or a signal. Returns the update that was reached, and the signal or 0."""
    config, num_updates = run.config, int(state.num_updates)
    before, started = run.seconds, time.perf_counter()
    stopped = agree(stop.signal or 0)  # a signal to one process stops all at the same row
    if stopped:
        return num_updates, stopped

    def watch(num_updates: int) -> int:
        display.show_within(num_updates)
        return agree((stop.signal or 0) if display.seconds_to_row(num_updates) > PATIENCE else 0)

    for row in saved_if_cut_short(run, train(config, state, mesh, watch), mesh):
        if (loss := bad_loss(row.metrics)) is not None:
            raise UserError(f"{loss} is not finite after update {row.num_updates}; the last good checkpoint is kept")
        run.log(row.num_updates, row.metrics, before + time.perf_counter() - started, row.maps)
        display.show(row.num_updates, row.metrics)
        num_updates = row.num_updates
        finished, stopped = num_updates >= config.num_updates, agree(stop.signal or 0)
        if finished or stopped or num_updates % config.checkpoint_every < config.log_every:
            run.save(gather(mesh, row.state))
        if stopped:
            return num_updates, stopped
    return num_updates, agree(stop.signal or 0)


def saved_if_cut_short(run: Run | Elsewhere, rows: Iterator[Row], mesh: Mesh | None) -> Iterator[Row]:
    """The same rows. Saves the state of the last row if they end, or if the environment fails."""
    state = None
    try:
        for row in rows:
            state = row.state
            yield row
    except EnvironmentFailed:
        if state is not None:
            run.save(state)
        raise
    if state is not None:
        run.save(gather(mesh, state))  # does nothing if it is saved already


class Display:
    """The progress line of a run, and once, how long it will take."""

    def __init__(self, config: Config, console: Console):
        self._config, self._console = config, console
        self._line = ProgressLine(console, config.num_updates, first_at_once=True)
        self._created = time.perf_counter()
        self._first: tuple[float, int] | None = None  # time and number of the first update, when all is compiled
        self._last: tuple[float, int] | None = None
        self._metrics: dict[str, float] = {}
        self._estimated = False

    def __enter__(self) -> "Display":
        self._line.__enter__()
        return self

    def __exit__(self, *error: object) -> None:
        self._line.__exit__(*error)

    def begin(self, num_updates: int) -> None:
        """The number of updates before training goes on."""
        self._line.begin(num_updates)

    def show(self, num_updates: int, metrics: dict[str, float]) -> None:
        """Shows a row."""
        self._metrics = metrics
        rate = self._rate(num_updates)
        self._estimate(num_updates)
        self._line.show(num_updates, progress_text(self._config, num_updates, metrics, rate))

    def show_within(self, num_updates: int) -> None:
        """Shows the progress within an interval, with the metrics of the last row."""
        rate = self._rate(num_updates)
        self._estimate(num_updates)
        self._line.show_within(num_updates, progress_text(self._config, num_updates, self._metrics, rate))

    def seconds_to_row(self, num_updates: int) -> float:
        """How long the rest of the interval will take; infinite if no update is measured yet."""
        return self._seconds_for(-num_updates % self._config.log_every, num_updates)

    def _seconds_for(self, more: int, num_updates: int) -> float:
        if self._first is None or num_updates == self._first[1]:
            return float("inf")
        return more * (time.perf_counter() - self._first[0]) / (num_updates - self._first[1])

    def _rate(self, num_updates: int) -> float:
        """Environment steps per second since the last call; NaN at the first one, which includes compilation."""
        now = (time.perf_counter(), num_updates)
        before, self._last = self._last, now
        if before is None:
            self._first = now
            return float("nan")
        return (now[1] - before[1]) * self._config.steps_per_update / (now[0] - before[0])

    def _estimate(self, num_updates: int) -> None:
        """Prints once how long training will take, if it is minutes, from PATIENCE seconds of updates."""
        assert self._first is not None
        left = self._seconds_for(self._config.num_updates - num_updates, num_updates)
        measured = np.isfinite(left) and time.perf_counter() - self._first[0] >= PATIENCE
        if self._estimated or not measured:
            return
        self._estimated = True
        compiled = duration(self._first[0] - self._created)
        if left >= SHORT:
            self._console.print(f"compiled in {compiled}; about {duration(left)} to go on this machine")


def progress_text(config: Config, num_updates: int, metrics: dict[str, float], rate: float) -> str:
    """Steps, speed and scores in one line."""
    steps = num_updates * config.steps_per_update / 1e6
    total = config.num_updates * config.steps_per_update / 1e6
    parts = [f"{steps:.2f}/{total:.2f} M steps", f"{rate:,.0f} steps/s" if np.isfinite(rate) else "… steps/s"]
    for score in scores_of(config.env):
        value = metrics.get(score.metric, np.nan)
        if np.isfinite(value):
            parts.append(f"{score.label} {value:,.{0 if abs(value) >= 100 else 2}f}")
    if "noise_dwell" in metrics:
        parts.append(f"noise dwell {metrics['noise_dwell']:.2f}")
    return "  ".join(parts)


def describe(run: Run | Elsewhere) -> str:
    """The scores of a run: means over the last quarter of training."""
    if isinstance(run, Elsewhere):
        return ""
    columns = read_columns(run.directory / "metrics.csv")
    if not columns:
        return "but metrics.csv has no rows"
    steps, minutes = columns["env_steps"][-1] / 1e6, columns["seconds"][-1] / 60
    parts = [f"{steps:.2f} M steps in {minutes:.1f} min; over the last quarter:"]
    means = {name: final(columns, name) for name in columns}
    means |= spec_of(run.config).derive(means)  # from the means: derived row by row it would be too low
    means |= {one.metric: final(columns, one.metric, True) for one in scores_of(run.config.env) if one.accumulates}
    titles = {score.metric: score.title for score in scores_of(run.config.env)} | {"noise_dwell": "noise dwell"}
    parts += [f"{title} {means[name]:.2f}" for name, title in titles.items() if np.isfinite(means.get(name, np.nan))]
    return "  ".join(parts)

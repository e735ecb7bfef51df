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
from curiax.studies.scores import final, read_columns
from curiax.training.devices import gather
from curiax.training.processes import agree, rank
from curiax.training.progress import ProgressLine
from curiax.training.run.directory import Run, default_directory
from curiax.training.signals import Stop, polite_stop
from curiax.training.train import Row, bad_loss, initial_state, train
from curiax.types import LearnerState


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
    with polite_stop() as stop:  # before all else: JAX may swallow a KeyboardInterrupt
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
    initial = initial_state(config)
    state = run.restore(initial)
    if on_host(config.env) and not run.done:
        run.go_back(0 if state is None else int(state.num_updates))
    for note in run.notes:
        console.print(note, markup=False)
    if state is not None:
        console.print(f"going on from update {int(state.num_updates):,} of {config.num_updates:,}")
        if on_host(config.env) and not run.done:
            console.print("new episodes start: checkpoints do not hold the state of the emulators")
    if agree(run.done):
        console.print(f"already done: {describe(run)}")
        return 0

    num_updates = 0 if state is None else int(state.num_updates)
    before, started = run.seconds, time.perf_counter()
    stopped = agree(stop.signal or 0)  # a signal to one process stops all at the same row
    with Display(config, console) as display:
        for row in () if stopped else saved_if_it_fails(run, train(config, state or initial, mesh)):
            if (loss := bad_loss(row.metrics)) is not None:
                raise UserError(
                    f"{loss} is not finite after update {row.num_updates}; the last good checkpoint is kept"
                )
            run.log(row.num_updates, row.metrics, before + time.perf_counter() - started, row.maps)
            display.show(row.num_updates, row.metrics)
            num_updates = row.num_updates
            finished, stopped = num_updates >= config.num_updates, agree(stop.signal or 0)
            if finished or stopped or num_updates % config.checkpoint_every < config.log_every:
                run.save(gather(mesh, row.state))
            if stopped:
                break
    if stopped and num_updates < config.num_updates:
        console.print(f"saved at update {num_updates:,}; the same command goes on from here")
        return 128 + stopped
    run.finish({"update": num_updates})
    console.print(describe(run))
    return 0


def saved_if_it_fails(run: Run | Elsewhere, rows: Iterator[Row]) -> Iterator[Row]:
    """The same rows. If the environment fails, saves the state of the last row first."""
    state = None
    try:
        for row in rows:
            state = row.state
            yield row
    except EnvironmentFailed:
        if state is not None:
            run.save(state)
        raise


class Display:
    """The progress line of a run."""

    def __init__(self, config: Config, console: Console):
        self._config = config
        self._line = ProgressLine(console, config.num_updates, first_at_once=True)
        self._last: tuple[float, int] | None = None

    def __enter__(self) -> "Display":
        self._line.__enter__()
        return self

    def __exit__(self, *error: object) -> None:
        self._line.__exit__(*error)

    def show(self, num_updates: int, metrics: dict[str, float]) -> None:
        self._line.show(num_updates, progress_text(self._config, num_updates, metrics, self._rate(num_updates)))

    def _rate(self, num_updates: int) -> float:
        """Environment steps per second since the last row; NaN at the first row, which includes compilation."""
        now = (time.perf_counter(), num_updates)
        before, self._last = self._last, now
        if before is None:
            return float("nan")
        return (now[1] - before[1]) * self._config.steps_per_update / (now[0] - before[0])


def progress_text(config: Config, num_updates: int, metrics: dict[str, float], rate: float) -> str:
    """Steps, speed and scores in one line."""
    steps = num_updates * config.steps_per_update / 1e6
    total = config.num_updates * config.steps_per_update / 1e6
    parts = [f"{steps:.2f}/{total:.2f} M steps", f"{rate:,.0f} steps/s" if np.isfinite(rate) else "… steps/s"]
    for score in scores_of(config.env):
        value = metrics.get(score.metric, np.nan)
        if np.isfinite(value):
            parts.append(f"{score.label} {value:,.{0 if abs(value) >= 100 else 2}f}")
    parts.append(f"noise dwell {metrics['noise_dwell']:.2f}")
    return "  ".join(parts)


def describe(run: Run | Elsewhere) -> str:
    """The scores of a run: means over the last quarter of training."""
    if isinstance(run, Elsewhere):
        return ""
    columns = read_columns(run.directory / "metrics.csv")
    steps, minutes = columns["env_steps"][-1] / 1e6, columns["seconds"][-1] / 60
    parts = [f"{steps:.2f} M steps in {minutes:.1f} min; over the last quarter:"]
    means = {name: final(columns, name) for name in columns}
    means |= spec_of(run.config).derive(means)  # from the means: derived row by row it would be too low
    titles = {score.metric: score.title for score in scores_of(run.config.env)} | {"noise_dwell": "noise dwell"}
    parts += [f"{title} {means[name]:.2f}" for name, title in titles.items() if np.isfinite(means.get(name, np.nan))]
    return "  ".join(parts)

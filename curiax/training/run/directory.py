"""A run's directory.

config.json   the complete config: enough to repeat the run
metrics.csv   one row per log interval, appended, never rewritten; but see `go_back`
cells.f32     three maps per log interval, as raw float32: visits, intrinsic reward and error of each cell (`read_maps`)
checkpoints/  written by Orbax, atomically; the last few are kept
events/       for TensorBoard
DONE          exists when the run is finished
lock          held by the process that trains
.curiax       the mark of a directory of ours
"""

import contextlib
import json
import math
import os
import shutil
import sys
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from curiax.config import Config, from_dict, retired, to_dict, validate
from curiax.config.dotted import differences
from curiax.errors import UserError, first_line
from curiax.training.run.checkpoints import (
    checkpoint_manager,
    reason,
    remove_unfinished,
    restore_checkpoint,
    save_checkpoint,
    verify,
)
from curiax.training.run.events import Events
from curiax.training.run.files import free_name, lock, read_bytes, read_json, set_aside, write_atomically
from curiax.training.run.metrics import MetricsFile
from curiax.training.run.metrics import read as read_table
from curiax.training.run.outputs import MARK, claim, writing_to
from curiax.types import LearnerState

MAPS = ("visits", "reward", "error")  # the order in cells.f32


def default_directory(config: Config) -> Path:
    """runs/ENV/CURIOSITY/SEED."""
    return Path("runs") / config.env.replace("/", "-") / config.curiosity / str(config.seed)


class Run:
    """An open run directory. Only one process can have it open."""

    def __init__(self, directory: Path, config: Config, fresh: bool = False):
        self.directory = directory
        self.config = config
        self.notes: list[str] = []  # messages for the user
        self._events: Events | None = None
        with writing_to(directory), contextlib.ExitStack() as opened:  # an error closes what is open
            self._lock_directory(fresh)
            opened.callback(self._lock.release)
            self._open(opened)
            self._opened = opened.pop_all()

    def _lock_directory(self, fresh: bool) -> None:
        """Makes the directory and locks it. An earlier run is renamed if it should not be resumed."""
        claim(self.directory, "run")
        if not fresh:
            self._refuse_other_config()
        self._lock = lock(self.directory)
        if fresh and not self._is_new():
            self.directory = self.directory.absolute()  # "." is renamed too
            self.notes.append(f"the earlier run is kept in {set_aside(self.directory)}")
            self._lock.release()  # the file was renamed with the directory
            claim(self.directory, "run")
            self._lock = lock(self.directory)

    def _open(self, opened: contextlib.ExitStack) -> None:
        directory, config = self.directory, self.config
        write_atomically(directory / "config.json", json.dumps(to_dict(config), indent=2) + "\n")
        self._metrics = MetricsFile(directory / "metrics.csv")
        opened.callback(self._metrics.close)
        self.notes += self._metrics.notes
        remove_unfinished(directory)
        self._checkpoints = checkpoint_manager(directory)
        opened.callback(self._checkpoints.close)
        if not self.done:  # DONE is from before `env_steps` was raised
            (directory / "DONE").unlink(missing_ok=True)

    def _is_new(self) -> bool:
        """Whether the directory holds only what a run writes before its config.json."""
        return {entry.name for entry in self.directory.iterdir()} <= {MARK, "lock", "config.json.part", "FAILED"}

    def _refuse_other_config(self) -> None:
        """Raises if the run there has another config."""
        if self._is_new():
            return
        saved = read_config(self.directory)
        changes = differences(saved, self.config)
        changes.pop("env_steps", None)  # a run may be continued for longer
        if changes:
            name, (old, new) = next(iter(changes.items()))
            more = f" (and {len(changes) - 1} more)" if len(changes) > 1 else ""
            raise UserError(
                f"{self.directory}: was made with {name} = {old}, not {new}{more}; "
                "choose another --run-dir, or --fresh to start over"
            )
        if self.config.env_steps < saved.env_steps and read_done(self.directory) >= saved.num_updates:
            self.config = saved
            self.notes.append(f"it has --env-steps {saved.env_steps:,} and is done: a smaller number changes nothing")

    @property
    def done(self) -> bool:
        """Whether the run has all its updates."""
        return read_done(self.directory) >= self.config.num_updates

    @property
    def seconds(self) -> float:
        """Training time so far, of all processes that have trained the run."""
        return self._metrics.last_seconds

    def restore(self, initial: LearnerState) -> LearnerState | None:
        """The newest intact checkpoint, or None. Damaged ones are set aside, with a note."""
        steps = sorted(self._checkpoints.all_steps(), reverse=True)
        for step, before in zip(steps, [*steps[1:], None], strict=False):
            try:
                verify(self._checkpoint(step))  # Orbax prints long tracebacks for a damaged file, or does not notice it
                return restore_checkpoint(self._checkpoints, step, initial)
            except Exception as error:  # Orbax may raise anything for a damaged file
                instead = "starting from the beginning" if before is None else f"going back to checkpoint {before}"
                self.notes.append(f"checkpoint {step} is damaged, {instead} ({first_line(error)})")
                set_aside(self._checkpoint(step))
                self._checkpoints.reload()
        return None

    def go_back(self, num_updates: int) -> None:
        """Sets aside the rows after an update. A run with emulators calls this on resuming: it will not repeat them."""
        if num_updates >= self._metrics.last_update:
            return
        try:
            aside = self._metrics.cut(num_updates)
        except OSError as error:  # a full disk
            raise UserError(f"{self.directory}: rows cannot be set aside ({error.strerror})") from None
        self.notes.append(f"rows after update {num_updates} have no checkpoint, and were moved to {aside.name}")

    def log(
        self, num_updates: int, metrics: dict[str, float], seconds: float, maps: dict[str, np.ndarray] | None = None
    ) -> None:
        """Appends a row, unless it was written before the process was killed."""
        try:
            self._log(num_updates, metrics, seconds, maps)
        except OSError as error:  # a full disk
            raise UserError(f"{self.directory}: row {num_updates} cannot be written ({error.strerror})") from None

    def _log(
        self, num_updates: int, metrics: dict[str, float], seconds: float, maps: dict[str, np.ndarray] | None
    ) -> None:
        env_steps = num_updates * self.config.steps_per_update
        if maps and num_updates > self._metrics.last_update:
            append_maps(self.directory / "cells.f32", maps, self._metrics.num_places)
        if not self._metrics.append({"update": num_updates, "env_steps": env_steps, "seconds": seconds, **metrics}):
            return
        self._events = self._events or Events(self.directory / "events")
        self._events.add(metrics, env_steps)

    def save(self, state: LearnerState) -> None:
        """Writes a checkpoint. If that fails, the earlier ones stay."""
        step = int(state.num_updates)
        if step not in self._checkpoints.all_steps():
            try:
                save_checkpoint(self._checkpoints, step, state)
            except Exception as error:  # a full disk raises many kinds of errors, most of them of tensorstore
                remove_unfinished(self.directory)
                raise UserError(
                    f"checkpoint {step} cannot be written, earlier ones are kept ({reason(error)})"
                ) from None

    def _checkpoint(self, step: int) -> Path:
        return self.directory / "checkpoints" / str(step)

    def finish(self, summary: dict[str, Any]) -> None:
        """Marks the run as done."""
        with writing_to(self.directory):
            write_atomically(self.directory / "DONE", json.dumps(summary, indent=2) + "\n")

    def close(self) -> None:
        """Closes all files. Errors are ignored: a failed write was reported before."""
        for part in filter(None, (self._events, self._opened)):
            with contextlib.suppress(OSError):
                part.close()


def append_maps(path: Path, maps: dict[str, np.ndarray], num_rows: int) -> None:
    """Writes the maps of row `num_rows`. Overwrites maps whose row was never written because of a kill."""
    record = np.stack([maps[name] for name in MAPS]).astype("<f4").tobytes()
    size = path.stat().st_size if path.exists() else 0
    if size > (num_rows + 1) * len(record):  # more than a kill leaves: their rows were set aside, or lost
        shutil.copyfile(path, free_name(path, "lost"))
    with path.open("r+b" if path.exists() else "wb") as file:
        file.truncate(num_rows * len(record))
        file.seek(0, os.SEEK_END)
        file.write(record)


def read_maps(directory: Path, shape: tuple[int, int]) -> np.ndarray:
    """Visits, summed intrinsic reward and summed error of every cell, [rows of metrics.csv, 3, rows, columns].

    The last rows may have no maps, and a damaged map is zero. The run may be training: maps are read only if their row
    is written.
    """
    path, size = directory / "cells.f32", len(MAPS) * math.prod(shape)
    content = read_bytes(path) if path.exists() else b""
    maps = np.frombuffer(content[: len(content) // (4 * size) * 4 * size], "<f4").reshape(-1, len(MAPS), *shape)
    places = np.array(read_table(directory / "metrics.csv").places, int)
    found = maps[places[places < len(maps)]]
    whole = np.isfinite(found).all(axis=(1, 2, 3), keepdims=True)
    return np.where(whole & (found[:, :1] >= 0).all(axis=(1, 2, 3), keepdims=True), found, 0)


def read_config(directory: Path) -> Config:
    """The config of a run."""
    path = directory / "config.json"
    if not os.path.lexists(path):
        raise UserError(f"{directory}: no run here (no config.json)")
    try:
        values = read_json(path)
        config = validate(from_dict(values))
    except (ValueError, UserError) as error:
        reason = str(error).removeprefix(f"{path}: ")
        raise UserError(
            f"{path}: not a config of this version of curiax ({reason}); restore it, or train anew with --fresh"
        ) from None
    note_retired(tuple(retired(values)))
    return config


def read_done(directory: Path) -> int:
    """The number of updates that a finished run has; 0 if it is not finished, or the file that says so is damaged."""
    if not (directory / "DONE").is_file():
        return 0
    try:
        update = read_json(directory / "DONE").get("update")
    except UserError:
        return 0
    return update if isinstance(update, int) else 0


@cache
def note_retired(names: tuple[str, ...]) -> None:
    """Prints once which fields of older versions are ignored."""
    if names:
        print(f"curiax: fields of an older version are ignored: {', '.join(names)}", file=sys.stderr)

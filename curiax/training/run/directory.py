"""A run's directory.

config.json   the complete config: enough to repeat the run
metrics.csv   one row per log interval, appended, never rewritten; but see `go_back`
maps.f32      two maps per log interval, as raw float32: visits and intrinsic reward of each cell (see `read_maps`)
checkpoints/  written by Orbax, atomically; the last few are kept
events/       for TensorBoard
DONE          exists when the run is finished
lock          held by the process that trains
"""

import csv
import json
import math
import os
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from tensorboardX import SummaryWriter

from curiax.config import Config, from_dict, retired, to_dict
from curiax.config.dotted import differences
from curiax.envs import spec_of
from curiax.errors import UserError, first_line
from curiax.training.run.checkpoints import checkpoint_manager, restore_checkpoint, seal, to_arrays, verify
from curiax.training.run.files import lock, set_aside, write_atomically
from curiax.types import LearnerState

MAPS = ("visits", "reward")  # the order in maps.f32


def default_directory(config: Config) -> Path:
    """runs/ENV/CURIOSITY/SEED."""
    return Path("runs") / config.env.replace("/", "-") / config.curiosity / str(config.seed)


class Run:
    """An open run directory. Only one process can have it open."""

    def __init__(self, directory: Path, config: Config, fresh: bool = False):
        self.directory = directory
        self.config = config
        self.notes: list[str] = []  # messages for the user
        self._events: SummaryWriter | None = None
        try:
            self._open(fresh)
        except OSError as error:
            raise UserError(f"{directory}: cannot be written ({error.strerror or error})") from None

    def _open(self, fresh: bool) -> None:
        directory, config = self.directory, self.config
        directory.mkdir(parents=True, exist_ok=True)
        self._refuse_foreign()
        if not fresh:
            self._refuse_other_config()
        self._lock = lock(directory)
        if fresh and (directory / "config.json").exists():
            self.notes.append(f"the earlier run is kept in {set_aside(directory)}")
            self._lock.release()  # the file was renamed with the directory
            directory.mkdir()
            self._lock = lock(directory)
        write_atomically(directory / "config.json", json.dumps(to_dict(config), indent=2) + "\n")
        self._metrics = MetricsFile(directory / "metrics.csv")
        self._checkpoints = checkpoint_manager(directory)
        if not self.done:  # DONE is from before `env_steps` was raised
            (directory / "DONE").unlink(missing_ok=True)

    def _refuse_foreign(self) -> None:
        """Raises if the directory holds other files than a run's."""
        names = {entry.name for entry in self.directory.iterdir()}
        begun = {"lock", "config.json.part"}  # a run that was killed as it began has no more
        if "config.json" not in names and not names <= begun:
            raise UserError(f"{self.directory}: holds files but no config.json; not a run of curiax, left alone")

    def _refuse_other_config(self) -> None:
        """Raises if the run there has another config."""
        if not (self.directory / "config.json").exists():
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

    @property
    def done(self) -> bool:
        """Whether the run has all its updates."""
        return (self.directory / "DONE").exists() and self._metrics.last_update >= self.config.num_updates

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
            append_maps(self.directory / "maps.f32", maps, self._metrics.num_rows)
        if not self._metrics.append({"update": num_updates, "env_steps": env_steps, "seconds": seconds, **metrics}):
            return
        if self._events is None:
            self._events = SummaryWriter(str(self.directory / "events"))
        for name, value in metrics.items():
            if math.isfinite(value):
                self._events.add_scalar(name, value, env_steps)

    def save(self, state: LearnerState) -> None:
        """Writes a checkpoint. If that fails, the earlier ones stay."""
        import orbax.checkpoint as ocp

        step = int(state.num_updates)
        if step not in self._checkpoints.all_steps():
            try:
                self._checkpoints.save(step, args=ocp.args.StandardSave(to_arrays(state)))
                seal(self._checkpoint(step))
            except Exception as error:  # a full disk raises many kinds of errors, most of them of tensorstore
                raise UserError(
                    f"checkpoint {step} cannot be written, earlier ones are kept ({first_line(error)})"
                ) from None

    def _checkpoint(self, step: int) -> Path:
        return self.directory / "checkpoints" / str(step)

    def finish(self, summary: dict[str, Any]) -> None:
        """Marks the run as done."""
        write_atomically(self.directory / "DONE", json.dumps(summary, indent=2) + "\n")

    def close(self) -> None:
        if self._events is not None:
            self._events.close()
        self._checkpoints.close()
        self._metrics.close()
        self._lock.release()


class MetricsFile:
    """A CSV that grows by whole rows."""

    def __init__(self, path: Path):
        self._path = path
        self._repair()
        self._open()

    def _open(self) -> None:
        path = self._path
        rows = list(read_metrics(path)) if path.exists() else []
        self._columns = columns(path) if path.exists() else None
        self.num_rows = len(rows)
        self.last_update = int(rows[-1]["update"]) if rows else 0
        self.last_seconds = rows[-1]["seconds"] if rows else 0.0
        self._file = path.open("a", newline="")

    def _repair(self) -> None:
        """Cuts off a row that was only half written when the process was killed."""
        if not self._path.exists():
            return
        content = self._path.read_bytes()
        whole = content.rfind(b"\n") + 1
        if whole < len(content):
            os.truncate(self._path, whole)

    def cut(self, last_update: int) -> Path:
        """Moves the rows after an update to another file, and returns it. A kill meanwhile leaves them in both."""
        self._file.close()
        header, *lines = self._path.read_text().splitlines(keepends=True)
        kept = [line for line in lines if int(line.partition(",")[0]) <= last_update]
        aside = next(p for n in range(1, 10_000) if not (p := self._path.with_name(f"metrics.lost.{n}.csv")).exists())
        write_atomically(aside, "".join([header, *lines[len(kept) :]]))
        write_atomically(self._path, "".join([header, *kept]))
        self._open()
        return aside

    def append(self, row: dict[str, int | float]) -> bool:
        """Writes a row, unless its update is there already. Returns whether it was written."""
        if row["update"] <= self.last_update:
            return False
        text = ""
        if self._columns is None:
            self._columns = list(row)
            text = ",".join(self._columns) + "\n"
        text += ",".join(number(row[name]) for name in self._columns) + "\n"
        self._file.write(text)  # in one write, so that a reader sees whole rows
        self._file.flush()
        self.last_update, self.last_seconds = int(row["update"]), row["seconds"]
        self.num_rows += 1
        return True

    def close(self) -> None:
        self._file.close()


def number(value: int | float) -> str:
    """The shortest text that reads back as the same number; "" for NaN."""
    return str(value) if isinstance(value, int) else "" if math.isnan(value) else repr(float(value))


def read_metrics(path: Path) -> Iterator[dict[str, float]]:
    """The rows of a metrics.csv."""
    with path.open(newline="") as file:
        for row in csv.DictReader(file):
            yield {name: float(value) if value else float("nan") for name, value in row.items()}


def append_maps(path: Path, maps: dict[str, np.ndarray], num_rows: int) -> None:
    """Writes the maps of row `num_rows`. Overwrites maps whose row was never written because of a kill."""
    record = np.stack([maps[name] for name in MAPS]).astype("<f4").tobytes()
    with path.open("r+b" if path.exists() else "wb") as file:
        file.truncate(num_rows * len(record))
        file.seek(0, os.SEEK_END)
        file.write(record)


def read_maps(directory: Path) -> np.ndarray:
    """Visits and summed intrinsic reward of every cell, [rows of metrics.csv, 2, rows, columns of the map].

    Empty if the environment has no cells. The run may be training: maps are read only if their row is written.
    """
    shape = (len(MAPS), *spec_of(read_config(directory)).map_shape)
    path = directory / "maps.f32"
    if not path.exists():
        return np.zeros((0, *shape), np.float32)
    num_rows = sum(1 for _ in read_metrics(directory / "metrics.csv"))
    values = np.fromfile(path, "<f4")
    size = math.prod(shape)
    return values[: len(values) // size * size].reshape(-1, *shape)[:num_rows]


def columns(path: Path) -> list[str] | None:
    """The first line of a metrics.csv, if it has one."""
    with path.open(newline="") as file:
        return next(csv.reader(file), None)


def read_config(directory: Path) -> Config:
    """The config of a run."""
    path = directory / "config.json"
    try:
        values = json.loads(path.read_text())
        config = from_dict(values)
        note_retired(tuple(retired(values)))
        return config
    except FileNotFoundError:
        raise UserError(f"{directory}: no run here (no config.json)") from None
    except (ValueError, TypeError, KeyError, AttributeError) as error:
        raise UserError(f"{path}: not a config of this version of curiax ({error})") from None


@cache
def note_retired(names: tuple[str, ...]) -> None:
    """Prints once which fields of older versions are ignored."""
    if names:
        print(f"curiax: fields of an older version are ignored: {', '.join(names)}", file=sys.stderr)

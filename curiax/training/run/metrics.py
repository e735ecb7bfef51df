"""metrics.csv: one row per log interval, appended, never rewritten.

A damaged line is left out and does not cost the others. It keeps its place, by which the maps of a row are found.
"""

import math
import os
import shutil
import sys
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import NamedTuple

import numpy as np

from curiax.errors import UserError, first_line
from curiax.training.run.files import free_name, read_bytes, write_atomically

COUNTERS: tuple[str, ...] = ("update", "env_steps", "seconds")  # columns that every file has
LARGEST = float(np.finfo(np.float32).max)  # metrics are computed in float32

Row = dict[str, float]
NO_ROW: Row = dict.fromkeys(COUNTERS, 0.0)  # before the first


class Metrics(NamedTuple):
    """What can be read of a metrics.csv."""

    names: list[str]  # of the columns; [] before the first row
    rows: list[Row]
    places: list[int]  # of these rows among the lines below the header
    damaged: dict[int, str]  # place -> what is wrong there
    num_places: int

    @property
    def columns(self) -> dict[str, np.ndarray]:
        """Column -> one value per row; {} before the first row."""
        return {name: np.array([row[name] for row in self.rows]) for name in self.names} if self.rows else {}

    @property
    def note(self) -> str:
        """Which lines are damaged; "" if none is."""
        if not self.damaged:
            return ""
        place, why = next(iter(self.damaged.items()))
        more = f" and {len(self.damaged) - 1} more" if len(self.damaged) > 1 else ""
        return f"line {place + 2}{more} damaged ({why})"


def read(path: Path) -> Metrics:
    """Reads a metrics.csv; a missing one counts as empty. Raises a UserError if nothing of it is readable."""
    if not os.path.lexists(path):
        return Metrics([], [], [], {}, 0)
    header, *lines = read_bytes(path).split(b"\n")
    try:
        names = parse_header(header) if lines else []
    except ValueError as error:
        raise _unreadable(path, f"line 1 damaged ({first_line(error)})") from None
    found = parse(names, lines[:-1])  # after the last newline is what a kill left of a row
    if found.damaged and not found.rows:
        raise _unreadable(path, found.note)
    return found


def read_metrics(path: Path) -> list[Row]:
    """The rows of a metrics.csv."""
    return read(path).rows


def parse(names: Sequence[str], lines: Sequence[bytes]) -> Metrics:
    """The rows in some lines. An empty line is one that was damaged and has been blanked."""
    found, last = Metrics(list(names), [], [], {}, len(lines)), NO_ROW
    for place, line in enumerate(lines):
        if not line.strip(b",\r"):
            continue
        try:
            last = parse_row(names, line, last)
        except ValueError as error:
            found.damaged[place] = first_line(error)
            continue
        found.rows.append(last)
        found.places.append(place)
    return found


def parse_header(line: bytes) -> list[str]:
    """The names of the columns. Raises a ValueError if they are not those of a metrics.csv."""
    names = line.decode().rstrip("\r").split(",")
    if missing := [name for name in COUNTERS if name not in names]:
        raise ValueError(f"no column {missing[0]}")
    if twice := [name for name in names if names.count(name) > 1]:
        raise ValueError(f"two columns {twice[0]!r}")
    return names


def parse_row(names: Sequence[str], line: bytes, last: Row) -> Row:
    """The values of a line. Raises a ValueError if it is not a row that may follow `last`."""
    cells = line.decode().split(",")
    if len(cells) != len(names):
        raise ValueError(f"{len(cells)} values in {len(names)} columns")
    row = {name: float(cell) if cell.strip() else math.nan for name, cell in zip(names, cells, strict=True)}
    if large := [value for value in row.values() if LARGEST < abs(value) < math.inf]:
        raise ValueError(f"{large[0]:g} is too large")
    update, env_steps, seconds = (row[name] for name in COUNTERS)
    if not (last["update"] < update < math.inf and env_steps > last["env_steps"] and seconds >= last["seconds"]):
        raise ValueError(f"update {update:g} cannot follow update {last['update']:g}")
    if env_steps % update or not (update.is_integer() and math.isfinite(seconds)):  # every update has as many steps
        raise ValueError(f"update {update:g} cannot have {env_steps:g} steps in {seconds:g} s")
    return row


def _unreadable(path: Path, why: str) -> UserError:
    return UserError(f"{path}: {why}, nothing to read; mend it, or move it away: a run can go on without it")


class MetricsFile:
    """The metrics.csv of a run that trains. It grows by whole rows."""

    def __init__(self, path: Path):
        self._path = path
        self.notes: list[str] = []  # messages for the user
        self._repair()
        self._open()

    def _open(self) -> None:
        found = read(self._path)
        last = found.rows[-1] if found.rows else NO_ROW
        self._names = found.names
        self.num_places = found.num_places
        self.last_update, self.last_seconds = int(last["update"]), last["seconds"]
        self._file = self._path.open("a", newline="")

    def _repair(self) -> None:
        """Cuts off half a row that a kill left, and blanks damaged lines. More than half a row is copied first."""
        found = read(self._path)
        *lines, torn = read_bytes(self._path).split(b"\n") if self._path.exists() else [b""]
        if found.damaged or torn.count(b",") >= len(found.names) > 0 or (torn and not lines):
            copy = free_name(self._path, "damaged")
            shutil.copyfile(self._path, copy)
            self.notes.append(f"metrics.csv: {found.note or 'its end is damaged'}; kept as it was in {copy.name}")
        if found.damaged:
            kept = [b"" if place - 1 in found.damaged else line for place, line in enumerate(lines)]
            write_atomically(self._path, b"".join(line + b"\n" for line in kept).decode())
        elif torn:
            os.truncate(self._path, self._path.stat().st_size - len(torn))

    def cut(self, last_update: int) -> Path:
        """Moves the rows after an update to another file, and returns it. A kill meanwhile leaves them in both."""
        self._file.close()
        found = read(self._path)
        header, *lines = self._path.read_text().split("\n")
        cut = next(p for p, row in zip(found.places, found.rows, strict=True) if row["update"] > last_update)
        aside = free_name(self._path, "lost")
        write_atomically(aside, "\n".join([header, *lines[cut:]]))
        write_atomically(self._path, "\n".join([header, *lines[:cut], ""]))
        self._open()
        return aside

    def append(self, row: dict[str, int | float]) -> bool:
        """Writes a row, unless its update is there already. Returns whether it was written."""
        if row["update"] <= self.last_update:
            return False
        text = ""
        if not self._names:
            self._names = list(row)
            text = ",".join(self._names) + "\n"
        note_dropped(self._path, tuple(name for name in row if name not in self._names))
        text += ",".join(number(row.get(name, math.nan)) for name in self._names) + "\n"
        self._file.write(text)  # in one write, so that a reader sees whole rows
        self._file.flush()
        self.last_update, self.last_seconds = int(row["update"]), row["seconds"]
        self.num_places += 1
        return True

    def close(self) -> None:
        self._file.close()


@cache
def note_dropped(path: Path, names: tuple[str, ...]) -> None:
    """Prints once which metrics a file has no columns for: it is of an older version, or its header was changed."""
    if names:
        print(f"curiax: {path}: has no column for {', '.join(names)}; not logged", file=sys.stderr)


def number(value: int | float) -> str:
    """The shortest text that reads back as the same number; "" for NaN."""
    return str(value) if isinstance(value, int) else "" if math.isnan(value) else repr(float(value))

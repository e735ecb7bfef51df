"""Atomic writes and locked directories."""

import contextlib
import csv
import io
import os
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from filelock import FileLock, Timeout

from curiax.errors import UserError


def write_atomically(path: Path, text: str) -> None:
    """Writes a file. If the process is killed meanwhile, the old file stays as it was."""
    temporary = path.with_name(path.name + ".part")
    temporary.write_text(text)
    os.replace(temporary, path)


def write_csv(path: Path, header: Iterable[str], rows: Iterable[Iterable[Any]]) -> None:
    """Writes a table, likewise."""
    text = io.StringIO()
    table = csv.writer(text, lineterminator="\n")
    table.writerow(header)
    table.writerows(rows)
    write_atomically(path, text.getvalue())


@contextlib.contextmanager
def writing_to(directory: Path) -> Iterator[None]:
    """Makes the directory of an option `--out`. An `OSError` inside the block becomes a `UserError`."""
    try:
        directory.mkdir(parents=True, exist_ok=True)
        yield
    except OSError as error:
        raise UserError(f"--out {directory}: cannot be written ({error.strerror or error})") from None


def set_aside(directory: Path) -> Path:
    """Renames a directory to NAME.1, or the first number that is free, and returns the new path."""
    directory = directory.absolute()  # "." has no name
    target = next(p for n in range(1, 10_000) if not (p := directory.with_name(f"{directory.name}.{n}")).exists())
    return directory.rename(target)


def lock(directory: Path, in_use: str = "another process is training here") -> FileLock:
    """Locks a directory until the lock is released or the process ends. Raises a `UserError` if it is in use."""
    held = FileLock(directory / "lock")
    try:
        held.acquire(blocking=False)
    except Timeout:
        raise UserError(f"{directory}: {in_use}") from None
    return held


def is_locked(directory: Path) -> bool:
    """Whether a process holds the lock of a directory."""
    if not (directory / "lock").exists():
        return False
    try:
        lock(directory).release()
    except UserError:
        return True
    except OSError:  # not a file that can be locked
        return False
    return False

"""Careful reading, atomic writes and locked directories."""

import csv
import io
import json
import os
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from filelock import FileLock, Timeout

from curiax.errors import UserError, first_line

MAX_DEPTH = 8  # of the JSON that is read; ours has 3


def read_bytes(path: Path) -> bytes:
    """The content of a file. Raises a UserError if it cannot be read, or is a directory or a device."""
    try:
        if path.exists() and not path.is_file():
            raise UserError(f"{path}: cannot be read (not a file)")
        return path.read_bytes()
    except OSError as error:
        raise UserError(f"{path}: cannot be read ({error.strerror or error})") from None


def read_json(path: Path) -> dict[str, Any]:
    """The object in a JSON file. Raises a UserError if there is none, or its text cannot be printed."""
    content = read_bytes(path)
    try:
        values = json.loads(content)
        json.dumps(values, ensure_ascii=False).encode()  # raises for half of a surrogate pair
    except (ValueError, RecursionError) as error:
        raise UserError(f"{path}: cannot be read ({first_line(error)})") from None
    if not isinstance(values, dict) or not _is_shallow(values, MAX_DEPTH):
        raise UserError(f"{path}: cannot be read (not a JSON object of names and values)")
    return values


def _is_shallow(value: Any, depth: int) -> bool:
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return depth > 0 and all(_is_shallow(each, depth - 1) for each in inner)


def free_name(path: Path, word: str) -> Path:
    """NAME.WORD.1.SUFFIX beside NAME.SUFFIX, or the first number that is free."""
    names = (path.with_name(f"{path.stem}.{word}.{n}{path.suffix}") for n in range(1, 10_000))
    return next(name for name in names if not os.path.lexists(name))


def write_atomically(path: Path, text: str) -> None:
    """Writes a file. If the process is killed meanwhile, the old file stays as it was."""
    temporary = path.with_name(path.name + ".part")
    try:
        temporary.write_text(text)
        os.replace(temporary, path)
    except OSError:  # a full disk
        temporary.unlink(missing_ok=True)
        raise


def write_csv(path: Path, header: Iterable[str], rows: Iterable[Iterable[Any]]) -> None:
    """Writes a table, likewise."""
    text = io.StringIO()
    table = csv.writer(text, lineterminator="\n")
    table.writerow(header)
    table.writerows(rows)
    write_atomically(path, text.getvalue())


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

"""Files and directories that a kill leaves whole, and that one process has at a time."""

import fcntl
import os
from pathlib import Path
from typing import Any

from curiax.errors import UserError


def write_atomically(path: Path, text: str) -> None:
    temporary = path.with_name(path.name + ".part")
    temporary.write_text(text)
    os.replace(temporary, path)


def set_aside(directory: Path) -> Path:
    """Renames a directory to the first free NAME.N."""
    directory = directory.absolute()  # "." has no name
    target = next(p for n in range(1, 10_000) if not (p := directory.with_name(f"{directory.name}.{n}")).exists())
    return directory.rename(target)


def lock(path: Path) -> Any:
    """Holds the directory until the file is closed or the process ends."""
    file = path.open("w")
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        file.close()
        raise UserError(f"{path.parent}: another process is training here") from None
    return file

"""Where commands write: directories that are ours, and single files that the user names.

A directory is ours if it is new or empty, or carries our mark. Nothing else is ever opened for writing.
"""

import contextlib
import os
from collections.abc import Iterator
from pathlib import Path

from curiax.errors import UserError

MARK = ".curiax"  # a file in every directory of ours, the first that is written; it holds the kind
# Kind -> a file and words in it, by which a directory of a version without marks is known.
SIGNS = {
    "run": ("config.json", (b'"curiosity":', b'"env_steps":', b'"log_every":')),
    "study": ("study.json", (b'"preset":', b'"fields":', b'"runs":')),
    "report": ("report.html", (b"<title>curiax report",)),
    "diagnosis": ("findings.json", (b'"transitions":', b'"noise":', b'"novelty":')),
    "scm study": ("settings.json", (b'"chunk":', b'"dark":', b'"lit":')),
    "patches study": ("settings.json", (b'"config":', b'"amount":', b'"measured":')),
}
SIGN_BYTES = 100_000  # of a file that are searched


@contextlib.contextmanager
def writing_to(place: Path | str) -> Iterator[None]:
    """Turns an `OSError` of the block, such as a full disk, into a `UserError` that names the place."""
    try:
        yield
    except BrokenPipeError:  # of the terminal
        raise
    except OSError as error:
        raise UserError(f"{place}: cannot be written ({error.strerror or error})") from None


def claim(directory: Path, kind: str) -> None:
    """Makes a directory and marks it as ours. Raises a `UserError`, and writes nothing, if it holds something else."""
    with writing_to(directory):
        refuse_foreign(directory, kind)
        directory.mkdir(parents=True, exist_ok=True)
        if _mark(directory) != kind:
            (directory / MARK).write_text(f"{kind}\n")


def refuse_foreign(directory: Path, kind: str) -> None:
    """Raises a `UserError` if the directory holds something else than this kind."""
    # The names before the mark: a process that claims the directory meanwhile writes the mark first.
    names = {entry.name for entry in directory.iterdir()} if directory.exists() else set()
    mark = _mark(directory)
    if is_ours(directory, kind) or not names or (names == {MARK} and mark in ("", *SIGNS)):
        return
    if mark in SIGNS:
        raise UserError(f"{directory}: holds another output of curiax ({mark}, not {kind}); choose another directory")
    raise UserError(f"{directory}: holds files, but no {kind} of curiax; left alone, choose another directory")


def is_ours(directory: Path, kind: str) -> bool:
    """Whether the directory is marked as this kind; without a mark, whether it looks like it."""
    if (mark := _mark(directory)) in SIGNS:
        return mark == kind
    name, words = SIGNS[kind]
    content = _start(directory / name, SIGN_BYTES)
    return content is not None and all(word in content for word in words)


def _mark(directory: Path) -> str | None:
    """The content of the mark; None if there is none."""
    content = _start(directory / MARK, 64)
    return None if content is None else content.decode(errors="replace").strip()


def _start(path: Path, num_bytes: int) -> bytes | None:
    """The first bytes of a file; None if it is not a file."""
    if not path.is_file():
        return None
    with path.open("rb") as file:
        return file.read(num_bytes)


def check_file(option: str, path: Path | None) -> None:
    """Raises a `UserError` if the file of an option cannot be written. Nothing is left behind. None: not asked for."""
    if path is None or (path.exists() and not path.is_file() and not path.is_dir()):  # a device or a pipe
        return
    is_new = not os.path.lexists(path)
    with writing_to(f"{option} {path}"):
        path.open("ab").close()
        if is_new:
            path.unlink()


@contextlib.contextmanager
def writing_file(option: str, path: Path) -> Iterator[Path]:
    """A path to write to. It takes the place of the option's file when the block ends: an error leaves the old one."""
    target = path.resolve()
    if target.exists() and not target.is_file():  # /dev/stdout
        with writing_to(f"{option} {path}"):
            yield path
        return
    unfinished = target.with_name(f"{target.stem}.part{target.suffix}")
    try:
        with writing_to(f"{option} {path}"):
            yield unfinished
            os.replace(unfinished, target)
    finally:
        unfinished.unlink(missing_ok=True)

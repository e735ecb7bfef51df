"""Errors that are reported in one line."""

import difflib
import os
import sysconfig
import traceback
from collections.abc import Iterable
from pathlib import Path

DEBUG = "CURIAX_DEBUG"  # environment variable that `--debug` sets, so that child processes see it too
OUT_OF_MEMORY = ("RESOURCE_EXHAUSTED", "Out of memory")  # in messages of XLA


class UserError(Exception):
    """A user's mistake: reported in one line without a traceback, exit code 2."""


class CuriosityWarning(UserWarning):
    """A setting or a course of training that is probably not what the user wants, in one line."""


class EnvironmentFailed(UserError):
    """A host environment raised an exception; the training state before it is intact."""

    def __init__(self, env: str, reason: str, when: str = ""):
        super().__init__(f"{env} failed{when} ({reason})")
        self.reason = reason


class Explained(Exception):
    """An exception of the user's code that comes from another process; its message is what `cause` returned there."""


def not_installed(what: str, extra: str) -> UserError:
    """The error of a missing package that an extra of curiax installs. curiax is installed from its repository."""
    return UserError(f"{what} is not installed: pip install '.[{extra}]' in a checkout of curiax")


def first_line(error: BaseException) -> str:
    lines = str(error).strip().splitlines()
    return lines[0][:120] if lines else type(error).__name__


def cause(error: BaseException) -> str:
    """What the user's code raised, in one line: type, message, and the file and line in that code."""
    if isinstance(error, Explained):
        return str(error)
    if isinstance(error, SyntaxError):
        return f"{type(error).__name__}: {error.msg}, {error.filename}:{error.lineno}"
    where = place(error)
    return f"{type(error).__name__}: {first_line(error)}" + (f", {where}" if where else "")


def place(error: BaseException) -> str:
    """FILE:LINE of the innermost frame outside curiax, Python and installed packages; "" if there is none."""
    paths = sysconfig.get_paths()
    theirs = [paths["stdlib"], paths["purelib"], paths["platlib"], str(Path(__file__).parent)]
    for frame in reversed(traceback.extract_tb(error.__traceback__)):
        if os.path.isfile(frame.filename) and not frame.filename.startswith(tuple(path + os.sep for path in theirs)):
            return f"{frame.filename}:{frame.lineno}"
    return ""


def debugging() -> bool:
    """Whether tracebacks are shown."""
    return bool(os.environ.get(DEBUG))


def report(error: BaseException) -> tuple[str, int]:
    """The error in one line, and the exit code. Prints its traceback first if that is wanted."""
    if debugging():
        traceback.print_exception(error)
    if expected := explained(error):
        return expected, 2
    return f"internal error: {type(error).__name__}: {first_line(error)}; --debug shows the traceback", 1


def explained(error: BaseException) -> str | None:
    """The message of an error that is not a fault of the program, or None."""
    if isinstance(error, UserError):
        return str(error)
    if isinstance(error, OSError):
        return f"{error.filename or 'output cannot be written'}: {error.strerror or error}"
    if isinstance(error, MemoryError) or any(words in str(error) for words in OUT_OF_MEMORY):
        return f"not enough memory ({first_line(error)}); smaller sizes need less, such as --batch-size and --unroll"
    asked = os.environ.get("JAX_PLATFORMS")
    if asked and "xla_bridge.py" in "".join(traceback.format_exception(error)):  # where JAX starts its backend
        return f"JAX_PLATFORMS={asked}: not available; cpu always is, cuda or tpu if JAX is installed for it"
    return None


def unknown_name(what: str, name: str, known: Iterable[str], listed: Iterable[str] | None = None) -> str:
    """An error message with the nearest match and the known names; `listed` replaces these if they are too many."""
    known = list(known)
    near = difflib.get_close_matches(name, known, n=1, cutoff=0.4)
    meant = f" Did you mean {near[0]}?" if near else ""
    return f"{what} {name}: unknown.{meant} There are: {', '.join(listed or known)}"

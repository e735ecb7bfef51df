"""Errors that are reported in one line."""

import difflib
from collections.abc import Iterable


class UserError(Exception):
    """A user's mistake: reported in one line without a traceback, exit code 2."""


class EnvironmentFailed(UserError):
    """A host environment raised an exception; the training state before it is intact."""


def first_line(error: BaseException) -> str:
    lines = str(error).strip().splitlines()
    return lines[0][:120] if lines else type(error).__name__


def unknown_name(what: str, name: str, known: Iterable[str], listed: Iterable[str] | None = None) -> str:
    """An error message with the nearest match and the known names; `listed` replaces these if they are too many."""
    known = list(known)
    near = difflib.get_close_matches(name, known, n=1, cutoff=0.4)
    meant = f" Did you mean {near[0]}?" if near else ""
    return f"{what} {name}: unknown.{meant} There are: {', '.join(listed or known)}"

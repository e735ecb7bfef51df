"""What can go wrong that is said in one line."""

import difflib
from collections.abc import Iterable


class UserError(Exception):
    """A mistake of the user's: one line, exit code 2."""


class EnvironmentFailed(UserError):
    """An environment on the host raised; what was learned before is good."""


def first_line(error: BaseException) -> str:
    lines = str(error).strip().splitlines()
    return lines[0][:120] if lines else type(error).__name__


def unknown_name(what: str, name: str, known: Iterable[str], listed: Iterable[str] | None = None) -> str:
    """A message that lists the right names and the nearest match. `listed` replaces a list too long for a line."""
    known = list(known)
    near = difflib.get_close_matches(name, known, n=1, cutoff=0.4)
    meant = f" Did you mean {near[0]}?" if near else ""
    return f"{what} {name}: unknown.{meant} There are: {', '.join(listed or known)}"

"""Wrong names get the list of right ones and the nearest match."""

import difflib
from collections.abc import Iterable


def unknown_name(what: str, name: str, known: Iterable[str], listed: Iterable[str] | None = None) -> str:
    """`listed` stands for the known names where these are too many for a line."""
    known = list(known)
    near = difflib.get_close_matches(name, known, n=1, cutoff=0.4)
    meant = f" Did you mean {near[0]}?" if near else ""
    return f"{what} {name}: unknown.{meant} There are: {', '.join(listed or known)}"

"""Modules of the user's, which register environments and methods: `--import MODULE`, or `gym/MODULE:ID`."""

import importlib
import os
import sys
from collections.abc import Iterable

from curiax.errors import UserError, cause

imported: list[str] = []  # by --import


def import_all(modules: Iterable[str]) -> None:
    """Imports the modules of `--import`; the runs of a study will import them too."""
    for module in (name for name in modules if name not in imported):
        import_from_here(module, f"--import {module}")
        imported.append(module)


def options() -> list[str]:
    """The command-line arguments that import the same modules in another process."""
    return [word for module in imported for word in ("--import", module)]


def import_from_here(module: str, asked: str) -> None:
    """Imports a module, which may be in the current directory. Raises a UserError if it cannot be imported."""
    if os.getcwd() not in sys.path:
        sys.path.append(os.getcwd())  # last: a file here must not replace an installed package
    try:
        importlib.import_module(module)
    except (Exception, SystemExit) as error:  # whatever a module raises
        raise UserError(f"{asked}: {module} cannot be imported ({cause(error)})") from error

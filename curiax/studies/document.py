"""study.json: what was asked of the study in a directory."""

import os
import reprlib
from pathlib import Path
from typing import Any

from curiax.errors import UserError
from curiax.studies.base import Member
from curiax.training.run.files import read_json

NAME = "study.json"
KINDS = {"name": str, "command": str, "started": str, "preset": str, "fields": dict, "runs": list}


def read_document(directory: Path) -> dict[str, Any] | None:
    """The content of study.json, with its runs as `Member`s; None if there is no such file."""
    path = directory / NAME
    if not os.path.lexists(path):
        return None
    document = read_json(path)
    wrong = [name for name, kind in KINDS.items() if not isinstance(document.get(name), kind)]
    if wrong:
        raise UserError(f"{path}: not a study of this version of curiax ({wrong[0]} is missing or of another type)")
    return document | {"runs": [_member(path, run) for run in document["runs"]]}


def _member(path: Path, run: Any) -> Member:
    match run:
        case {"setting": str(setting), "method": str(method), "seed": int(seed)} if _is_inside(f"{setting}/{method}"):
            return Member(setting, method, seed)
    raise UserError(f"{path}: not a study of this version of curiax ({reprlib.repr(run)} is no run)")


def _is_inside(name: str) -> bool:
    """Whether a path leads to a place below the study's directory."""
    return name.isprintable() and not name.startswith("/") and ".." not in name.split("/")

"""study.json: what was asked of the study in a directory."""

import json
from pathlib import Path
from typing import Any

from curiax.errors import UserError
from curiax.studies.base import Member

NAME = "study.json"


def read_document(directory: Path) -> dict[str, Any] | None:
    """The content of study.json, with its runs as `Member`s; None if there is no such file."""
    path = directory / NAME
    if not path.exists():
        return None
    try:
        document = json.loads(path.read_text())
        return document | {"runs": [Member(run["setting"], run["method"], run["seed"]) for run in document["runs"]]}
    except (ValueError, KeyError, TypeError) as error:
        raise UserError(f"{path}: not a study of this version of curiax ({error})") from None

"""`curiax bench`: the speed of this machine."""

import json
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Annotated, Literal

import tyro
from rich.console import Console

from curiax.commands.parsing import parse


@dataclass(frozen=True)
class BenchCommand:
    """Measure the speed of this machine."""

    what: Annotated[Literal["maze", "atari"], tyro.conf.Positional] = "maze"
    json: Path | None = None
    """also write the results to this file"""


def main(args: list[str], console: Console) -> int:
    command = parse(BenchCommand, args, "bench")
    path = command.json
    from curiax.training.run.outputs import check_file, writing_file

    check_file("--json", path)  # now, not after minutes
    module = import_module(f"curiax.commands.benchmarks.{command.what}")
    result = getattr(module, f"bench_{command.what}")(console)
    if path is not None:
        with writing_file("--json", path) as file:
            file.write_text(json.dumps(result, indent=2) + "\n")
    return 0

"""`curiax bench`: the speed of this machine."""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal

import tyro
from rich.console import Console

from curiax.commands.parsing import parse
from curiax.errors import UserError


@dataclass(frozen=True)
class BenchCommand:
    """Measure the speed of this machine."""

    what: Annotated[Literal["maze", "atari"], tyro.conf.Positional] = "maze"
    json: Path | None = None
    """also write the results to this file"""


def main(args: list[str], console: Console) -> int:
    command = parse(BenchCommand, args, "bench")
    path = command.json
    if path is not None and not path.parent.is_dir():  # now, not after minutes
        raise UserError(f"--json {path}: there is no directory {path.parent}")
    from curiax.commands.benchmarks.atari import bench_atari
    from curiax.commands.benchmarks.maze import bench_maze

    result = (bench_atari if command.what == "atari" else bench_maze)(console)
    if path is not None:
        path.write_text(json.dumps(result, indent=2) + "\n")
    return 0

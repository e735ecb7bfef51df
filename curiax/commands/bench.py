"""`curiax bench`: how fast is this machine?"""

from dataclasses import dataclass
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
    """also write the table here"""


def main(args: list[str], console: Console) -> int:
    command = parse(BenchCommand, args, "bench")
    from curiax.commands.benchmarks.atari import bench_atari
    from curiax.commands.benchmarks.maze import bench

    (bench_atari if command.what == "atari" else bench)(console, command.json)
    return 0

"""`curiax theory`: checks the paper's lemmas and theorems."""

from dataclasses import dataclass
from pathlib import Path

from rich.console import Console

from curiax.commands.parsing import parse
from curiax.config.ranges import Count, Seed


@dataclass(frozen=True)
class TheoryCommand:
    """Check the paper's lemmas and theorems on random finite worlds, exactly."""

    json: Path | None = None
    """also write the table to this file"""
    figure: Path | None = None
    """draw the gap of the contrastive bonus against K into this file"""
    worlds: Count = 4000
    seed: Seed = 0


def main(args: list[str], console: Console) -> int:
    command = parse(TheoryCommand, args, "theory")
    from curiax.lab.theory import theory

    return theory(console, command.worlds, command.seed, command.json, command.figure)

"""`curiax play`: play an environment in the terminal."""

from dataclasses import dataclass
from typing import Annotated

import tyro
from rich.console import Console

from curiax.commands.parsing import parse
from curiax.config.ranges import Seed


@dataclass(frozen=True)
class PlayCommand:
    """Play an environment yourself: arrows move, space stays, q quits."""

    env: Annotated[str, tyro.conf.Positional]
    seed: Seed = 0


def main(args: list[str], console: Console) -> int:
    command = parse(PlayCommand, args, "play")
    from curiax import envs

    envs.play(command.env, command.seed)
    return 0

"""`curiax play`: walk a maze in the terminal."""

from dataclasses import dataclass
from typing import Annotated

import tyro
from rich.console import Console

from curiax.commands.parsing import parse
from curiax.errors import UserError, unknown_name


@dataclass(frozen=True)
class PlayCommand:
    """Walk a maze: arrows move, space stays, q quits."""

    env: Annotated[str, tyro.conf.Positional]
    seed: int = 0


def main(args: list[str], console: Console) -> int:
    command = parse(PlayCommand, args, "play")
    from curiax import envs
    from curiax.envs.maze.play import play

    mazes = [name for name in envs.ENVS if name.startswith("maze/")]
    if command.env not in mazes:
        raise UserError(unknown_name("environment", command.env, mazes))
    play(command.env.removeprefix("maze/"), command.seed)
    return 0

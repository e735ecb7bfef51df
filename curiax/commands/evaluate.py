"""`curiax evaluate`: play a run's newest policy."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import tyro
from rich.console import Console

from curiax.commands.parsing import Imports, parse
from curiax.config.ranges import Count, Seed
from curiax.training.cache import use_compilation_cache


@dataclass(frozen=True)
class EvaluateCommand:
    """Play whole episodes with the newest policy of a run, also while it trains. Nothing is written to the run."""

    run: Annotated[Path, tyro.conf.Positional]
    """the run's directory"""
    episodes: Count = 100
    seed: Seed = 0
    """seed of the episodes"""
    deterministic: bool = False
    """take the most probable action, or the mean of a Gaussian policy, instead of a sample"""
    json: Path | None = None
    """also write the result here"""
    video: Path | None = None
    """also film an episode, with its intrinsic reward, as this .gif; for environments with a map or grey pictures"""
    imports: Annotated[Imports, tyro.conf.arg(name="")] = Imports()  # noqa: RUF009 — frozen


def main(args: list[str], console: Console) -> int:
    command = parse(EvaluateCommand, args, "evaluate")
    from curiax.report.films.make import check_film, write_film
    from curiax.training.evaluate import evaluate_run, named_config

    use_compilation_cache()
    if command.video is not None:
        check_film(named_config(command.run), command.video)
    config, state = evaluate_run(
        command.run, command.episodes, command.seed, command.json, console, command.deterministic
    )
    if command.video is not None:
        write_film(config, state, command.video, command.seed)
    return 0

"""`curiax train`: the options of a run."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import tyro
from rich.console import Console

from curiax.commands.parsing import Imports, parse, rounded
from curiax.config import Config, validate
from curiax.config.presets import preset_for, preset_of
from curiax.training.cache import use_compilation_cache
from curiax.training.job import JobOptions, check_job


@dataclass(frozen=True)
class TrainCommand:
    """Train an agent. If the run directory exists, resume the run."""

    config: Annotated[Config, tyro.conf.arg(name="")]
    run_dir: Path | None = None
    """directory of the run (default: runs/ENV/CURIOSITY/SEED, with - for / in ENV)"""
    fresh: bool = False
    """start over; an earlier run in the directory is renamed, not deleted"""
    job: Annotated[JobOptions, tyro.conf.arg(name="")] = JobOptions()  # noqa: RUF009 — frozen
    imports: Annotated[Imports, tyro.conf.arg(name="")] = Imports()  # noqa: RUF009 — frozen


def main(args: list[str], console: Console) -> int:
    command = parse_train(args)
    config, job = validate(command.config), check_job(command.job)
    from curiax import curiosity, envs

    envs.check_name(config.env)
    curiosity.resolve(config.curiosity)
    from curiax.commands.program import run_training  # slow to import: after the names are checked
    from curiax.training.processes import joined, rank
    from curiax.training.train import check_memory

    use_compilation_cache()
    with joined(job, config) as mesh:
        check_memory(config)
        if (line := rounded(config)) and rank() == 0:
            console.print(line, highlight=False, markup=False)
        return run_training(config, command.run_dir, command.fresh, console, mesh)


def parse_train(args: list[str]) -> TrainCommand:
    """The options. They are parsed twice if the environment has its own preset: only parsing finds its name."""
    default = preset_of(args)
    command = parse(TrainCommand, args, "train", TrainCommand(default))
    own = preset_for(command.config.preset, command.config.env)
    return command if own == default else parse(TrainCommand, args, "train", TrainCommand(own))

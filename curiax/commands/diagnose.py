"""`curiax diagnose ENV`: the options of a diagnosis."""

import shlex
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import tyro
from rich.console import Console

from curiax.commands.parsing import Imports, parse, parse_known
from curiax.config import Config, validate
from curiax.config.dotted import names, refuse_unread
from curiax.config.presets import preset_for, preset_of
from curiax.config.ranges import Above, Range
from curiax.errors import UserError
from curiax.training.cache import use_compilation_cache

if TYPE_CHECKING:
    from curiax.lab.diagnose.run import Request

MINUTES = 5.0
UNREAD = ("env", "checkpoint_every", "evaluate_every")  # fields of a run that the exploration does not read


@dataclass(frozen=True)
class DiagnoseCommand:
    """Where is the noise in an environment? Explores for a few minutes and writes a page.

    The options of `curiax train` may follow; they hold for the exploration.
    """

    env: Annotated[str | None, tyro.conf.Positional] = None
    """an environment, see `curiax list envs`; with --run-dir, the run's own"""
    minutes: Annotated[float | None, Above(0)] = None
    """how long (default: 5), not counting compilation: 40 % exploring, 50 % learning to predict, 10 % measuring"""
    env_steps: Annotated[int | None, Range(1)] = None
    """instead of minutes: environment steps in all"""
    run_dir: Path | None = None
    """take the newest policy of this run instead of exploring"""
    out: Path | None = None
    """where the page goes (default: runs/diagnose/ENV)"""
    imports: Annotated[Imports, tyro.conf.arg(name="")] = Imports()  # noqa: RUF009 — frozen


def main(args: list[str], console: Console) -> int:
    request = read(args)
    from curiax.lab.diagnose.run import run

    use_compilation_cache()
    return run(request, console)


def read(args: list[str]) -> "Request":
    """The request that the arguments make."""
    command, rest = parse_known(DiagnoseCommand, args, "diagnose")
    check(command)
    if command.run_dir is not None and rest:
        raise UserError(f"{rest[0]}: a run has its own options; without --run-dir it may be given")
    config = exploration(command.env, rest) if command.run_dir is None else None
    from curiax.lab.diagnose.explore import Budget
    from curiax.lab.diagnose.run import Request

    budget = Budget(60 * (command.minutes or MINUTES), command.env_steps)
    typed = shlex.join(["curiax", "diagnose", *args])
    return Request(config, command.run_dir, command.env, budget, command.out, typed)


def check(command: DiagnoseCommand) -> None:
    if command.minutes is not None and command.env_steps is not None:
        raise UserError("--minutes and --env-steps: give one of them")
    if command.env is None and command.run_dir is None:
        raise UserError("which environment? curiax diagnose ENV, or --run-dir RUN")


def exploration(env: str | None, rest: list[str]) -> Config:
    """The config of the exploration, from the options of `curiax train`."""
    from curiax import curiosity, envs

    assert env is not None
    envs.check_name(env)
    default = replace(preset_for(preset_of(rest).preset, env), env=env)
    config = validate(parse(Config, rest, "diagnose", default))
    refuse_unread("the exploration", config, default, [name for name in names(config) if name not in UNREAD])
    curiosity.require_reward(config.curiosity)
    return config

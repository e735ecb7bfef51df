"""`curiax study`: the options of a study. The studies scm and patches train no agent; they are in `lab`."""

import shlex
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import tyro
from rich.console import Console

from curiax.commands.parsing import Imports, parse, parse_known, rounded
from curiax.config import Config, validate
from curiax.config.dotted import refuse_unread
from curiax.config.presets import preset_of
from curiax.config.ranges import SEED, Range
from curiax.errors import UserError, unknown_name
from curiax.studies.runner.options import Launcher
from curiax.training.cache import use_compilation_cache


@dataclass(frozen=True)
class StudyCommand:
    """Train all runs of a study, one process per core. The same command resumes what is not done.

    The options of `curiax train` may follow, such as --preset and --env-steps; they hold for every run.
    """

    study: Annotated[str, tyro.conf.Positional]
    """a study, see `curiax list studies`"""
    only: tyro.conf.UseAppendAction[tuple[str, ...]] = ()
    """SETTING/METHOD or SETTING/METHOD/SEED, with * and ? as in file names; may be given several times"""
    seeds: Annotated[tuple[int, ...] | None, SEED, "not empty"] = None
    """instead of the study's seeds"""
    jobs: Annotated[int | None, Range(1)] = None
    """runs at the same time (default: one per core; on a Ray cluster, as many as fit)"""
    out: Path | None = None
    """directory of the runs (default: runs/STUDY); all machines of a cluster must see it"""
    dry_run: bool = False
    """print the runs and how long they will take, and stop"""
    estimate: bool = True
    """say how long it will take; measures the speed first, where it is not known and the study is long"""
    where: Annotated[Launcher, tyro.conf.arg(name="")] = Launcher()  # noqa: RUF009 — frozen
    imports: Annotated[Imports, tyro.conf.arg(name="")] = Imports()  # noqa: RUF009 — frozen


def main(args: list[str], console: Console) -> int:
    command, rest = parse_known(StudyCommand, args, "study")
    from curiax.studies import MEASURED, STUDIES
    from curiax.studies.base import base_config, refuse_what_varies

    if command.study in MEASURED:
        return {"scm": scm_study, "patches": patches_study}[command.study](one_process(command), rest, console)
    if command.study not in STUDIES:
        raise UserError(unknown_name("study", command.study, STUDIES | MEASURED))
    from curiax.studies.runner.run import make_plan, run_study  # slow to import: after the name is checked

    study = STUDIES[command.study]
    default = base_config(study, preset_of(rest).preset)
    config = validate(parse(Config, rest, "study", default))
    refuse_what_varies(study, default, config)
    words = shlex.join(["curiax", "study", *args])
    asked = (command.seeds, command.only, command.jobs, command.out, words, command.where, command.estimate)
    plan = make_plan(command.study, config, *asked)
    if line := rounded(config):
        console.print(line, highlight=False, markup=False)
    return run_study(plan, command.dry_run, console)


def one_process(command: StudyCommand) -> StudyCommand:
    """The command. Raises a `UserError` if it has a launcher, or options of the estimate."""
    if command.where != Launcher():
        raise UserError(f"--launcher: the study {command.study} is one process")
    if not command.estimate:
        raise UserError(f"--no-estimate: the study {command.study} makes no estimate")
    return command


def scm_study(command: StudyCommand, rest: list[str], console: Console) -> int:
    from curiax.lab.scm.run import run
    from curiax.lab.scm.stream import CONFIG, READ, SEEDS
    from curiax.training.train import check_memory

    if command.jobs is not None:
        raise UserError("--jobs: the study scm is one process")
    config = validate(parse(Config, rest, "study", CONFIG))
    if (config.env, config.curiosity, config.seed) != (CONFIG.env, CONFIG.curiosity, CONFIG.seed):
        raise UserError("environment, method and seed are the study's: choose with --only and --seeds")
    refuse_unread("the study scm", config, CONFIG, READ)
    use_compilation_cache()
    check_memory(config)
    return run(config, command.only, command.seeds or SEEDS, command.out or Path("runs/scm"), command.dry_run, console)


def patches_study(command: StudyCommand, rest: list[str], console: Console) -> int:
    from curiax.lab.patches.run import check, run
    from curiax.lab.patches.world import CONFIG, Amount

    config = validate(check(parse(Config, rest, "study", CONFIG), command.only, command.seeds, command.jobs))
    use_compilation_cache()
    return run(config, Amount(), command.out or Path("runs/patches"), command.dry_run, console)

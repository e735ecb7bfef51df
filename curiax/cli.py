"""The command line."""

import contextlib
import dataclasses
import io
import re
import shlex
import signal
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Annotated, Literal, TypeVar

import tyro
from rich.console import Console

from curiax.config import Config, validate
from curiax.errors import UserError
from curiax.job import JobOptions, check_job
from curiax.presets import preset_for, preset_of
from curiax.study_options import StudyCommand, one_process
from curiax.suggest import unknown_name

Command = TypeVar("Command")

USAGE = """curiax — curiosity that can tell noise from novelty

  curiax train ENV [--curiosity METHOD] [--seed N] [--preset laptop|paper] [--field value ...]
                                 train an agent, or go on with a run   (curiax train --help: every field)
  curiax study NAME [--only PATTERN] [--seeds N ...] [--jobs N] [--out DIR] [--dry-run] [--field value ...]
                                 train all the runs of a study, or go on with them   (on a cluster: --launcher ray)
  curiax evaluate RUN [--episodes N] [--seed N] [--json FILE] [--video FILE.gif]
                                 play a run's policy, without training
  curiax report DIR [--out DIR] [--no-films]
                                 one page, figure and tables of a study or of runs, finished or not
  curiax diagnose ENV [--minutes M] [--env-steps N] [--run-dir RUN] [--out DIR] [--field value ...]
                                 where is the noise in an environment? explores it and writes a page
  curiax play ENV                walk a maze yourself in the terminal
  curiax list envs|methods|studies
                                 what there is
  curiax theory [--json FILE] [--figure FILE]
                                 the paper's lemmas and theorems, checked on random finite worlds
  curiax bench [atari] [--json FILE]
                                 speed table of this machine
"""


@dataclasses.dataclass(frozen=True)
class TrainCommand:
    """Train an agent. On an existing run directory, go on with the run."""

    config: Annotated[Config, tyro.conf.arg(name="")]
    run_dir: Path | None = None
    """where the run is kept (default: runs/ENV/CURIOSITY/SEED)"""
    fresh: bool = False
    """start over; an earlier run there is renamed, not deleted"""
    job: Annotated[JobOptions, tyro.conf.arg(name="")] = JobOptions()  # noqa: RUF009 — frozen


@dataclasses.dataclass(frozen=True)
class EvaluateCommand:
    """Play whole episodes with the newest policy of a run. The run may be training; nothing is written to it."""

    run: Annotated[Path, tyro.conf.Positional]
    """the run's directory"""
    episodes: int = 100
    seed: int = 0
    """of the episodes"""
    json: Path | None = None
    """also write the result here"""
    video: Path | None = None
    """where the agent sees grey pictures, as in Atari: also film an episode, intrinsic reward under it, as this .gif"""


@dataclasses.dataclass(frozen=True)
class ReportCommand:
    """Write a page, a figure and tables of a study, of several runs, or of one. They may be training."""

    directory: Annotated[Path, tyro.conf.Positional]
    """of the study or the runs"""
    out: Path | None = None
    """where the report goes (default: DIRECTORY/report)"""
    films: bool = True
    """film a typical episode of each agent, which plays some with the newest policy"""


@dataclasses.dataclass(frozen=True)
class PlayCommand:
    """Walk a maze: arrows move, space stays, q quits."""

    env: Annotated[str, tyro.conf.Positional]
    seed: int = 0


@dataclasses.dataclass(frozen=True)
class BenchCommand:
    """Measure the speed of this machine."""

    what: Annotated[Literal["maze", "atari"], tyro.conf.Positional] = "maze"
    json: Path | None = None
    """also write the table here"""


@dataclasses.dataclass(frozen=True)
class TheoryCommand:
    """Check the paper's lemmas and theorems on random finite worlds, exactly."""

    json: Path | None = None
    """also write the table here"""
    figure: Path | None = None
    """draw the contrastive bonus's gap against K here"""
    worlds: int = 4000
    seed: int = 0


@dataclasses.dataclass(frozen=True)
class ListCommand:
    """List what there is."""

    what: Annotated[str, tyro.conf.Positional]
    """envs, methods or studies"""


def parse(command: type[Command], args: list[str], name: str, default: Command = tyro.MISSING_NONPROP) -> Command:
    with one_line_messages():
        return tyro.cli(command, args=args, prog=f"curiax {name}", default=default)


@contextlib.contextmanager
def one_line_messages() -> Iterator[None]:
    """tyro's boxed message, folded into one line."""
    message = io.StringIO()
    try:
        with contextlib.redirect_stderr(message):
            yield
    except SystemExit as stop:
        if stop.code in (0, None):
            raise
        raise UserError(one_line(message.getvalue())) from None


def one_line(boxed: str) -> str:
    """The words of tyro's message up to its pointer to the help text."""
    text = re.sub(r"[─│╭╮╰╯]+", " ", boxed)
    text = re.split(r"For full helptext|Argument helptext", text)[0]
    words = " ".join(text.split())
    titles = "Unrecognized options|Value error|Invalid choice|Parsing error|Required options|Missing argument"
    return re.sub(rf"^({titles}) (?=\S)", "", words)


def parse_train(args: list[str]) -> TrainCommand:
    """Read twice where the environment has presets of its own: it may stand anywhere among the options."""
    default = preset_of(args)
    command = parse(TrainCommand, args, "train", TrainCommand(default))
    own = preset_for(command.config.preset, command.config.env)
    return command if own == default else parse(TrainCommand, args, "train", TrainCommand(own))


def train_command(args: list[str], console: Console) -> int:
    command = parse_train(args)
    config, job = validate(command.config), check_job(command.job)
    from curiax import curiosity, envs
    from curiax.distributed import joined
    from curiax.program import run_training

    envs.check_name(config.env)
    curiosity.resolve(config.curiosity)
    use_compilation_cache()
    with joined(job, config) as mesh:
        return run_training(config, command.run_dir, command.fresh, console, mesh)


def study_command(args: list[str], console: Console) -> int:
    with one_line_messages():
        command, rest = tyro.cli(StudyCommand, args=args, prog="curiax study", return_unknown_args=True)
    from curiax.studies import MEASURED, STUDIES
    from curiax.studies.base import base_config, refuse_what_varies
    from curiax.studies.run import make_plan, run_study

    if command.study in MEASURED:
        return {"scm": scm_study, "patches": patches_study}[command.study](one_process(command), rest, console)
    if command.study not in STUDIES:
        raise UserError(unknown_name("study", command.study, STUDIES | MEASURED))
    study = STUDIES[command.study]
    default = base_config(study, preset_of(rest).preset)
    config = validate(parse(Config, rest, "study", default))
    refuse_what_varies(study, default, config)
    words = shlex.join(["curiax", "study", *args])
    asked = (command.seeds, command.only, command.jobs, command.out, words, command.where)
    plan = make_plan(command.study, config, *asked)
    return run_study(plan, command.dry_run, console)


def scm_study(command: StudyCommand, rest: list[str], console: Console) -> int:
    """The structural-causal study has a small program of its own, and settings that are not a preset's."""
    from curiax.studies.scm import CONFIG, SEEDS
    from curiax.studies.scm_run import run

    if command.jobs is not None:
        raise UserError("--jobs: the study scm is one process")
    config = validate(parse(Config, rest, "study", CONFIG))
    if (config.env, config.curiosity, config.seed) != (CONFIG.env, CONFIG.curiosity, CONFIG.seed):
        raise UserError("environment, method and seed are the study's: choose with --only and --seeds")
    use_compilation_cache()
    return run(config, command.only, command.seeds or SEEDS, command.out or Path("runs/scm"), command.dry_run, console)


def patches_study(command: StudyCommand, rest: list[str], console: Console) -> int:
    from curiax.studies.patches import CONFIG, Amount
    from curiax.studies.patches_run import check, run

    config = check(validate(parse(Config, rest, "study", CONFIG)), command.only, command.seeds, command.jobs)
    use_compilation_cache()
    return run(config, Amount(), command.out or Path("runs/patches"), command.dry_run, console)


def evaluate_command(args: list[str], console: Console) -> int:
    command = parse(EvaluateCommand, args, "evaluate")
    from curiax.evaluate import evaluate_run
    from curiax.host_film import check_film, write_film
    from curiax.runs import read_config

    use_compilation_cache()
    if command.video is not None:
        check_film(read_config(command.run), command.video)
    config, state = evaluate_run(command.run, command.episodes, command.seed, command.json, console)
    if command.video is not None:
        write_film(config, state, command.video, command.seed)
    return 0


def report_command(args: list[str], console: Console) -> int:
    command = parse(ReportCommand, args, "report")
    from curiax.report.write import write_report

    use_compilation_cache()
    out = command.out or command.directory / "report"
    page = write_report(command.directory, out, command.films, lambda text: console.print(text, markup=False))
    console.print(f"open {page}", markup=False)
    return 0


def play_command(args: list[str], console: Console) -> int:
    command = parse(PlayCommand, args, "play")
    from curiax import envs
    from curiax.envs.play import play

    mazes = [name for name in envs.ENVS if name.startswith("maze/")]
    if command.env not in mazes:
        raise UserError(unknown_name("environment", command.env, mazes))
    play(command.env.removeprefix("maze/"), command.seed)
    return 0


def list_command(args: list[str], console: Console) -> int:
    command = parse(ListCommand, args, "list")
    from curiax import curiosity, envs
    from curiax.curiosity.listing import show_table_1
    from curiax.studies import MEASURED, STUDIES

    tables = {
        "envs": envs.ENVS,
        "studies": {name: study.about for name, study in STUDIES.items()} | MEASURED,
        "methods": {name: method.about for name, method in curiosity.METHODS.items()},
    }
    if command.what not in tables:
        raise UserError(unknown_name("curiax list", command.what, tables))
    if command.what == "methods":
        show_table_1(console)
    table = tables[command.what]
    width = max(map(len, table))
    for name, about in table.items():
        console.print(f"{name:{width}}  {about}", highlight=False)
    return 0


def bench_command(args: list[str], console: Console) -> int:
    command = parse(BenchCommand, args, "bench")
    from curiax.bench import bench
    from curiax.bench_atari import bench_atari

    (bench_atari if command.what == "atari" else bench)(console, command.json)
    return 0


def theory_command(args: list[str], console: Console) -> int:
    command = parse(TheoryCommand, args, "theory")
    from curiax.theory import theory

    return theory(console, command.worlds, command.seed, command.json, command.figure)


def diagnose_command(args: list[str], console: Console) -> int:
    from curiax.diagnose.command import read, run

    asked = read(args, parse, one_line_messages)
    use_compilation_cache()
    return run(asked, console)


COMMANDS: dict[str, Callable[[list[str], Console], int]] = {
    "train": train_command,
    "study": study_command,
    "evaluate": evaluate_command,
    "report": report_command,
    "diagnose": diagnose_command,
    "play": play_command,
    "list": list_command,
    "bench": bench_command,
    "theory": theory_command,
}


def use_compilation_cache() -> None:
    """Compiled programs are kept between processes, as the environment says or else in the user's cache."""
    import os

    import jax

    cache = Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache")) / "curiax" / "jax"
    settings = {"jax_compilation_cache_dir": str(cache), "jax_persistent_cache_min_compile_time_secs": 0.5}
    for name, value in settings.items():
        if not os.environ.get(name.upper()):
            jax.config.update(name, value)


def main(args: list[str] | None = None) -> int:
    args = sys.argv[1:] if args is None else args
    console = Console(soft_wrap=True)
    if not args or args[0] in ("-h", "--help", "help"):
        console.print(USAGE, highlight=False, markup=False)
        return 0
    try:
        if args[0] not in COMMANDS:
            raise UserError(unknown_name("curiax", args[0], COMMANDS))
        return COMMANDS[args[0]](args[1:], console)
    except UserError as error:
        print(f"curiax: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:  # before there is anything to save, or the second one
        print("curiax: interrupted", file=sys.stderr)
        return 128 + signal.SIGINT


if __name__ == "__main__":
    sys.exit(main())

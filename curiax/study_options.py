"""The options of `curiax study`."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal

import tyro

from curiax.errors import UserError


@dataclass(frozen=True)
class Launcher:
    """Where the runs of a study are trained."""

    launcher: Literal["local", "ray"] = "local"
    """processes of this machine, one per core, or tasks of a Ray cluster (needs the extra `ray`)"""
    address: str | None = None
    """of the Ray cluster, HOST:PORT or auto (default: RAY_ADDRESS, or else a cluster of this machine alone)"""
    cpus: int = 1
    """that Ray gives to each run"""
    gpus: float = 0.0
    """that Ray gives to each run"""


@dataclass(frozen=True)
class StudyCommand:
    """Train all the runs of a study, one process per core. The same command goes on with what is not done.

    The options of `curiax train` may follow, such as --preset and --env-steps; they hold for every run.
    """

    study: Annotated[str, tyro.conf.Positional]
    """a study, see `curiax list studies`"""
    only: tyro.conf.UseAppendAction[tuple[str, ...]] = ()
    """SETTING/METHOD or SETTING/METHOD/SEED, with * and ? as in file names; may be given several times"""
    seeds: tuple[int, ...] | None = None
    """instead of the study's own"""
    jobs: int | None = None
    """runs at a time (default: one per core; on a Ray cluster, as many as fit)"""
    out: Path | None = None
    """where the runs are kept (default: runs/STUDY); all machines of a cluster must see it"""
    dry_run: bool = False
    """print the runs and an estimate of the time they take, and stop"""
    where: Annotated[Launcher, tyro.conf.arg(name="")] = Launcher()


def check_launcher(options: Launcher) -> Launcher:
    if options.launcher == "local" and options != Launcher():
        raise UserError("--address, --cpus and --gpus: only with --launcher ray")
    if (options.address or "").startswith("ray://"):
        raise UserError(f"--address {options.address}: not by Ray's client; run the study on a machine of the cluster")
    if options.cpus < 1:
        raise UserError(f"--cpus {options.cpus}: must be 1 or more")
    if options.gpus < 0:
        raise UserError(f"--gpus {options.gpus:g}: must be 0 or more")
    return options


def one_process(command: StudyCommand) -> StudyCommand:
    """The same, if it does not ask to be spread."""
    if command.where != Launcher():
        raise UserError(f"--launcher: the study {command.study} is one process")
    return command

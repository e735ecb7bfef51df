"""Where the runs of a study are trained."""

from dataclasses import dataclass
from typing import Annotated, Literal

from curiax.config.ranges import Count, Range
from curiax.config.validation import check_options
from curiax.errors import UserError


@dataclass(frozen=True)
class Launcher:
    """Where the runs of a study are trained."""

    launcher: Literal["local", "ray"] = "local"
    """processes on this machine, one per core, or tasks of a Ray cluster (needs the extra `ray`)"""
    address: str | None = None
    """address of the Ray cluster, HOST:PORT or auto (default: RAY_ADDRESS, else a new cluster on this machine)"""
    cpus: Count = 1
    """CPUs of Ray for each run"""
    gpus: Annotated[float, Range(0)] = 0.0
    """GPUs of Ray for each run"""


def check_launcher(options: Launcher) -> Launcher:
    if options.launcher == "local" and options != Launcher():
        raise UserError("--address, --cpus and --gpus: only with --launcher ray")
    if (options.address or "").startswith("ray://"):
        raise UserError(f"--address {options.address}: not by Ray's client; run the study on a machine of the cluster")
    return check_options(options)

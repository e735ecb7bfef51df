"""Where the runs of a study are trained."""

from dataclasses import dataclass
from typing import Literal

from curiax.errors import UserError


@dataclass(frozen=True)
class Launcher:
    """Where the runs of a study are trained."""

    launcher: Literal["local", "ray"] = "local"
    """processes on this machine, one per core, or tasks of a Ray cluster (needs the extra `ray`)"""
    address: str | None = None
    """address of the Ray cluster, HOST:PORT or auto (default: RAY_ADDRESS, else a new cluster on this machine)"""
    cpus: int = 1
    """CPUs of Ray for each run"""
    gpus: float = 0.0
    """GPUs of Ray for each run"""


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

"""Where a run is computed. No part of what a run is: it may go on with other devices and other processes."""

import re
from dataclasses import dataclass

from curiax.errors import UserError


@dataclass(frozen=True)
class JobOptions:
    """Devices and processes. The same options to every process, but for its number."""

    devices: int | None = None
    """devices in all, each with its share of the batch (default: one in every process)"""
    coordinator: str | None = None
    """HOST:PORT at which process 0 is to be found, where there are several; `auto` on Slurm, Open MPI and TPU pods"""
    num_processes: int | None = None
    """how many processes there are"""
    process_id: int | None = None
    """which of them this is, from 0"""
    start_timeout: int = 45
    """seconds in which all processes must have started"""
    peer_timeout: int = 20
    """seconds of silence after which a process is taken for lost, and the job ends"""


def check_job(options: JobOptions) -> JobOptions:
    """Returns the options, or says what is wrong with them."""
    for name in ("devices", "num_processes", "start_timeout", "peer_timeout"):
        value = getattr(options, name)
        if value is not None and value < 1:
            raise UserError(f"--{name.replace('_', '-')} {value}: must be at least 1")
    places = {"--num-processes": options.num_processes, "--process-id": options.process_id}
    given = [name for name, value in places.items() if value is not None]
    if options.coordinator is None and given:
        raise UserError(f"{given[0]}: needs --coordinator HOST:PORT, at which process 0 is to be found")
    if options.coordinator == "auto" and given:
        raise UserError(f"{given[0]}: --coordinator auto finds it out by itself")
    if options.coordinator not in (None, "auto"):
        _check_place(options.coordinator, options.num_processes, options.process_id)
    return options


def _check_place(coordinator: str, num_processes: int | None, process_id: int | None) -> None:
    if not re.fullmatch(r".+:\d+", coordinator):
        raise UserError(f"--coordinator {coordinator}: must be HOST:PORT, or auto")
    if num_processes is None or process_id is None:
        raise UserError("--coordinator: needs --num-processes and --process-id too, unless it is auto")
    if not 0 <= process_id < num_processes:
        raise UserError(f"--process-id {process_id}: must be from 0 to {num_processes - 1}")

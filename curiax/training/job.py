"""Options for devices and processes. They are not part of a run's config: a run can continue with others."""

import re
from dataclasses import dataclass
from typing import Annotated

from curiax.config.ranges import Count, Range
from curiax.config.validation import check_options
from curiax.errors import UserError


@dataclass(frozen=True)
class JobOptions:
    """Devices and processes. Every process gets the same options, except for `process_id`."""

    devices: Annotated[int | None, Range(1)] = None
    """number of devices of all processes together; the batch is sharded over them (default: one per process)"""
    coordinator: str | None = None
    """HOST:PORT of process 0, if there are several; `auto` on Slurm, Open MPI and TPU pods"""
    num_processes: Annotated[int | None, Range(1)] = None
    """number of processes"""
    process_id: int | None = None
    """index of this process, from 0"""
    start_timeout: Count = 45
    """seconds within which all processes must have started"""
    peer_timeout: Count = 20
    """seconds without a heartbeat after which a process counts as lost and the job ends"""


def check_job(options: JobOptions) -> JobOptions:
    """The options. Raises a `UserError` if they do not fit together."""
    check_options(options)
    numbers = {"--num-processes": options.num_processes, "--process-id": options.process_id}
    given = [name for name, value in numbers.items() if value is not None]
    if options.coordinator is None and given:
        raise UserError(f"{given[0]}: needs --coordinator HOST:PORT, the address of process 0")
    if options.coordinator == "auto" and given:
        raise UserError(f"{given[0]}: not with --coordinator auto, which finds it itself")
    if options.coordinator not in (None, "auto"):
        _check_address(options.coordinator, options.num_processes, options.process_id)
    return options


def _check_address(coordinator: str, num_processes: int | None, process_id: int | None) -> None:
    if not re.fullmatch(r".+:\d+", coordinator):
        raise UserError(f"--coordinator {coordinator}: must be HOST:PORT, or auto")
    if num_processes is None or process_id is None:
        raise UserError("--coordinator: needs --num-processes and --process-id too, unless it is auto")
    if not 0 <= process_id < num_processes:
        raise UserError(f"--process-id {process_id}: must be from 0 to {num_processes - 1}")

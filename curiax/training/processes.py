"""The life of a job of several processes: connect, check that all have the same options, end together."""

import contextlib
import os
import signal
import sys
import threading
import time
import zlib
from collections.abc import Iterator
from typing import Any, NoReturn

import jax
import numpy as np
from jax.experimental import multihost_utils
from jax.sharding import Mesh
from jaxtyping import PRNGKeyArray

from curiax.config import Config
from curiax.errors import UserError, first_line, report
from curiax.training.devices import make_mesh, split_cpu
from curiax.training.job import JobOptions
from curiax.training.witness import GO_ON, INTERRUPTED, Witness

END = "curiax/end"  # the coordinator's key for the message of the first process that fails
LISTEN_INTERVAL = 1.0  # seconds
FAREWELL_MS = 5000  # how long process 0 waits for the others to read the message
ending = threading.Lock()  # only one thread may end the process


def rank() -> int:
    """The index of this process. Process 0 writes the run's files and prints."""
    return jax.process_index()


def local_batch_size(batch_size: int) -> int:
    """The number of streams that each process steps."""
    return batch_size // jax.process_count()


def own_key(key: PRNGKeyArray) -> PRNGKeyArray:
    """A key that differs between processes; in process 0, the key itself."""
    return jax.random.fold_in(key, rank()) if rank() else key


def agree(number: int) -> int:
    """The largest number over all processes. Every process must call it."""
    if jax.process_count() == 1:
        return number
    return int(multihost_utils.process_allgather(np.int32(number)).max())


@contextlib.contextmanager
def joined(options: JobOptions, config: Config) -> Iterator[Mesh | None]:
    """Joins the job, yields its mesh, and leaves. If one process fails, all end and each prints why in one line."""
    if options.devices is not None:
        split_cpu(max(options.devices // (options.num_processes or 1), 1))
    if options.coordinator is None:
        yield None if options.devices is None else make_mesh(options.devices, config.batch_size)
        return
    witness = Witness("this process" if options.process_id is None else f"process {options.process_id}")
    finished = threading.Event()
    try:
        connect(options)
        jax.devices()  # starts the backend, and with it the connections between processes
        threading.Thread(target=listen, args=(witness, finished), daemon=True).start()
        mesh = make_mesh(options.devices, config.batch_size)
        refuse_other_options(config, options.devices)
        yield mesh
        finished.set()
        jax.distributed.shutdown()  # waits for the others
    except BaseException as error:
        leave(witness, *why(error))
    witness.dismiss()


def why(error: BaseException) -> tuple[str, int]:
    """The error in one line, and the exit code."""
    if isinstance(error, KeyboardInterrupt):  # before there is anything to save, or a second Ctrl-C
        return INTERRUPTED, 128 + (error.args[0] if error.args else signal.SIGINT)
    if "Gloo" in str(error):  # a ValueError or a JaxRuntimeError
        return f"the connection to another process broke ({first_line(error)}); {GO_ON}", 2
    line, code = report(error)
    if code == 1 and isinstance(error, jax.errors.JaxRuntimeError):
        return f"a process or a device is lost ({first_line(error)}); {GO_ON}", 2
    return line, code


def connect(options: JobOptions) -> None:
    """Connects to the coordinator, which is process 0."""
    address = None if options.coordinator == "auto" else options.coordinator
    on_this_machine = address is not None and address.rpartition(":")[0] in ("127.0.0.1", "localhost")
    jax.config.update("jax_enable_preemption_service", False)  # it would handle SIGTERM itself
    try:
        jax.distributed.initialize(
            address,
            options.num_processes,
            options.process_id,
            initialization_timeout=options.start_timeout,
            heartbeat_timeout_seconds=options.peer_timeout,
            coordinator_bind_address=address if on_this_machine else None,  # JAX's default is every address
        )
    except (ValueError, RuntimeError) as error:
        reason = "no Slurm, Open MPI or TPU pod here" if address is None else "cannot connect to the other processes"
        raise UserError(f"--coordinator {options.coordinator}: {reason} ({first_line(error)})") from None


def refuse_other_options(config: Config, num_devices: int | None) -> None:
    """Raises if processes have different options: they would wait for each other forever."""
    fingerprint = np.uint32(zlib.crc32(repr((config, num_devices)).encode()))
    fingerprints = multihost_utils.process_allgather(fingerprint)
    others = np.flatnonzero(fingerprints != fingerprints[0])
    if len(others):
        raise UserError(f"process {others[0]} was started with other options than process 0")


def listen(witness: Witness, finished: threading.Event) -> None:
    """Ends this process when another one has failed."""
    while not finished.wait(LISTEN_INTERVAL):
        with contextlib.suppress(ValueError, RuntimeError):  # the coordinator is gone: JAX notices that itself
            if said := coordinator().key_value_dir_get(END):
                end(witness, said[0][1])


def leave(witness: Witness, message: str, code: int) -> NoReturn:
    """Tells the other processes why this one fails, and ends it."""
    if jax.distributed.is_initialized():
        with contextlib.suppress(ValueError, RuntimeError):  # no coordinator, or another process failed first
            coordinator().key_value_set(f"{END}/first", f"process {rank()}: {message}")
    end(witness, message, code)


def end(witness: Witness, message: str, code: int = 2) -> NoReturn:
    """Prints the message and exits, without waiting for other threads."""
    if not ending.acquire(blocking=False):
        time.sleep(2 * FAREWELL_MS / 1000)  # another thread is ending the process; if it hangs, this one does it
    print(f"curiax: {message}", file=sys.stderr, flush=True)
    if jax.distributed.is_initialized():
        with contextlib.suppress(ValueError, RuntimeError):
            coordinator().wait_at_barrier(END, FAREWELL_MS)  # process 0 stays until all have read the message
    witness.dismiss()
    os._exit(code)


def coordinator() -> Any:
    """JAX's client of the coordinator. It is not public API: JAX has no other key-value store."""
    from jax._src.distributed import global_state

    return global_state.client

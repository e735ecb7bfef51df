"""Meshes, sharding, many processes: the only file that knows devices.

One mesh with one axis, the batch. Streams and trajectories are split along it, everything else is on every device; XLA
does the rest. What the mathematics means by the batch is thus always the whole of it: the negatives of the contrastive
loss, V-MPO's better half, the statistics of rewards and returns.

A mesh of None is one device and one process, and JAX is told nothing.
"""

import contextlib
import os
import sys
import threading
import time
import traceback
import zlib
from collections.abc import Callable, Iterator
from typing import Any, NoReturn, TypeVar

import jax
import numpy as np
from jax.experimental import multihost_utils
from jax.sharding import Mesh, NamedSharding, PartitionSpec
from jaxtyping import PRNGKeyArray

from curiax.agent.streams import STREAMS
from curiax.config import Config
from curiax.errors import UserError, first_line
from curiax.training.job import JobOptions
from curiax.training.rollout import Actor
from curiax.training.witness import GO_ON, Witness
from curiax.types import LearnerState, Trajectory

Tree = TypeVar("Tree")

END = "curiax/end"  # where the coordinator keeps what the first process to fail had to say
LISTEN_INTERVAL = 1.0  # seconds
FAREWELL_MS = 5000  # in which the others must have heard it
ending = threading.Lock()  # a process ends once


def make_mesh(num_devices: int | None, batch_size: int) -> Mesh | None:
    """The same number of devices of every process, in the order of the processes."""
    num_processes, here = jax.process_count(), jax.local_device_count()
    total = num_processes if num_devices is None else num_devices
    if total % num_processes:
        raise UserError(f"--devices {total}: must be a multiple of the number of processes, {num_processes}")
    each = total // num_processes
    if each > here:
        raise UserError(f"--devices {total}: there are {here * num_processes}")
    if batch_size % total:
        raise UserError(f"--batch-size {batch_size}: must be a multiple of the number of devices, {total}")
    of_process = [[d for d in jax.devices() if d.process_index == process] for process in range(num_processes)]
    return None if total == 1 else Mesh(np.array([devices[:each] for devices in of_process]).ravel(), (STREAMS,))


def pose_as(num_devices: int) -> None:
    """A CPU becomes so many devices, unless JAX has started already or was told otherwise."""
    if "xla_force_host_platform_device_count" not in os.environ.get("XLA_FLAGS", ""):
        with contextlib.suppress(RuntimeError):
            jax.config.update("jax_num_cpu_devices", num_devices)


def within(mesh: Mesh | None, function: Callable[..., Tree]) -> Callable[..., Tree]:
    """The same function, called where what it compiles can see the mesh."""

    def call(*args: Any) -> Tree:
        with contextlib.nullcontext() if mesh is None else jax.set_mesh(mesh):
            return function(*args)

    return call


def everywhere(mesh: Mesh | None) -> NamedSharding | None:
    return None if mesh is None else NamedSharding(mesh, PartitionSpec())


def split(mesh: Mesh, axis: int) -> NamedSharding:
    """Along the batch, which is this axis of an array."""
    return NamedSharding(mesh, PartitionSpec(*[None] * axis, STREAMS))


def layout(mesh: Mesh | None, state: LearnerState) -> Any:
    """Where each part of a state lives, as `jax.jit` wants to be told."""
    if mesh is None:
        return None
    whole = jax.tree.map(lambda _: everywhere(mesh), state)
    if not isinstance(state.stream, Actor):  # of environments on the host
        return whole
    return whole._replace(stream=jax.tree.map(lambda _: split(mesh, 0), state.stream))


def spread(mesh: Mesh | None, state: LearnerState) -> LearnerState:
    """Process 0's state, laid out over all devices."""
    if mesh is None:
        return state
    raw = jax.device_get(state._replace(key=jax.random.key_data(state.key)))
    raw = jax.tree.map(put, from_process_0(raw), layout(mesh, raw))
    return raw._replace(key=jax.random.wrap_key_data(raw.key))


def put(value: np.ndarray, sharding: NamedSharding) -> jax.Array:
    """What is the same in every process becomes one array, of which each process holds its part."""
    return jax.make_array_from_callback(value.shape, sharding, lambda index: value[index])


def from_process_0(tree: Tree) -> Tree:
    """Arrays go as bytes: JAX sends by adding zeros, and −0 + 0 is another bit pattern."""
    leaves, structure = jax.tree.flatten(tree)
    content = np.frombuffer(b"".join(leaf.tobytes() for leaf in leaves), np.uint8)
    parts = np.split(multihost_utils.broadcast_one_to_all(content), np.cumsum([leaf.nbytes for leaf in leaves])[:-1])
    sent = [part.view(leaf.dtype).reshape(leaf.shape) for part, leaf in zip(parts, leaves, strict=True)]
    return jax.tree.unflatten(structure, sent)


def gather(mesh: Mesh | None, state: LearnerState) -> LearnerState:
    """The whole of a state in every process. All must ask for it."""
    if mesh is None or not isinstance(state.stream, Actor) or jax.process_count() == 1:
        return state
    return state._replace(stream=jax.jit(same, out_shardings=everywhere(mesh))(state.stream))


def same(tree: Tree) -> Tree:
    return tree


def local(mesh: Mesh | None, tree: Tree) -> Tree:
    """Of what is on every device, the copy of this process's first: for programs in which no other takes part."""
    return tree if mesh is None else jax.tree.map(lambda x: x.addressable_data(0), tree)


def assemble(mesh: Mesh | None, trajectory: Trajectory) -> Trajectory:
    """The streams of each process, as one batch."""
    if mesh is None:
        return trajectory
    axes = jax.tree.map(lambda _: 1, trajectory)._replace(belief=0, previous_action=0)
    return jax.tree.map(
        lambda x, axis: jax.make_array_from_process_local_data(split(mesh, axis), np.asarray(x)), trajectory, axes
    )


def rank() -> int:
    """Which of the processes this is. Process 0 writes and speaks."""
    return jax.process_index()


def share(batch_size: int) -> int:
    """How many streams each process steps."""
    return batch_size // jax.process_count()


def own_key(key: PRNGKeyArray) -> PRNGKeyArray:
    """Other processes draw other numbers."""
    return jax.random.fold_in(key, rank()) if rank() else key


def agree(number: int) -> int:
    """The largest of what the processes say. All must be asked."""
    if jax.process_count() == 1:
        return number
    return int(multihost_utils.process_allgather(np.int32(number)).max())


@contextlib.contextmanager
def joined(options: JobOptions, config: Config) -> Iterator[Mesh | None]:
    """One process of a job from start to end. However it ends, that is said soon and in one line, in every process."""
    if options.devices is not None:
        pose_as(max(options.devices // (options.num_processes or 1), 1))
    if options.coordinator is None:
        yield None if options.devices is None else make_mesh(options.devices, config.batch_size)
        return
    witness = Witness("this process" if options.process_id is None else f"process {options.process_id}")
    finished = threading.Event()
    try:
        connect(options)
        jax.devices()  # starts what sends and receives
        threading.Thread(target=listen, args=(witness, finished), daemon=True).start()
        mesh = make_mesh(options.devices, config.batch_size)
        refuse_other_options(config, options.devices)
        yield mesh
        finished.set()
        jax.distributed.shutdown()  # waits for the others
    except BaseException as error:
        leave(witness, why(error))
    witness.dismiss()


def why(error: BaseException) -> str:
    """In one line, before which there is a traceback if the mistake is in the program."""
    if isinstance(error, UserError):
        return str(error)
    if isinstance(error, KeyboardInterrupt):  # before there is anything to save, or the second one
        return "interrupted"
    if "Gloo" in str(error):  # a ValueError, or an error of JAX's
        return f"the connection to another process broke ({first_line(error)}); {GO_ON}"
    if isinstance(error, jax.errors.JaxRuntimeError):
        return f"a process or a device is lost ({first_line(error)}); {GO_ON}"
    traceback.print_exception(error)
    return f"{type(error).__name__}: {first_line(error)}"


def connect(options: JobOptions) -> None:
    """Meets the other processes at the coordinator, which is process 0."""
    address = None if options.coordinator == "auto" else options.coordinator
    on_this_machine = address is not None and address.rpartition(":")[0] in ("127.0.0.1", "localhost")
    jax.config.update("jax_enable_preemption_service", False)  # it would take SIGTERM for itself
    try:
        jax.distributed.initialize(
            address,
            options.num_processes,
            options.process_id,
            initialization_timeout=options.start_timeout,
            heartbeat_timeout_seconds=options.peer_timeout,
            coordinator_bind_address=address if on_this_machine else None,  # else JAX's default, every address
        )
    except (ValueError, RuntimeError) as error:
        missing = "no Slurm, Open MPI or TPU pod here" if address is None else "the other processes cannot be met there"
        raise UserError(f"--coordinator {options.coordinator}: {missing} ({first_line(error)})") from None


def refuse_other_options(config: Config, num_devices: int | None) -> None:
    """Processes that compute different things would wait for each other forever."""
    fingerprint = np.uint32(zlib.crc32(repr((config, num_devices)).encode()))
    fingerprints = multihost_utils.process_allgather(fingerprint)
    others = np.flatnonzero(fingerprints != fingerprints[0])
    if len(others):
        raise UserError(f"process {others[0]} was started with other options than process 0")


def listen(witness: Witness, finished: threading.Event) -> None:
    """Ends this process when another has ended before its time."""
    while not finished.wait(LISTEN_INTERVAL):
        with contextlib.suppress(ValueError, RuntimeError):  # the coordinator is gone, which JAX notices
            if said := coordinator().key_value_dir_get(END):
                end(witness, said[0][1])


def leave(witness: Witness, message: str) -> NoReturn:
    """Tells the others why, and ends this process without waiting for what they may never do."""
    if jax.distributed.is_initialized():
        with contextlib.suppress(ValueError, RuntimeError):  # nobody is there, or another was first
            coordinator().key_value_set(f"{END}/first", f"process {rank()}: {message}")
    end(witness, message)


def end(witness: Witness, message: str) -> NoReturn:
    if not ending.acquire(blocking=False):
        time.sleep(2 * FAREWELL_MS / 1000)  # another thread is ending the process; if it cannot, this one does
    print(f"curiax: {message}", file=sys.stderr, flush=True)
    if jax.distributed.is_initialized():
        with contextlib.suppress(ValueError, RuntimeError):
            coordinator().wait_at_barrier(END, FAREWELL_MS)  # process 0 stays until all have heard
    witness.dismiss()
    os._exit(2)


def coordinator() -> Any:
    """JAX's client of the coordinator: the only part of JAX used here that is not public."""
    from jax._src.distributed import global_state

    return global_state.client

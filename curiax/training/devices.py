"""Meshes and sharding.

A mesh has one axis, the batch. Streams and trajectories are sharded along it; everything else is replicated, and XLA
inserts the communication. Every statistic is over the whole batch: the negatives of the contrastive loss, V-MPO's
better half, the moments of rewards and returns.

A mesh of None means one device and one process, without any sharding.
"""

import contextlib
import os
from collections.abc import Callable
from typing import Any, TypeVar

import jax
import numpy as np
from jax.experimental import multihost_utils
from jax.sharding import Mesh, NamedSharding, PartitionSpec

from curiax.agent.streams import STREAMS
from curiax.errors import UserError
from curiax.training.rollout import Actor
from curiax.types import LearnerState, Trajectory

Tree = TypeVar("Tree")


def make_mesh(num_devices: int | None, batch_size: int) -> Mesh | None:
    """A mesh of the same number of devices from every process, in the order of the processes."""
    num_processes, num_local = jax.process_count(), jax.local_device_count()
    total = num_processes if num_devices is None else num_devices
    if total % num_processes:
        raise UserError(f"--devices {total}: must be a multiple of the number of processes, {num_processes}")
    each = total // num_processes
    if each > num_local:
        raise UserError(f"--devices {total}: there are {num_local * num_processes}")
    if batch_size % total:
        raise UserError(f"--batch-size {batch_size}: must be a multiple of the number of devices, {total}")
    of_process = [[d for d in jax.devices() if d.process_index == process] for process in range(num_processes)]
    return None if total == 1 else Mesh(np.array([devices[:each] for devices in of_process]).ravel(), (STREAMS,))


def split_cpu(num_devices: int) -> None:
    """Makes JAX see the CPU as this many devices. Does nothing if JAX has started, or if XLA_FLAGS sets the number."""
    if "xla_force_host_platform_device_count" not in os.environ.get("XLA_FLAGS", ""):
        with contextlib.suppress(RuntimeError):
            jax.config.update("jax_num_cpu_devices", num_devices)


def with_mesh(mesh: Mesh | None, function: Callable[..., Tree]) -> Callable[..., Tree]:
    """The same function, called with the mesh set, so that what it compiles can see it."""

    def call(*args: Any) -> Tree:
        with contextlib.nullcontext() if mesh is None else jax.set_mesh(mesh):
            return function(*args)

    return call


def replicated(mesh: Mesh | None) -> NamedSharding | None:
    """The sharding of an array that every device holds in full."""
    return None if mesh is None else NamedSharding(mesh, PartitionSpec())


def sharded(mesh: Mesh, axis: int) -> NamedSharding:
    """The sharding of an array whose axis `axis` is the batch."""
    return NamedSharding(mesh, PartitionSpec(*[None] * axis, STREAMS))


def state_shardings(mesh: Mesh | None, state: LearnerState) -> Any:
    """The sharding of every part of a state, as `jax.jit` takes it."""
    if mesh is None:
        return None
    shardings = jax.tree.map(lambda _: replicated(mesh), state)
    if not isinstance(state.stream, Actor):  # environments on the host: nothing of the state is per stream
        return shardings
    return shardings._replace(stream=jax.tree.map(lambda _: sharded(mesh, 0), state.stream))


def shard_state(mesh: Mesh | None, state: LearnerState) -> LearnerState:
    """The state of process 0, placed on all devices."""
    if mesh is None:
        return state
    raw = jax.device_get(state._replace(key=jax.random.key_data(state.key)))
    raw = jax.tree.map(put, from_process_0(raw), state_shardings(mesh, raw))
    return raw._replace(key=jax.random.wrap_key_data(raw.key))


def put(value: np.ndarray, sharding: NamedSharding) -> jax.Array:
    """A global array from a value that is the same in every process."""
    return jax.make_array_from_callback(value.shape, sharding, lambda index: value[index])


def from_process_0(tree: Tree) -> Tree:
    """The arrays of process 0, bit by bit. They are sent as bytes: JAX broadcasts by a sum, and −0 + 0 is +0."""
    leaves, structure = jax.tree.flatten(tree)
    content = np.frombuffer(b"".join(leaf.tobytes() for leaf in leaves), np.uint8)
    parts = np.split(multihost_utils.broadcast_one_to_all(content), np.cumsum([leaf.nbytes for leaf in leaves])[:-1])
    sent = [part.view(leaf.dtype).reshape(leaf.shape) for part, leaf in zip(parts, leaves, strict=True)]
    return jax.tree.unflatten(structure, sent)


def gather(mesh: Mesh | None, state: LearnerState) -> LearnerState:
    """The state with all streams in every process. Every process must call it."""
    if mesh is None or not isinstance(state.stream, Actor) or jax.process_count() == 1:
        return state
    return state._replace(stream=jax.jit(identity, out_shardings=replicated(mesh))(state.stream))


def identity(tree: Tree) -> Tree:
    """Has a name so that `jax.jit` compiles it once."""
    return tree


def local(mesh: Mesh | None, tree: Tree) -> Tree:
    """This process's copy of replicated arrays, for programs that run in this process alone."""
    return tree if mesh is None else jax.tree.map(lambda x: x.addressable_data(0), tree)


def assemble(mesh: Mesh | None, trajectory: Trajectory) -> Trajectory:
    """One global batch from the streams of every process."""
    if mesh is None:
        return trajectory
    axes = jax.tree.map(lambda _: 1, trajectory)._replace(belief=0, previous_action=0)
    return jax.tree.map(
        lambda x, axis: jax.make_array_from_process_local_data(sharded(mesh, axis), np.asarray(x)), trajectory, axes
    )

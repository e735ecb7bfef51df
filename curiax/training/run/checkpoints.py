"""Checkpoints: a state as files, with a checksum that shows damage."""

import contextlib
import hashlib
import logging
import os
import re
import shutil
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, TypeVar

import jax
import jax.numpy as jnp
import numpy as np

from curiax.errors import first_line
from curiax.training.run.files import write_atomically
from curiax.types import LearnerState

KEEP = 3  # checkpoints that stay on disk
Tree = TypeVar("Tree")


def checkpoint_manager(directory: Path) -> Any:
    """Orbax's manager of the checkpoints of a run."""
    import orbax.checkpoint as ocp  # slow to import

    # With several processes only the first writes: the others may be on machines that do not see this directory.
    alone = ocp.options.MultiprocessingOptions(active_processes={0})
    options = ocp.CheckpointManagerOptions(
        max_to_keep=KEEP, enable_async_checkpointing=False, create=False, multiprocessing_options=alone
    )
    (directory / "checkpoints").mkdir(parents=True, exist_ok=True)
    with quiet_if_it_fails():  # of damaged checkpoints, which `Run.restore` finds
        return ocp.CheckpointManager((directory / "checkpoints").absolute(), options=options)


def save_checkpoint(manager: Any, step: int, state: LearnerState) -> None:
    """Writes a checkpoint with its checksum."""
    import orbax.checkpoint as ocp

    with quiet_if_it_fails():
        manager.save(step, args=ocp.args.StandardSave(to_arrays(state)))
    seal(Path(manager.directory) / str(step))


@contextlib.contextmanager
def quiet_if_it_fails() -> Iterator[None]:
    """Silences what Orbax and tensorstore print of an error: hundreds of lines, from threads that outlive the block.

    The error itself is raised. After one they stay silent.
    """
    hook = sys.unraisablehook
    levels = {log: log.level for log in map(logging.getLogger, ("absl", "asyncio"))}

    def pass_on(unraisable: Any) -> None:
        if str(unraisable.exc_value) != "Event loop is closed":  # tensorstore's threads: the first error has closed it
            hook(unraisable)

    for log in levels:
        log.setLevel(logging.CRITICAL)
    sys.unraisablehook = pass_on
    yield
    sys.unraisablehook = hook
    for log, level in levels.items():
        log.setLevel(level)


def remove_unfinished(directory: Path) -> None:
    """Removes what a kill or a full disk left of a checkpoint. Orbax could fail on it when it saves that step again."""
    for path in (directory / "checkpoints").glob("*.orbax-checkpoint-tmp*"):
        shutil.rmtree(path, ignore_errors=True)


def reason(error: Exception) -> str:
    """Why a checkpoint was not written; in the words of the operating system if it was that."""
    code = re.search(r"os_error_code='(\d+)'", str(error))  # of tensorstore
    number = int(code[1]) if code else getattr(error, "errno", None)
    return os.strerror(number) if number else first_line(error)


def to_arrays(tree: Any, prefix: str = "") -> dict[str, np.ndarray]:
    """The arrays of a tree by their paths, random keys as their data. Empty arrays are left out: Orbax stores none."""
    leaves = jax.tree_util.tree_flatten_with_path(tree)[0]
    return {prefix + jax.tree_util.keystr(path): np.asarray(raw(leaf)) for path, leaf in leaves if leaf.size}


def from_arrays(arrays: Mapping[str, Any], like: Tree, prefix: str = "") -> Tree:
    """The tree that `to_arrays` was given, from one with the same shapes."""
    leaves, structure = jax.tree_util.tree_flatten_with_path(like)
    loaded = [
        restored(arrays, prefix + jax.tree_util.keystr(path), leaf) if leaf.size else leaf for path, leaf in leaves
    ]
    return jax.tree_util.tree_unflatten(structure, loaded)


def restored(arrays: Mapping[str, Any], name: str, like: jax.Array) -> jax.Array:
    """One array, checked against the shape and dtype of `like`."""
    array = arrays[name]
    if (array.shape, array.dtype) != (raw(like).shape, raw(like).dtype):
        raise ValueError(f"{name} has another shape")
    return jax.random.wrap_key_data(jnp.asarray(array)) if is_key(like) else jnp.asarray(array)


def raw(leaf: jax.Array) -> jax.Array:
    return jax.random.key_data(leaf) if is_key(leaf) else leaf


def is_key(leaf: jax.Array) -> bool:
    return jnp.issubdtype(leaf.dtype, jax.dtypes.prng_key)


def restore_checkpoint(manager: Any, step: int, like: LearnerState) -> LearnerState:
    """The state of a checkpoint; `like` is any state of the same run."""
    import orbax.checkpoint as ocp

    with quiet_if_it_fails():
        return from_arrays(manager.restore(step, args=ocp.args.StandardRestore(to_arrays(like))), like)


def seal(directory: Path) -> None:
    """Writes the checksum of a directory into it."""
    write_atomically(directory / "sha256", digest(directory))


def verify(directory: Path) -> None:
    """Raises if the checksum does not match. A checkpoint without one is accepted: a kill came first."""
    if (directory / "sha256").exists() and (directory / "sha256").read_text() != digest(directory):
        raise ValueError("its checksum does not match")


def digest(directory: Path) -> str:
    """The checksum of all files of a directory."""
    total = hashlib.sha256()
    for path in sorted(path for path in directory.rglob("*") if path.is_file() and path.stem != "sha256"):
        with path.open("rb") as file:
            total.update(f"{path.relative_to(directory)}\n".encode() + hashlib.file_digest(file, "sha256").digest())
    return total.hexdigest()

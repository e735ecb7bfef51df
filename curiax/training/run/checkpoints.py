"""Checkpoints: a state as files, whole or not at all, sealed against damage."""

import hashlib
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from curiax.training.run.files import write_atomically
from curiax.types import LearnerState

KEEP = 3  # checkpoints that stay on disk


def checkpoint_manager(directory: Path) -> Any:
    import orbax.checkpoint as ocp  # a second of import that `curiax list` need not wait for

    # Of several processes, one writes: the others may be on machines that do not see this directory.
    alone = ocp.options.MultiprocessingOptions(active_processes={0})
    options = ocp.CheckpointManagerOptions(
        max_to_keep=KEEP, enable_async_checkpointing=False, create=False, multiprocessing_options=alone
    )
    (directory / "checkpoints").mkdir(parents=True, exist_ok=True)
    return ocp.CheckpointManager((directory / "checkpoints").absolute(), options=options)


def to_arrays(state: LearnerState) -> dict[str, np.ndarray]:
    """A state as a flat dict of arrays, by path. Random keys as their data; empty arrays are not stored."""
    state = state._replace(key=jax.random.key_data(state.key))
    leaves = jax.tree_util.tree_flatten_with_path(state)[0]
    return {jax.tree_util.keystr(path): np.asarray(leaf) for path, leaf in leaves if leaf.size}


def from_arrays(arrays: dict[str, Any], like: LearnerState) -> LearnerState:
    """The inverse of `to_arrays`, given a state of the same shape."""
    raw = like._replace(key=jax.random.key_data(like.key))
    leaves, structure = jax.tree_util.tree_flatten_with_path(raw)
    loaded = [arrays[jax.tree_util.keystr(path)] if leaf.size else leaf for path, leaf in leaves]
    state = jax.tree_util.tree_unflatten(structure, [jnp.asarray(leaf) for leaf in loaded])
    return state._replace(key=jax.random.wrap_key_data(state.key))


def restore_checkpoint(manager: Any, step: int, like: LearnerState) -> LearnerState:
    import orbax.checkpoint as ocp

    return from_arrays(manager.restore(step, args=ocp.args.StandardRestore(to_arrays(like))), like)


def seal(directory: Path) -> None:
    """Notes what is in a directory, so that damage can be seen."""
    write_atomically(directory / "sha256", digest(directory))


def verify(directory: Path) -> None:
    """Raises if the directory has changed since it was sealed. A kill may have come between writing and sealing."""
    if (directory / "sha256").exists() and (directory / "sha256").read_text() != digest(directory):
        raise ValueError("its files are not as they were written")


def digest(directory: Path) -> str:
    total = hashlib.sha256()
    for path in sorted(path for path in directory.rglob("*") if path.is_file() and path.stem != "sha256"):
        with path.open("rb") as file:
            total.update(f"{path.relative_to(directory)}\n".encode() + hashlib.file_digest(file, "sha256").digest())
    return total.hexdigest()

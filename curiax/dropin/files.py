"""A curiosity as bytes: settings, state, recurrent state, replay, and transitions that are not learned yet."""

import io
import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import numpy as np

from curiax.config import from_dict, to_dict
from curiax.dropin.functions import DropInState, Memory, begin, fresh_memory
from curiax.dropin.replay import Replay, Rows
from curiax.dropin.settings import Setup, check_config
from curiax.envs.spaces import Actions, Observations, Segment
from curiax.errors import UserError, first_line
from curiax.training.run.checkpoints import from_arrays, to_arrays
from curiax.training.run.files import read_bytes

Content = TypeVar("Content")

FORMAT = 5


class Stored(NamedTuple):
    """Everything that a file holds."""

    setup: Setup
    state: DropInState
    memory: Memory | None  # after the last update
    online: Memory | None  # after the pending transitions
    replay: Replay | None
    pending: list[Segment]


def read_saved(path: str | os.PathLike[str], read: Callable[[bytes], Content]) -> Content:
    """What `read` makes of the bytes of a file. Raises a UserError if it cannot be read."""
    content = read_bytes(Path(path))
    try:
        return read(content)
    except Exception as error:  # a damaged file may raise anything
        expected = "expected a file that this version's `save` wrote"
        raise UserError(f"path: got {path}, {expected} ({first_line(error)})") from None


def to_bytes(stored: Stored) -> bytes:
    setup, replay = stored.setup, stored.replay
    header = {"format": FORMAT, "config": to_dict(setup.config), "period": setup.period, "capacity": setup.capacity}
    header |= {"observations": setup.observations, "actions": setup.actions}
    header |= {"count": 0 if replay is None else replay.count, "pending": len(stored.pending)}
    arrays: dict[str, Any] = {"header": np.frombuffer(json.dumps(header).encode(), np.uint8)}
    arrays |= to_arrays(stored.state, "state")
    for name, memory in (("memory", stored.memory), ("online", stored.online)):
        arrays |= {} if memory is None else to_arrays(memory, name)
    if replay is not None:
        arrays |= {f"replay.{name}": x for name, x in replay.rows._asdict().items()}
    for number, segment in enumerate(stored.pending):
        arrays |= {f"pending.{number}.{name}": x for name, x in segment._asdict().items()}
    file = io.BytesIO()
    np.savez(file, **arrays)
    return file.getvalue()


def from_bytes(content: bytes) -> Stored:
    """The inverse of `to_bytes`. Raises a ValueError, or almost anything, if the content is damaged."""
    with np.load(io.BytesIO(content), allow_pickle=False) as file:
        arrays = dict(file)
    header = json.loads(arrays.pop("header").tobytes())
    if header["format"] != FORMAT:
        raise ValueError(f"format {header['format']}")
    spaces = Observations(*tuples(header["observations"])), Actions(*tuples(header["actions"]))
    setup = Setup(check_config(from_dict(header["config"])), *spaces, header["period"], header["capacity"])
    replay = None
    if "replay.obs" in arrays:
        replay = Replay(Rows(*(arrays[f"replay.{name}"] for name in Rows._fields)), header["count"])
    return Stored(
        setup=setup,
        state=from_arrays(arrays, begin(setup), "state"),
        memory=read_memory(arrays, setup, "memory"),
        online=read_memory(arrays, setup, "online"),
        replay=replay,
        pending=[
            Segment(*(arrays[f"pending.{number}.{name}"] for name in Segment._fields))
            for number in range(header["pending"])
        ],
    )


def read_memory(arrays: dict[str, Any], setup: Setup, name: str) -> Memory | None:
    batch_size = len(arrays.get(f"{name}.first", ()))
    return from_arrays(arrays, fresh_memory(setup, batch_size), name) if batch_size else None


def tuples(values: Any) -> Any:
    """Nested lists as tuples: JSON has no tuples."""
    return tuple(tuples(value) for value in values) if isinstance(values, list) else values

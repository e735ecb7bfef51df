"""Refuses what cannot fit in memory, by an estimate, before anything is allocated."""

import math
import os
from typing import Any

from curiax.errors import UserError

GB = 10**9


def require_memory(num_bytes: int | float, what: str, available: int | None = None) -> None:
    """Raises a UserError if more bytes are needed than there are; by default the RAM of this machine."""
    available = ram() if available is None else available
    if num_bytes > available:
        has = f"this machine has {available / GB:,.0f} GB"
        raise UserError(f"{what}: needs at least {num_bytes / GB:,.0f} GB of memory; {has}")


def ram() -> int:
    """Bytes of memory of this machine."""
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")


def device_memory() -> int:
    """Bytes of memory of the accelerators of this process; on a CPU, the RAM."""
    import jax

    return sum((device.memory_stats() or {}).get("bytes_limit", 0) for device in jax.local_devices()) or ram()


def size_of(tree: Any) -> int:
    """Bytes of the arrays of a pytree, also if they are only shapes."""
    import jax

    return sum(math.prod(leaf.shape) * leaf.dtype.itemsize for leaf in jax.tree.leaves(tree))

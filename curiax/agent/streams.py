"""Shards a function of independent streams over devices.

XLA shards most operations by itself, but not a loop over images.
"""

from collections.abc import Callable
from typing import TypeVar

import jax
from jax.sharding import PartitionSpec
from jaxtyping import Array

Params = TypeVar("Params")

STREAMS = "batch"  # the mesh's only axis


def alone() -> bool:
    """Whether the function being compiled sees no mesh, and so one device; `devices.with_mesh` sets the mesh."""
    return jax.sharding.get_abstract_mesh().empty


def each_its_own(function: Callable[[Params, Array], Array], axis: int) -> Callable[[Params, Array], Array]:
    """`function(params, x)`, computed by each device for its own streams, along `axis` of x and of the result."""
    if alone():
        return function
    split = PartitionSpec(*[None] * axis, STREAMS)
    return jax.shard_map(function, in_specs=(PartitionSpec(), split), out_specs=split, check_vma=False)

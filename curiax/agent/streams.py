"""Functions that treat every stream by itself. Where there are several devices, each has its own streams to treat.

XLA divides most of the mathematics among devices without being told; a loop over images it does not.
"""

from collections.abc import Callable
from typing import TypeVar

import jax
from jax.sharding import PartitionSpec
from jaxtyping import Array

Params = TypeVar("Params")

STREAMS = "batch"  # the mesh's only axis


def alone() -> bool:
    """Is there one device only, as far as the function being compiled can see? `distributed.within` tells it."""
    return jax.sharding.get_abstract_mesh().empty


def each_its_own(function: Callable[[Params, Array], Array], axis: int) -> Callable[[Params, Array], Array]:
    """The same function of parameters and of an array whose streams lie along an axis, there and in the result."""
    if alone():
        return function
    split = PartitionSpec(*[None] * axis, STREAMS)
    return jax.shard_map(function, in_specs=(PartitionSpec(), split), out_specs=split, check_vma=False)

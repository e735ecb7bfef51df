"""Arrays of any kind: numpy, JAX or PyTorch in, the same kind out, on the same device. On a CPU nothing is copied."""

import sys
from collections.abc import Callable
from typing import Any

import numpy as np

from curiax.errors import UserError


def to_numpy(x: Any) -> Any:
    """The array as numpy's, which shares its memory on a CPU. What is no tensor stays as it is."""
    return x.detach().cpu().numpy() if is_tensor(x) else x


def like(x: Any) -> Callable[[np.ndarray], Any]:
    """A function that turns numpy arrays into arrays of the kind of `x`, on its device."""
    if is_tensor(x):
        torch = sys.modules["torch"]
        return lambda array: torch.from_numpy(array).to(x.device)
    if is_jax(x):
        import jax

        return lambda array: jax.device_put(array, x.sharding)
    return lambda array: array


def read_mask(name: str, x: Any, batch_size: int) -> np.ndarray:
    """A mask of B trajectories; None is all of them."""
    mask = np.ones(batch_size, bool) if x is None else np.asarray(to_numpy(x))
    if mask.shape != (batch_size,) or mask.dtype != bool:
        got = f"{mask.dtype} of shape {list(mask.shape)}"
        raise UserError(f"{name}: got {got}, expected true or false for each of {batch_size} trajectories")
    return mask


def is_tensor(x: Any) -> bool:
    """Whether it is a tensor of PyTorch, which is imported by whoever made it, and not here."""
    return "torch" in sys.modules and isinstance(x, sys.modules["torch"].Tensor)


def is_jax(x: Any) -> bool:
    return "jax" in sys.modules and isinstance(x, sys.modules["jax"].Array)

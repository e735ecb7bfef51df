"""Curiosity that can tell noise from novelty. `Curiosity` is the drop-in for a loop of your own: docs/dropin.md."""

from typing import TYPE_CHECKING, Any

from curiax.envs.spaces import Box, Discrete, MultiDiscrete
from curiax.errors import UserError

if TYPE_CHECKING:
    from curiax.dropin import Curiosity

__all__ = ["Box", "Curiosity", "Discrete", "MultiDiscrete", "UserError"]


def __getattr__(name: str) -> Any:
    """`Curiosity` on demand: it needs JAX, for which `curiax list` need not wait."""
    if name == "Curiosity":
        from curiax.dropin import Curiosity

        return Curiosity
    raise AttributeError(f"module 'curiax' has no attribute {name!r}")

"""Curiosity that can tell noise from novelty. `Curiosity` gives rewards to any training loop: docs/dropin.md."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from curiax.dropin import Curiosity
    from curiax.envs.spaces import Box, Discrete, MultiDiscrete
    from curiax.errors import CuriosityWarning, UserError

__all__ = ["Box", "Curiosity", "CuriosityWarning", "Discrete", "MultiDiscrete", "UserError"]

PLACES = {
    "Box": "envs.spaces",
    "Curiosity": "dropin",
    "CuriosityWarning": "errors",
    "Discrete": "envs.spaces",
    "MultiDiscrete": "envs.spaces",
    "UserError": "errors",
}


def __getattr__(name: str) -> Any:
    """Imports a public name on first use: most of them import JAX, which `curiax --help` need not wait for."""
    if name not in PLACES:
        raise AttributeError(f"module 'curiax' has no attribute {name!r}")
    return getattr(import_module(f"curiax.{PLACES[name]}"), name)

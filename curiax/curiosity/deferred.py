"""Functions by their place. Names of methods need no JAX, so what they stand for is imported when it is called."""

from collections.abc import Callable
from importlib import import_module
from typing import Any


def deferred(place: str) -> Callable[..., Any]:
    """The function `MODULE.NAME` of this room, imported at its first call."""
    module, _, name = place.rpartition(".")

    def function(*args: Any) -> Any:
        return getattr(import_module(f"curiax.curiosity.{module}"), name)(*args)

    return function

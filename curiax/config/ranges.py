"""Allowed ranges of numbers, as annotations of config fields."""

import math
from typing import Annotated, Any, NamedTuple


class Range(NamedTuple):
    """Finite numbers from low to high, inclusive."""

    low: float
    high: float = math.inf

    def allows(self, value: int | float) -> bool:
        return math.isfinite(value) and self.low <= value <= self.high

    def __str__(self) -> str:
        return f"at least {self.low:.10g}" if self.high == math.inf else f"from {self.low:.10g} to {self.high:.10g}"


class Above(NamedTuple):
    """Finite numbers above `low` and below `below`, exclusive."""

    low: float
    below: float = math.inf

    def allows(self, value: int | float) -> bool:
        return math.isfinite(value) and self.low < value < self.below

    def __str__(self) -> str:
        return f"above {self.low:.10g}" + ("" if self.below == math.inf else f" and below {self.below:.10g}")


Layers = Annotated[tuple[int, ...], "layers"]  # sizes of layers, each at least 1


def range_of(hint: Any) -> Range | Above | None:
    """The range in a field's annotation, if it has one."""
    return next((each for each in getattr(hint, "__metadata__", ()) if isinstance(each, Range | Above)), None)


def is_layers(hint: Any) -> bool:
    return "layers" in getattr(hint, "__metadata__", ())


def must_not_be_empty(hint: Any) -> bool:
    return "not empty" in getattr(hint, "__metadata__", ())

"""Allowed ranges of numbers, as annotations of the fields of a config or a command."""

import math
from typing import Annotated, Any, NamedTuple


def is_finite(value: int | float) -> bool:
    """False also for an integer that is too large for a float."""
    try:
        return math.isfinite(value)
    except OverflowError:
        return False


class Range(NamedTuple):
    """Finite numbers from low to high, inclusive."""

    low: float
    high: float = math.inf

    def allows(self, value: int | float) -> bool:
        return is_finite(value) and self.low <= value <= self.high

    def __str__(self) -> str:
        return f"at least {self.low:.16g}" if self.high == math.inf else f"from {self.low:.16g} to {self.high:.16g}"


class Above(NamedTuple):
    """Finite numbers above `low` and below `below`, exclusive."""

    low: float
    below: float = math.inf

    def allows(self, value: int | float) -> bool:
        return is_finite(value) and self.low < value < self.below

    def __str__(self) -> str:
        return f"above {self.low:.16g}" + ("" if self.below == math.inf else f" and below {self.below:.16g}")


Count = Annotated[int, Range(1)]
SEED = Range(0, 2**32 - 1)
Seed = Annotated[int, SEED]
Size = Annotated[int, Range(1, 2**16)]
Layers = Annotated[tuple[int, ...], Range(1, 2**16)]  # the range of a tuple is that of its items


def range_of(hint: Any) -> Range | Above | None:
    """The range in a field's annotation, if it has one."""
    return next((each for each in getattr(hint, "__metadata__", ()) if isinstance(each, Range | Above)), None)


def must_not_be_empty(hint: Any) -> bool:
    return "not empty" in getattr(hint, "__metadata__", ())

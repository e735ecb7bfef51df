"""The options of environments that come from Gymnasium."""

import json
from dataclasses import dataclass
from typing import Any, Literal

from curiax.errors import UserError


@dataclass(frozen=True)
class GymOptions:
    """How a Gymnasium environment is made and stepped."""

    kwargs: tuple[str, ...] = ()
    """arguments of gymnasium.make, as NAME=VALUE; a value is JSON, or else a word"""
    kinds: int = 0
    """integers of an observation are kinds of things below this number, each an input of its own; 0: amounts"""
    vectorization: Literal["auto", "sync", "async"] = "auto"
    """one after the other, a process for each, or (auto) the environment's own vector form, where it has one"""
    autoreset: Literal["next-step", "same-step", "disabled"] = "next-step"
    """Gymnasium's mode of the vector environment: what is learned is the same in each, next-step wastes no steps"""


def keywords(options: GymOptions) -> dict[str, Any]:
    """`kwargs`, read."""
    return dict(keyword(text) for text in options.kwargs)


def keyword(text: str) -> tuple[str, Any]:
    name, equals, value = text.partition("=")
    if not (equals and name.isidentifier()):
        raise UserError(f"--gym.kwargs {text}: must be NAME=VALUE")
    try:
        return name, json.loads(value)
    except ValueError:
        return name, value

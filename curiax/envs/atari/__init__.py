"""Atari: the games, their rooms, and what people score in them."""

from curiax.envs.atari.games import (
    FRAME,
    FRAME_SKIP,
    MINIMAL,
    actions_of,
    emulator_seeds,
    load,
    make,
    make_pool,
    spec_of,
)
from curiax.envs.atari.profile import profile_of

__all__ = [
    "FRAME",
    "FRAME_SKIP",
    "MINIMAL",
    "actions_of",
    "emulator_seeds",
    "load",
    "make",
    "make_pool",
    "profile_of",
    "spec_of",
]

"""Atari: the games, their rooms, and what people score in them."""

from curiax.envs.atari.games import (
    ABOUT,
    FRAME,
    FRAME_SKIP,
    MINIMAL,
    actions_of,
    emulator_seeds,
    load,
    make,
    make_pool,
    scores_of,
    spec_of,
)

__all__ = [
    "ABOUT",
    "FRAME",
    "FRAME_SKIP",
    "MINIMAL",
    "actions_of",
    "emulator_seeds",
    "load",
    "make",
    "make_pool",
    "scores_of",
    "spec_of",
]

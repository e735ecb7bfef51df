"""The maze: in JAX, as a twin on the Pycolab engine, as a Gymnasium environment, and to play in a terminal."""

from curiax.envs.maze.profile import profile_of
from curiax.envs.maze.world import (
    ACTIONS,
    DOORWAYS,
    LAYERS,
    MAP,
    MOVES,
    NOISE_PROBABILITY,
    SETTINGS,
    TIME_LIMIT,
    VIEW,
    Layout,
    MazeState,
    Noise,
    Setting,
    draw,
    make,
    observe,
    parse,
)

__all__ = [
    "ACTIONS",
    "DOORWAYS",
    "LAYERS",
    "MAP",
    "MOVES",
    "NOISE_PROBABILITY",
    "SETTINGS",
    "TIME_LIMIT",
    "VIEW",
    "Layout",
    "MazeState",
    "Noise",
    "Setting",
    "draw",
    "make",
    "observe",
    "parse",
    "profile_of",
]

"""For Gymnasium: `import curiax.gym` registers the maze, `curiax.gym.CuriosityReward` adds curiosity to rewards.

The maze needs no import: `gymnasium.make("curiax.gym:curiax/Maze-v0")`.
"""

from typing import TYPE_CHECKING, Any

import gymnasium

from curiax.envs.maze import TIME_LIMIT

if TYPE_CHECKING:
    from curiax.gym.wrapper import CuriosityReward

__all__ = ["CuriosityReward"]

gymnasium.register(
    id="curiax/Maze-v0",
    entry_point="curiax.envs.maze.gym:MazeEnv",
    vector_entry_point="curiax.envs.maze.gym:MazeVectorEnv",
    max_episode_steps=TIME_LIMIT,
)


def __getattr__(name: str) -> Any:
    """Imports the wrapper on first use: it takes seconds, for which processes that step mazes need not wait."""
    if name != "CuriosityReward":
        raise AttributeError(f"module 'curiax.gym' has no attribute {name!r}")
    from curiax.gym.wrapper import CuriosityReward

    return CuriosityReward

"""Registers the maze with Gymnasium: `import curiax.gym`, or `gymnasium.make("curiax.gym:curiax/Maze-v0")`."""

import gymnasium

from curiax.envs.maze import TIME_LIMIT

gymnasium.register(
    id="curiax/Maze-v0",
    entry_point="curiax.envs.maze.gym:MazeEnv",
    vector_entry_point="curiax.envs.maze.gym:MazeVectorEnv",
    max_episode_steps=TIME_LIMIT,
)

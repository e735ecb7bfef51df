"""The maze on the Pycolab engine: the reference for `maze.py`, and the one to play by hand.

Both read the same map and are fed the same noise, so that they can be compared step by step. Pycolab is an extra:
import this module only where it is used.
"""

from typing import Any, NamedTuple

import numpy as np
from jaxtyping import UInt8

from curiax.envs import maze
from curiax.errors import not_installed

try:
    from pycolab.cropping import ScrollingCropper
    from pycolab.engine import Engine
    from pycolab.prefab_parts.sprites import MazeWalker
    from pycolab.things import Backdrop, Drape, Sprite
except ImportError:
    raise not_installed("Pycolab", "pycolab") from None

WALL, FLOOR, AGENT, COIN = "# Po"
BLOCKS = maze.DOORWAYS.upper()  # the characters of V1, V2, H1, H2
WALKS = ("_stay", "_north", "_south", "_west", "_east")  # of a MazeWalker, in the order of maze.ACTIONS


class Step(NamedTuple):
    """`curiax.types.TimeStep`, in numpy."""

    obs: np.ndarray
    reward: np.float32
    terminated: np.bool_
    truncated: np.bool_
    info: dict[str, Any]
    episode: dict[str, Any]


class Agent(MazeWalker):
    """Walks, and notes in the plot which regions it touches."""

    def __init__(self, corner, position, character, region):
        super().__init__(corner, position, character, impassable=WALL + BLOCKS)
        self._region = region

    def update(self, actions, board, layers, backdrop, things, the_plot):
        if actions is None:  # the engine's call before the first observation
            the_plot["trackers"] = [False] * 4
            return
        getattr(self, WALKS[actions[0]])(board, the_plot)
        region = self._region[self.position]
        if region:
            the_plot["trackers"][region - 1] = True


class Block(Sprite):
    """Stands in the middle of its doorway, or walks on it at random before the agent moves."""

    def __init__(self, corner, position, character, doorway, still):
        super().__init__(corner, position, character)
        self._index = BLOCKS.index(character)
        self._doorway = [self.Position(*cell) for cell in doorway]
        self._still = still

    def update(self, actions, board, layers, backdrop, things, the_plot):
        if actions is None or self._still:
            return
        cell = self._doorway.index(self._position) + actions[1].moves[self._index]
        if 0 <= cell < len(self._doorway) and self._doorway[cell] != things[AGENT].position:
            self._position = self._doorway[cell]


class Coins(Drape):
    """Pays for a coin the agent stands on, and takes it away."""

    def __init__(self, curtain, character, coin_reward):
        super().__init__(curtain, character)
        self._coin_reward = coin_reward

    def update(self, actions, board, layers, backdrop, things, the_plot):
        cell = things[AGENT].position
        if self.curtain[cell]:
            self.curtain[cell] = False
            the_plot.add_reward(self._coin_reward)


class PycolabMaze:
    """One maze, stepped in Python; the noise of every step is given, not drawn."""

    _engine: Engine
    _observation: Any  # Pycolab's; the engine paints the next one over it

    def __init__(self, setting: maze.Setting, coin_reward: float = 0.0, text: str = maze.MAP):
        self.layout = maze.parse(text)
        self._setting = setting
        self._coin_reward = coin_reward
        self._floor = np.where(self.layout.wall, ord(WALL), ord(FLOOR)).astype(np.uint8)
        self._eye = ScrollingCropper(maze.VIEW, maze.VIEW, [AGENT], pad_char=WALL, scroll_margins=(None, None))

    @property
    def board(self) -> UInt8[np.ndarray, "rows columns"]:
        """The whole map as characters."""
        return self._observation.board

    def reset(self, noise: maze.Noise) -> UInt8[np.ndarray, "5 5 6"]:
        """Pycolab has one engine per episode."""
        self._engine = self._build(noise)
        self._eye.set_engine(self._engine)
        self._observation, _, _ = self._engine.its_showtime()
        return self._view(np.zeros((maze.VIEW, maze.VIEW), bool))

    def step(self, action: int, noise: maze.Noise) -> Step:
        self._observation, reward, _ = self._engine.play((action, noise))
        show = {"never": False, "random": bool(noise.show), "on-demand": action == 0}[self._setting.pixels]
        obs = self._view(np.asarray(noise.pixels) & show)
        moving_in_view = self._setting.blocks == "brownian" and bool(obs[:, :, 2:4].any())
        row, column = self._engine.things[AGENT].position
        trackers = np.array(self._engine.the_plot["trackers"], np.float32)
        return Step(
            obs=obs,
            reward=np.float32(reward or 0.0),
            terminated=np.False_,
            truncated=np.False_,
            info={"noise": np.bool_(show or moving_in_view), "cell": np.int32(row * self._engine.cols + column)},
            episode={"trackers": trackers.sum()} | {f"tracker_{i + 1}": trackers[i] for i in range(4)},
        )

    def _build(self, noise: maze.Noise) -> Engine:
        """Update groups take turns, in the order of their names, and each sees the board after the one before it."""
        layout = self.layout
        engine = Engine(*layout.wall.shape, occlusion_in_layers=False)
        engine.set_prefilled_backdrop(WALL + FLOOR, self._floor, Backdrop)
        engine.update_group("1 blocks")
        for character, doorway in zip(BLOCKS, layout.doorways, strict=True):
            middle = tuple(doorway[len(doorway) // 2])
            engine.add_sprite(character, middle, Block, doorway, self._setting.blocks == "still")
        engine.update_group("2 agent")
        engine.add_sprite(AGENT, tuple(layout.start), Agent, layout.region)
        prefill = np.zeros_like(layout.wall)
        prefill[tuple(layout.coins[noise.coins].T)] = True
        engine.add_prefilled_drape(COIN, prefill, Coins, self._coin_reward)
        return engine

    def _view(self, pixels: np.ndarray) -> UInt8[np.ndarray, "5 5 6"]:
        """What the agent sees: the engine's layers around it, and the noise."""
        seen = self._eye.crop(self._observation).layers
        v1, v2, h1, h2 = (seen[character] for character in BLOCKS)
        return np.stack([seen[WALL], seen[AGENT], v1 | v2, h1 | h2, seen[COIN], pixels], axis=-1).astype(np.uint8)

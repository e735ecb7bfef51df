"""The maze on the Pycolab engine: the reference for `maze.py`, and the one to play by hand.

Both read the same map and are fed the same noise, so that they can be compared step by step.
"""

import numpy as np
from jaxtyping import UInt8

from curiax.envs import maze
from curiax.errors import UserError
from curiax.types import TimeStep

try:
    from pycolab.cropping import ScrollingCropper
    from pycolab.engine import Engine
    from pycolab.prefab_parts.sprites import MazeWalker
    from pycolab.things import Backdrop, Drape
except ImportError:  # the extra is not installed: PycolabMaze says so when it is used
    Engine, MazeWalker, Drape = None, object, object

WALL, FLOOR, AGENT, COIN = "# Po"
BLOCKS = maze.DOORWAYS.upper()  # the characters of V1, V2, H1, H2; each walks on the cells of its lower-case one
WALKS = ("_stay", "_north", "_south", "_west", "_east")  # of a MazeWalker, in the order of maze.ACTIONS


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


class Block(MazeWalker):
    """Walks at random on its doorway, on a board where the agent has already moved."""

    def __init__(self, corner, position, character, walks):
        everything = set(WALL + FLOOR + AGENT + COIN + BLOCKS + maze.DOORWAYS)
        super().__init__(corner, position, character, impassable=everything - {character, character.lower()})
        self._index = BLOCKS.index(character)
        self._back, self._forth = (getattr(self, walk) for walk in walks)

    def update(self, actions, board, layers, backdrop, things, the_plot):
        if actions is not None:
            (self._forth if actions[1].moves[self._index] > 0 else self._back)(board, the_plot)


class StillBlock(Block):
    """Stands in the middle of its doorway."""

    def update(self, actions, board, layers, backdrop, things, the_plot):
        pass


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

    def __init__(self, setting: maze.Setting, coin_reward: float = 0.0, text: str = maze.MAP):
        if Engine is None:
            raise UserError("this needs Pycolab: pip install 'curiax[pycolab]'")
        self.layout = maze.parse(text)
        self._setting = setting
        self._coin_reward = coin_reward
        self._floor = np.where(self.layout.wall, ord(WALL), ord(FLOOR)).astype(np.uint8)
        for letter, doorway in zip(maze.DOORWAYS, self.layout.doorways, strict=True):
            self._floor[tuple(doorway.T)] = ord(letter)
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
        return self._view(np.zeros_like(noise.pixels))

    def step(self, action: int, noise: maze.Noise) -> TimeStep:
        self._observation, reward, _ = self._engine.play((action, noise))
        show = {"never": False, "random": bool(noise.show), "on-demand": action == 0}[self._setting.pixels]
        obs = self._view(noise.pixels & show)
        moving_in_view = self._setting.blocks == "brownian" and bool(obs[:, :, 2:4].any())
        row, column = self._engine.things[AGENT].position
        trackers = np.array(self._engine.the_plot["trackers"], np.float32)
        return TimeStep(
            obs=obs,
            reward=np.float32(reward or 0.0),
            terminated=np.False_,
            truncated=np.False_,
            info={"noise": np.bool_(show or moving_in_view), "cell": np.int32(row * self._engine.cols + column)},
            episode={"trackers": trackers.sum()} | {f"tracker_{i + 1}": trackers[i] for i in range(4)},
        )

    def _build(self, noise: maze.Noise):
        """An engine whose agent moves first: each update group sees the board that the one before it left."""
        layout = self.layout
        rows, columns = layout.wall.shape
        engine = Engine(rows, columns, occlusion_in_layers=False)
        engine.set_prefilled_backdrop(WALL + FLOOR + maze.DOORWAYS, self._floor, Backdrop)
        engine.update_group("1 blocks")
        block_class = Block if self._setting.blocks == "brownian" else StillBlock
        for character, doorway in zip(BLOCKS, layout.doorways, strict=True):
            upright = doorway[0, 1] == doorway[-1, 1]
            walks = ("_north", "_south") if upright else ("_west", "_east")
            engine.add_sprite(character, tuple(doorway[len(doorway) // 2]), block_class, walks)
        prefill = np.zeros_like(layout.wall)
        prefill[tuple(layout.coins[noise.coins].T)] = True
        engine.add_prefilled_drape(COIN, prefill, Coins, self._coin_reward)
        engine.update_group("0 agent")
        engine.add_sprite(AGENT, tuple(layout.start), Agent, layout.region)
        return engine

    def _view(self, pixels: np.ndarray) -> UInt8[np.ndarray, "5 5 6"]:
        """What the agent sees: the engine's layers around it, and the noise."""
        seen = self._eye.crop(self._observation).layers
        v1, v2, h1, h2 = (seen[character] for character in BLOCKS)
        return np.stack([seen[WALL], seen[AGENT], v1 | v2, h1 | h2, seen[COIN], pixels], axis=-1).astype(np.uint8)

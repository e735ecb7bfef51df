"""The maze of the paper: one map, four doorways with a block in each, four kinds of noise.

The agent starts top right and sees the 5×5 cells around it. Blocks V1, V2 move up and down, H1, H2 left and right,
each on the three cells of its doorway. Behind each begins a tracker region, R1 to R4. Two coins lie in the lower right.
"""

from typing import Literal, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int, PRNGKeyArray, UInt8, UInt32

from curiax.envs.base import Environment
from curiax.envs.noise.equations import wander
from curiax.types import EnvSpec, TimeStep

# '#' wall · 'P' start · '1' '2' '3' '4' the regions R1..R4 · 'c' a cell of R4 where a coin may lie
# 'v' doorway of V1, 'w' of V2, 'h' of H1, 'g' of H2
MAP = """
#########################
#2222222#1111111#.......#
#2222222#1111111#.......#
#2222222w1111111v......P#
#2222222w1111111v.......#
#2222222w1111111v.......#
#2222222#1111111#.......#
#..hhh###################
#3333333#################
#3333333#################
#3333333#################
#3333333#################
#..ggg###################
#444444444cccccccccccccc#
#444444444cccccccccccccc#
#444444444cccccccccccccc#
#444444444cccccccccccccc#
#########################
"""

VIEW = 5  # the agent sees VIEW × VIEW cells, itself in the middle
LAYERS = ("wall", "agent", "vertical block", "horizontal block", "coin", "noise")
ACTIONS = ("stay", "up", "down", "left", "right")
MOVES = np.array([[0, 0], [-1, 0], [1, 0], [0, -1], [0, 1]], np.int32)
DOORWAYS = "vwhg"  # of blocks V1, V2, H1, H2, in the order in which the agent meets them
NOISE_PROBABILITY = 0.25
TIME_LIMIT = 500


class Setting(NamedTuple):
    """One kind of noise."""

    blocks: Literal["still", "brownian"]
    pixels: Literal["never", "random", "on-demand"]


SETTINGS = {
    "baseline": Setting("still", "never"),
    "brownian": Setting("brownian", "never"),
    "random": Setting("still", "random"),
    "on-demand": Setting("still", "on-demand"),
}


class Layout(NamedTuple):
    """A map, parsed."""

    wall: np.ndarray  # [rows, columns] bool
    region: np.ndarray  # [rows, columns] int: 1..4 in R1..R4, else 0
    start: np.ndarray  # [2]
    doorways: np.ndarray  # [4, length, 2] cells on which each block moves
    coins: np.ndarray  # [n, 2] cells where a coin may lie


class Noise(NamedTuple):
    """All the randomness of one step or reset."""

    pixels: Bool[Array, "5 5"]
    show: Bool[Array, ""]  # does the `random` setting show them?
    moves: Int[Array, " 4"]  # −1, 0 or 1 for each block
    coins: Int[Array, " 2"]  # indices into Layout.coins


class MazeState(NamedTuple):
    position: Int[Array, " 2"]
    blocks: Int[Array, " 4"]  # index of each block's cell in its doorway
    coins: Int[Array, "2 2"]
    coins_left: Bool[Array, " 2"]
    trackers: Bool[Array, " 4"]  # regions touched in this episode


def parse(text: str) -> Layout:
    """Reads a map."""
    rows = text.split()
    cells = np.array([list(row) for row in rows])
    doorways = np.stack([np.argwhere(cells == letter) for letter in DOORWAYS])
    region = np.select([cells == digit for digit in "1234"] + [cells == "c"], [1, 2, 3, 4, 4], 0)
    return Layout(
        wall=cells == "#",
        region=region.astype(np.int32),
        start=np.argwhere(cells == "P")[0].astype(np.int32),
        doorways=doorways.astype(np.int32),
        coins=np.argwhere(cells == "c").astype(np.int32),
    )


def draw(layout: Layout, key: PRNGKeyArray) -> Noise:
    """Draws the noise of one step from three random words."""
    pixel_word, step_word, coin_word = jax.random.bits(key, (3,), jnp.uint32)
    bits = (pixel_word >> jnp.arange(VIEW * VIEW, dtype=jnp.uint32)) & 1
    num_cells = len(layout.coins)
    first = (coin_word & 0xFFFF) * num_cells >> 16
    offset = 1 + ((coin_word >> 16) * (num_cells - 1) >> 16)  # the second coin lies elsewhere
    return Noise(
        pixels=bits.reshape(VIEW, VIEW).astype(bool),
        show=(step_word >> 8) < int(NOISE_PROBABILITY * 2**24),
        moves=block_moves(step_word),
        coins=jnp.stack([first, (first + offset) % num_cells]).astype(jnp.int32),
    )


def block_moves(word: UInt32[Array, ""]) -> Int[Array, " 4"]:
    """−1, 0 or 1 for each block, with probabilities 86, 85 and 85 of 256."""
    byte = (word >> (8 * jnp.arange(4, dtype=jnp.uint32))) & 255
    return (byte * 3 >> 8).astype(jnp.int32) - 1


def observe(
    layout: Layout, state: MazeState, pixels: Bool[Array, "5 5"]
) -> tuple[UInt8[Array, "5 5 6"], Bool[Array, ""]]:
    """The 5×5 view, one layer per kind of thing, and whether a block is in it."""
    reach = VIEW // 2
    walls = jnp.asarray(np.pad(layout.wall, reach, constant_values=True))
    wall = jax.lax.dynamic_slice(walls, (state.position[0], state.position[1]), (VIEW, VIEW))
    blocks = jnp.asarray(layout.doorways)[jnp.arange(4), state.blocks]
    offsets = jnp.arange(-reach, reach + 1, dtype=jnp.int32)

    def seen(things: Int[Array, "n 2"], there: Bool[Array, " n"]) -> Bool[Array, "5 5"]:
        relative = things - state.position[None]
        rows = relative[:, :1] == offsets[None]
        columns = relative[:, 1:] == offsets[None]
        return jnp.any(rows[:, :, None] & columns[:, None, :] & there[:, None, None], axis=0)

    always = jnp.ones(2, bool)
    vertical, horizontal = seen(blocks[:2], always), seen(blocks[2:], always)
    agent = jnp.zeros((VIEW, VIEW), bool).at[reach, reach].set(True)
    coin = seen(state.coins, state.coins_left)
    layers = jnp.stack([wall, agent, vertical, horizontal, coin, pixels], axis=-1)
    return layers.astype(jnp.uint8), jnp.any(vertical | horizontal)


def reset(layout: Layout, noise: Noise) -> tuple[MazeState, UInt8[Array, "5 5 6"]]:
    state = MazeState(
        position=jnp.asarray(layout.start),
        blocks=jnp.full(4, layout.doorways.shape[1] // 2, jnp.int32),
        coins=jnp.asarray(layout.coins)[noise.coins],
        coins_left=jnp.ones(2, bool),
        trackers=jnp.zeros(4, bool),
    )
    return state, observe(layout, state, jnp.zeros_like(noise.pixels))[0]


def step(
    layout: Layout, setting: Setting, coin_reward: float, state: MazeState, action: Int[Array, ""], noise: Noise
) -> tuple[MazeState, TimeStep]:
    """The blocks move, then the agent; neither enters the other's cell."""
    doorways = jnp.asarray(layout.doorways)
    which = jnp.arange(4)
    blocks = state.blocks
    if setting.blocks == "brownian":
        moved = wander(jnp, blocks, noise.moves, layout.doorways.shape[1])
        onto_agent = jnp.all(doorways[which, moved] == state.position[None], axis=-1)
        blocks = jnp.where(onto_agent, blocks, moved)

    target = state.position + jnp.asarray(MOVES)[action]
    occupied = jnp.any(jnp.all(doorways[which, blocks] == target[None], axis=-1))
    blocked = jnp.asarray(layout.wall)[target[0], target[1]] | occupied
    position = jnp.where(blocked, state.position, target)

    taken = jnp.all(state.coins == position[None], axis=-1) & state.coins_left
    region = jnp.asarray(layout.region)[position[0], position[1]]
    state = MazeState(
        position=position,
        blocks=blocks,
        coins=state.coins,
        coins_left=state.coins_left & ~taken,
        trackers=state.trackers | (region == jnp.arange(1, 5, dtype=jnp.int32)),
    )
    show = {"never": jnp.array(False), "random": noise.show, "on-demand": action == 0}[setting.pixels]
    obs, block_in_view = observe(layout, state, noise.pixels & show)
    moving_in_view = block_in_view if setting.blocks == "brownian" else jnp.array(False)
    trackers: Float[Array, " 4"] = state.trackers.astype(jnp.float32)
    return state, TimeStep(
        obs=obs,
        reward=coin_reward * jnp.sum(taken).astype(jnp.float32),
        terminated=jnp.array(False),
        truncated=jnp.array(False),  # the time limit is the stream's
        info={"noise": show | moving_in_view, "cell": position[0] * layout.wall.shape[1] + position[1]},
        episode={"trackers": trackers.sum()} | {f"tracker_{i + 1}": trackers[i] for i in range(4)},
    )


def make(setting_name: str, coin_reward: float = 0.0, text: str = MAP) -> Environment:
    """The maze in one of its settings; `coin_reward` pays for each coin."""
    layout = parse(text)
    setting = SETTINGS[setting_name]
    spec = EnvSpec(
        name=f"maze/{setting_name}",
        observation_shape=(VIEW, VIEW, len(LAYERS)),
        num_actions=len(ACTIONS),
        time_limit=TIME_LIMIT,
        map_shape=layout.wall.shape,
    )
    return Environment(
        spec=spec,
        draw=lambda key: draw(layout, key),
        reset=lambda noise: reset(layout, noise),
        step=lambda state, action, noise: step(layout, setting, coin_reward, state, action, noise),
    )

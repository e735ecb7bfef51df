"""Rooms of games, read from the console's memory (RAM), and their cells on a map."""

from typing import NamedTuple

import numpy as np
from jaxtyping import Int


class Rooms(NamedTuple):
    """Where a game's memory holds the room number, and the cell of each room on a map."""

    room: int  # RAM byte of the room number
    level: int | None  # RAM byte of the level, if room numbers repeat in every level
    cells: Int[np.ndarray, "256"]  # of each room number
    map_shape: tuple[int, int]


def pyramid() -> Int[np.ndarray, "256"]:
    """Montezuma's temple: floors of 3, 5, 7 and 9 rooms, numbered from the top, each floor centred on a map 9 wide.

    Numbers that are not rooms get the empty corner.
    """
    cells = np.zeros(256, np.int32)
    floors = [9 * floor + 3 - floor + np.arange(3 + 2 * floor) for floor in range(4)]
    cells[:24] = np.concatenate(floors)
    return cells


def jungle() -> Int[np.ndarray, "256"]:
    """Pitfall's 255 scenes, in the order of a walk to the right from the first.

    The next scene's number is this one's shifted left, with the parity of four of its bits as the new last bit.
    """
    cells = np.zeros(256, np.int32)
    scene = 0xC4  # the first
    for place in range(255):
        cells[scene] = place
        parity = (scene >> 7 ^ scene >> 5 ^ scene >> 4 ^ scene >> 3) & 1
        scene = (scene << 1 | parity) & 0xFF
    return cells


ROOMS = {
    "montezuma_revenge": Rooms(3, 57, pyramid(), (4, 9)),
    "pitfall": Rooms(1, None, jungle(), (15, 17)),
}

"""Rooms of games, read from the console's memory, and where they lie on a map."""

from typing import NamedTuple

import numpy as np
from jaxtyping import Int


class Rooms(NamedTuple):
    """Where a game keeps the number of the room, and where on a map of `map_shape` each room lies."""

    room: int  # byte of the memory
    level: int | None  # another, where rooms have the same numbers in every level
    cells: Int[np.ndarray, "256"]
    map_shape: tuple[int, int]


def pyramid() -> Int[np.ndarray, "256"]:
    """Montezuma's temple: floors of 3, 5, 7 and 9 rooms, numbered from the top, each floor centred on a map 9 wide.

    Numbers that are no room would fall into the empty corner.
    """
    cells = np.zeros(256, np.int32)
    floors = [9 * floor + 3 - floor + np.arange(3 + 2 * floor) for floor in range(4)]
    cells[:24] = np.concatenate(floors)
    return cells


def jungle() -> Int[np.ndarray, "256"]:
    """Pitfall's 255 scenes, in the order in which a walk to the right meets them from the first.

    A scene's number makes the next one's: shifted left, with the parity of four of its bits as the new last bit.
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

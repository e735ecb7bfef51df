"""Names of actions and of the features of an observation, and the places of features in an image."""

import math
from typing import NamedTuple

import numpy as np
from jaxtyping import Int

from curiax.envs import craftax, maze, scm
from curiax.types import EnvSpec

COLOURS = ("red", "green", "blue")


class Layout(NamedTuple):
    """Names and places of F features."""

    groups: tuple[str, ...]
    group: Int[np.ndarray, " F"]  # index of each feature's group
    plane: tuple[int, int]  # rows and columns of the image; (0, 0) if there is none
    place: Int[np.ndarray, " F"]  # flat index of each feature in the image; −1 outside


def action_names(spec: EnvSpec) -> tuple[str, ...]:
    """Names by index. Of real actions: the largest coordinate and its sign."""
    if spec.action_parts is not None:
        return tuple(f"mostly {sign}a{index}" for index in range(spec.num_actions) for sign in "−+")
    family, _, rest = spec.name.partition("+")[0].partition("/")
    known: tuple[str, ...] = ()
    if family == "maze":
        known = maze.ACTIONS
    elif family == "scm":
        known = scm.ACTIONS
    elif family == "craftax":
        known = tuple(one.name.lower().replace("_", " ") for one in craftax.constants(craftax.GAMES[rest]).Action)
    return (*known, *(f"action {index}" for index in range(len(known), spec.num_actions)))[: spec.num_actions]


def layout_of(spec: EnvSpec, shape: tuple[int, ...]) -> Layout:
    """The layout of observations, whose shape is the spec's or that after pooling."""
    family, _, rest = spec.name.partition("+")[0].partition("/")
    if family == "craftax" and not craftax.GAMES[rest].pixels:
        return craftax_layout(rest, shape[0])
    if len(shape) >= 2:
        return picture_layout(shape, maze.LAYERS if family == "maze" else ())
    if family == "scm":
        sizes = {"place": scm.NUM_PLACES, "dial": scm.NUM_DIALS, "lamps": scm.NUM_LAMPS, "screen": scm.NUM_SCREEN}
        return blocks(sizes)
    return blocks({f"observation[{index}]": 1 for index in range(math.prod(shape))})


def blocks(sizes: dict[str, int]) -> Layout:
    """A layout of groups of features, one after the other."""
    group = np.repeat(np.arange(len(sizes)), list(sizes.values()))
    return Layout(tuple(sizes), group, (0, 0), np.full(len(group), -1))


def picture_layout(shape: tuple[int, ...], layers: tuple[str, ...]) -> Layout:
    """The layout of an image: a group per channel."""
    rows, columns, channels = (*shape, 1)[:3]
    if len(layers) < channels:
        layers = COLOURS if channels == 3 else tuple(f"channel {index}" for index in range(channels))
    layers = layers[:channels] if channels > 1 else ("picture",)
    place, group = np.meshgrid(np.arange(rows * columns), np.arange(channels), indexing="ij")
    return Layout(layers, group.ravel(), (rows, columns), place.ravel())


def craftax_layout(name: str, size: int) -> Layout:
    """The layout of a symbolic observation: a map of one-hot cells, then inventory and state of the player."""
    constants = craftax.constants(craftax.GAMES[name])
    kinds = [one.name.lower().replace("_", " ") for one in constants.BlockType]
    if name.startswith("classic"):
        kinds += ["zombie", "cow", "skeleton", "arrow"]
    else:
        kinds += [f"item: {one.name.lower().replace('_', ' ')}" for one in constants.ItemType]
        mobs = ("melee mobs", "passive mobs", "ranged mobs", "mobs' projectiles", "player's projectiles")
        kinds += [mob for mob in mobs for _ in range(8)] + ["light"]
    names = tuple(dict.fromkeys(kinds))
    seen = picture_layout((*constants.OBS_DIM, len(kinds)), tuple(kinds))
    of_kind = np.array([names.index(kind) for kind in kinds])
    num_left = size - len(seen.group)
    return Layout(
        groups=(*names, "inventory and state"),
        group=np.concatenate([of_kind[seen.group], np.full(num_left, len(names))]),
        plane=seen.plane,
        place=np.concatenate([seen.place, np.full(num_left, -1)]),
    )

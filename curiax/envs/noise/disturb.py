"""Noise for any environment, as functions of random bits drawn beforehand; written once for numpy and JAX (`xp`).

It is an extra layer of the observation (`random`, `on-demand`, `brownian`), or changes the image (`persistive`,
`patches`, `cells`) or the action (`sticky`). `wrappers.py` adds it to Gymnasium environments, `layers.py` to JAX
environments.
"""

import inspect
from collections.abc import Callable
from typing import Any, NamedTuple

from jaxtyping import Bool, Float, Shaped

from curiax.envs.noise.equations import LOUD, PATCH, QUIET, patch_greys, redraw, stride, wander
from curiax.errors import UserError, unknown_name

MAX_ACTIONS = 18  # that `patches` can tell apart by their greys
TRACK = 9  # positions of a walker, if observations are vectors
MINIGRID = (10, 5, 2)  # largest codes of object, colour and state in MiniGrid's view


class View(NamedTuple):
    """What noise needs to know about an environment."""

    shape: tuple[int, ...]  # of an observation
    dtype: str
    lit: float  # the largest value of an observation, and of a lit pixel
    num_actions: int | None  # None: an action is a vector
    action_shape: tuple[int, ...] = ()
    action_dtype: str = "int32"


class Draw(NamedTuple):
    """All the randomness of one step."""

    coins: Bool[Any, "*coins"]  # fair random bits
    happens: Bool[Any, ""]  # true with `Disturbance.probability`
    uniform: Float[Any, "*uniform"]  # numbers from 0 to 1, without 1


def as_it_is(obs: Any) -> Any:
    return obs


def as_chosen(memory: Any, action: Any, draw: Draw) -> Any:
    del memory, draw
    return action


class Disturbance(NamedTuple):
    """One kind of noise around one environment."""

    see: Callable[[Any, Any, Any, Any, Draw], tuple[Any, Any, Any]]
    """memory, obs, action, taken, draw -> memory, the observation that the agent sees, whether it shows noise"""
    coins: tuple[int, ...] = (0,)  # shape of Draw.coins
    probability: float = 0.0  # of Draw.happens
    uniform: tuple[int, ...] = (0,)  # shape of Draw.uniform
    start: Callable[[], Any] = tuple  # the memory at an episode's start
    first: Callable[[Any], Any] = as_it_is  # an episode's first observation -> what the agent sees
    act: Callable[[Any, Any, Draw], Any] = as_chosen  # memory, action, draw -> the action that the environment takes
    layer: tuple[int, ...] | None = None  # shape of the layer that is added to an observation
    num_added: int = 0  # number of actions added after the environment's own


def make(xp: Any, name: str, view: View, options: dict[str, Any]) -> Disturbance:
    """The noise of that name; xp is numpy or jax.numpy."""
    if name not in NOISES:
        raise UserError(unknown_name("noise", name, NOISES))
    maker = NOISES[name]
    known = list(inspect.signature(maker).parameters)[2:]
    for option in options:
        if option not in known:
            raise UserError(unknown_name(f"noise {name}: option", option, known))
    return maker(xp, view, **options)


def random(xp: Any, view: View, probability: float = 0.25, size: int = 4) -> Disturbance:
    """A layer of random pixels with some probability at each step, dark otherwise."""
    check_probability("random", probability)
    return pixels(xp, view, "random", size, lambda action, draw: draw.happens)._replace(probability=probability)


def on_demand(xp: Any, view: View, action: int | None = None, instead: int = 0, size: int = 4) -> Disturbance:
    """A layer of random pixels whenever the agent takes `action`.

    By default an action is added for it; the environment then takes the action `instead`.
    """
    num_actions = require_discrete("on-demand", view)
    for option, value in (("action", action), ("instead", instead)):
        if value is not None and not 0 <= value < num_actions:
            raise UserError(f"noise on-demand: {option}: got {value}, expected 0 to {num_actions - 1}")
    key = num_actions if action is None else action
    disturbance = pixels(xp, view, "on-demand", size, lambda action, draw: action == key)
    if action is not None:
        return disturbance

    def act(memory, action, draw):
        return xp.where(action == key, xp.asarray(instead, action.dtype), action)

    return disturbance._replace(act=act, num_added=1)


def pixels(xp: Any, view: View, name: str, size: int, shows: Callable[[Any, Draw], Any]) -> Disturbance:
    """A layer whose pixels are lit with probability ½ each where `shows` is true, and dark elsewhere."""
    layer = layer_shape(name, view, size)

    def see(memory, obs, action, taken, draw):
        shown = shows(action, draw)
        return memory, append(xp, view, obs, xp.where(shown, draw.coins, False)), shown

    return Disturbance(see, layer, first=dark(xp, view, layer), layer=layer)


def brownian(xp: Any, view: View, walkers: int = 1) -> Disturbance:
    """A layer with random walkers: one step in either direction along each axis.

    In images a walker is a bright square; for vectors it is a number, its position on a track.
    """
    if walkers < 1:
        raise UserError(f"noise brownian: walkers: got {walkers}, expected at least 1")
    layer = layer_shape("brownian", view, walkers)
    lengths = xp.asarray(layer if len(layer) == 2 else (TRACK,), "int32")
    reach = min(layer) // 16 if len(layer) == 2 else 0

    def start():
        return xp.broadcast_to(lengths // 2, (walkers, len(lengths)))

    def see(places, obs, action, taken, draw):
        moves = 2 * draw.coins.astype("int32") - 1
        places = wander(xp, places, moves, lengths[None])
        if len(layer) == 1:
            return places, append(xp, view, obs, places[:, 0].astype("float32") / (TRACK - 1)), xp.asarray(True)
        rows, columns = (
            xp.abs(xp.arange(length, dtype="int32")[None] - places[:, i, None]) <= reach
            for i, length in enumerate(layer)
        )
        square = xp.any(rows[:, :, None] & columns[:, None, :], axis=0)
        return places, append(xp, view, obs, square), xp.asarray(True)

    first = dark(xp, view, layer)
    return Disturbance(see, (walkers, len(lengths)), start=start, first=first, layer=layer)


def persistive(xp: Any, view: View) -> Disturbance:
    """Adds a random walk to every pixel, with large steps after even actions: see `equations.persistive`."""
    require_discrete("persistive", view)
    if view.dtype != "uint8":
        raise UserError(f"noise persistive: got observations of {view.dtype}, expected bytes (uint8), which wrap")

    def see(walk, obs, action, taken, draw):
        loud = action % 2 == 0
        size = xp.where(loud, xp.asarray(LOUD, "uint8"), xp.asarray(QUIET, "uint8"))
        walk = stride(xp, walk, size, draw.coins.astype("uint8"))
        return walk, obs + walk, loud

    return Disturbance(see, view.shape, start=lambda: xp.zeros(view.shape, "uint8"))


def patches(xp: Any, view: View, side: int = PATCH) -> Disturbance:
    """A strip of patches along the bottom whose greys depend on action and random bit: see `equations.patches`."""
    if require_discrete("patches", view) > MAX_ACTIONS:
        raise UserError(f"noise patches: got {view.num_actions} actions, expected at most {MAX_ACTIONS}")
    if view.dtype != "uint8" or len(view.shape) not in (2, 3) or not 0 < side < view.shape[0]:
        got = f"{list(view.shape)} of {view.dtype}"
        raise UserError(f"noise patches: got observations {got}, expected images of bytes, higher than {side} pixels")
    width = view.shape[1]
    num_patches = -(-width // side)

    def under(obs, greys):
        line = xp.repeat(greys, side)[:width].reshape(1, width, *(1,) * (len(view.shape) - 2))
        return xp.concatenate([obs[:-side], xp.broadcast_to(line, (side, *view.shape[1:]))])

    def see(memory, obs, action, taken, draw):
        greys = patch_greys(action[None], draw.coins[None].astype("uint8"))[0]
        return memory, under(obs, greys), xp.asarray(True)

    return Disturbance(see, (num_patches,), first=lambda obs: under(obs, xp.zeros(num_patches, "uint8")))


def sticky(xp: Any, view: View, probability: float = 0.25) -> Disturbance:
    """With some probability the environment repeats its last action. Noise is where it differs from the chosen one."""
    check_probability("sticky", probability)

    def start():
        return xp.asarray(False), xp.zeros(view.action_shape, view.action_dtype)

    def act(memory, action, draw):
        begun, last = memory
        return xp.where(draw.happens & begun, last, action)

    def see(memory, obs, action, taken, draw):
        return (xp.asarray(True), taken), obs, xp.any(taken != action)

    return Disturbance(see, probability=probability, start=start, act=act)


def cells(xp: Any, view: View, probability: float = 0.1, high: int | tuple[int, ...] | None = None) -> Disturbance:
    """Redraws each cell of a grid with some probability at each step, all channels at random: see `equations.redraw`.

    Channels are redrawn from 0 to `high`, one number for all or one for each; by default those of MiniGrid.
    """
    check_probability("cells", probability)
    if not view.dtype.startswith(("int", "uint")) or len(view.shape) not in (2, 3):
        got = f"{list(view.shape)} of {view.dtype}"
        raise UserError(f"noise cells: got observations {got}, expected a grid of integers, [H, W] or [H, W, C]")
    grid = (*view.shape[:2], view.shape[2] if len(view.shape) == 3 else 1)
    largest = xp.broadcast_to(xp.asarray(largest_values(grid[2], view.lit, high), "int32"), grid)

    def see(memory, obs, action, taken, draw):
        seen, chosen = redraw(xp, obs.reshape(grid), draw.uniform, probability, largest)
        return memory, seen.reshape(view.shape), xp.any(chosen)

    return Disturbance(see, uniform=(*grid[:2], 1 + grid[2]))


def largest_values(channels: int, lit: float, high: int | tuple[int, ...] | None) -> tuple[int, ...]:
    """The largest value of each channel."""
    if high is None and channels != len(MINIGRID):
        raise UserError(f"noise cells: got {channels} channels; give high, the largest value of each")
    values = MINIGRID if high is None else (high,) * channels if isinstance(high, int) else tuple(high)
    if len(values) != channels:
        raise UserError(f"noise cells: high: got {len(values)} numbers, expected {channels}, one per channel")
    if not all(0 <= value <= lit for value in values):
        raise UserError(f"noise cells: high: got {list(values)}, expected numbers from 0 to {lit:g}")
    return values


NOISES: dict[str, Callable[..., Disturbance]] = {
    "random": random,
    "on-demand": on_demand,
    "brownian": brownian,
    "persistive": persistive,
    "patches": patches,
    "sticky": sticky,
    "cells": cells,
}


def layer_shape(name: str, view: View, size: int) -> tuple[int, ...]:
    """Shape of the layer: a channel for images, `size` numbers for vectors."""
    if len(view.shape) == 3 and view.shape[0] < 16 <= min(view.shape[1:]):
        raise UserError(f"noise {name}: got images of shape {list(view.shape)}, expected channels last, [H, W, C]")
    if len(view.shape) not in (1, 2, 3):
        raise UserError(f"noise {name}: got observations of shape {list(view.shape)}, expected vectors or images")
    if size < 1:
        raise UserError(f"noise {name}: size: got {size}, expected at least 1")
    return (size,) if len(view.shape) == 1 else view.shape[:2]


def append(xp: Any, view: View, obs: Shaped[Any, "*obs"], layer: Shaped[Any, "*layer"]) -> Any:
    """The observation with the layer appended; the layer is from 0 (dark) to 1 (lit)."""
    layer = (layer.astype("float32") * view.lit).astype(view.dtype)
    if layer.ndim == 1:
        return xp.concatenate([obs, layer])
    return xp.concatenate([obs.reshape(*layer.shape, -1), layer[:, :, None]], axis=-1)


def dark(xp: Any, view: View, layer: tuple[int, ...]) -> Callable[[Any], Any]:
    return lambda obs: append(xp, view, obs, xp.zeros(layer, bool))


def require_discrete(name: str, view: View) -> int:
    if view.num_actions is None:
        raise UserError(f"noise {name}: got actions that are vectors, expected Discrete ones")
    return view.num_actions


def check_probability(name: str, probability: float) -> None:
    if not 0 <= probability <= 1:
        raise UserError(f"noise {name}: probability: got {probability}, expected 0 to 1")

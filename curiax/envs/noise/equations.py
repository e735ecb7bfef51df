"""Noise written into the grey frames of host environments; it depends on the previous action.

Actions are indices of the Arcade Learning Environment (ALE), whatever the agent's action set. `stride`, `wander`,
`redraw` and `patch_greys` work on numpy and JAX arrays; `disturb.py` uses them for any environment.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Bool, Int, Shaped, UInt8

MODULUS = 50  # of the random walk: U is in 0..49
QUIET, LOUD = 1, 11  # its step sizes after odd and even actions
PATCH = 12  # pixels a side; the strip is one patch high
CONTRAST = 48  # distance of a patch's two greys from their mean


class FrameNoise(NamedTuple):
    """`apply` writes noise into the frames of B streams and returns which of them count as noisy."""

    name: str
    apply: Callable[[UInt8[np.ndarray, "B H W"], Bool[np.ndarray, " B"], Int[np.ndarray, " B"]], Bool[np.ndarray, " B"]]


def make(name: str, batch_size: int, frame: tuple[int, int], seed: int) -> FrameNoise:
    """The noise of that name. `apply` takes frames, a mask of first frames of episodes, and the previous actions."""
    makers = {"none": silence, "persistive": persistive, "patches": patches}
    return FrameNoise(name, makers[name](batch_size, frame, generator_of(seed)))


def generator_of(seed: int | np.random.SeedSequence) -> np.random.Generator:
    return np.random.Generator(np.random.SFC64(seed))


def silence(batch_size: int, frame: tuple[int, int], generator: np.random.Generator) -> Callable:
    del frame, generator

    def apply(obs, first, action):
        return np.zeros(batch_size, bool)

    return apply


def persistive(batch_size: int, frame: tuple[int, int], generator: np.random.Generator) -> Callable:
    """o' = (o + U) mod 256, U_t = (U_{t−1} + ε) mod 50, U_0 = 0 (appendix B, "Persistive Noise").

    Every frame but the first is noisy. Only those after a large step count as noise, so that the count depends on the
    agent's actions.
    """
    walk = np.zeros((batch_size, *frame), np.uint8)

    def apply(obs, first, action):
        loud = action % 2 == 0
        size = np.where(loud, LOUD, QUIET).astype(np.uint8)[:, None, None]
        walk[:] = stride(np, walk, size, coins(generator, walk.shape))
        walk[first] = 0
        np.add(obs, walk, out=obs)  # bytes wrap at 256
        return loud & ~first

    return apply


def stride(xp: Any, walk: Shaped[Any, "*walk"], size: Shaped[Any, "*size"], up: Shaped[Any, "*walk"]) -> Any:
    """U ← (U + ε) mod 50 with ε = size where `up`, else −size; in uint8.

    −size is computed as 50 − size, so the sum is from 0 to 99 and at most one 50 is subtracted. Where the sum is below
    50, the subtraction wraps to 206 or more, and the minimum is the sum itself.
    """
    walk = walk + (up * (2 * size + (256 - MODULUS)) + (MODULUS - size))  # 2·size − 50, modulo 256; size, or 50 − size
    return xp.minimum(walk, walk - MODULUS)


def wander(xp: Any, place: Int[Any, "*any"], move: Int[Any, "*any"], length: Any) -> Any:
    """The position after a move of −1, 0 or 1, clipped to 0 … length − 1."""
    return xp.clip(place + move, 0, length - 1)


def redraw(
    xp: Any,
    cells: Shaped[Any, "*grid C"],
    chance: Shaped[Any, "*grid C1"],
    probability: float,
    high: Int[Any, "*grid C"],
) -> tuple[Shaped[Any, "*grid C"], Bool[Any, "*grid"]]:
    """x' = v where u < p, else x, for each cell; v_c is uniform in 0 … high_c. Also returns where u < p.

    `chance` holds u and then a number from 0 to 1 per channel.
    """
    chosen = chance[..., 0] < probability
    drawn = xp.minimum((chance[..., 1:] * (high + 1).astype("float32")).astype("int32"), high)
    return xp.where(chosen[..., None], drawn.astype(cells.dtype), cells), chosen


def coins(generator: np.random.Generator, shape: tuple[int, ...]) -> UInt8[np.ndarray, "*shape"]:
    """Fair random bits, as bytes 0 and 1."""
    size = int(np.prod(shape))
    bits = np.frombuffer(generator.bytes(-(-size // 8)), np.uint8)
    return np.unpackbits(bits, count=size).reshape(shape)


def patches(batch_size: int, frame: tuple[int, int], generator: np.random.Generator) -> Callable:
    """A strip of patches along the bottom (appendix B, "Hindsight Information"), black in an episode's first frame.

    A patch takes one of two greys, CONTRAST below or above a mean that depends on the previous action: neither the
    random bit alone nor the action alone determines the grey.
    """
    num_patches = -(-frame[1] // PATCH)

    def apply(obs, first, action):
        greys = patch_greys(action, coins(generator, (batch_size, num_patches)))
        greys[first] = 0
        obs[:, -PATCH:, :] = np.repeat(greys, PATCH, axis=1)[:, None, : frame[1]]
        return ~first

    return apply


def patch_greys(action: Int[Any, " B"], light: UInt8[Any, "B N"]) -> UInt8[Any, "B N"]:
    """48 + 9a ± 48, where a is the action's ALE index, 0..17."""
    return (9 * action[:, None] + 2 * CONTRAST * light.astype(np.int32)).astype(np.uint8)

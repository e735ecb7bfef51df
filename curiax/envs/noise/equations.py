"""Noise laid over the grey frames of host environments, in place; which noise it is depends on the previous action.

What an action is called is its index in the Arcade Learning Environment (ALE), whatever set the agent chooses from.
`stride`, `wander` and `patch_greys` are the equations, for numpy and JAX alike: `disturb.py` puts them around any
environment.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Bool, Int, Shaped, UInt8

MODULUS = 50  # the walk's: U is in 0..49
QUIET, LOUD = 1, 11  # its strides after odd and after even actions
PATCH = 12  # pixels a side; the strip is one patch high
CONTRAST = 48  # of the two greys of a patch


class FrameNoise(NamedTuple):
    """Writes noise into the frames of B streams and says in which it did."""

    name: str
    apply: Callable[[UInt8[np.ndarray, "B H W"], Bool[np.ndarray, " B"], Int[np.ndarray, " B"]], Bool[np.ndarray, " B"]]


def make(name: str, batch_size: int, frame: tuple[int, int], seed: int) -> FrameNoise:
    """`apply` takes frames, which of them are the first of an episode, and the actions before them."""
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

    Every later frame is noisy; those after a long stride count as noise, so that the share of noise is the agent's own.
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
    """U ← (U + ε) mod 50 with ε = size where `up`, else −size; all of them bytes.

    −size is 50 − size here, so that nothing is negative and the sum stays below 100: one subtraction wraps it. Bytes
    wrap too: below 50, that subtraction gives 206 or more, and the minimum is the number itself.
    """
    walk = walk + (up * (2 * size + (256 - MODULUS)) + (MODULUS - size))  # 2·size − 50, modulo 256; size, or 50 − size
    return xp.minimum(walk, walk - MODULUS)


def wander(xp: Any, place: Int[Any, "*any"], move: Int[Any, "*any"], length: Any) -> Any:
    """The place after a move of −1, 0 or 1 along places 0 … length − 1, clipped at the ends."""
    return xp.clip(place + move, 0, length - 1)


def coins(generator: np.random.Generator, shape: tuple[int, ...]) -> UInt8[np.ndarray, "*shape"]:
    """Fair zeros and ones, from one random bit each."""
    size = int(np.prod(shape))
    bits = np.frombuffer(generator.bytes(-(-size // 8)), np.uint8)
    return np.unpackbits(bits, count=size).reshape(shape)


def patches(batch_size: int, frame: tuple[int, int], generator: np.random.Generator) -> Callable:
    """A strip of patches along the bottom (appendix B, "Hindsight Information"), black in an episode's first frame.

    A patch takes one of two greys, CONTRAST below and above a middle that only the previous action decides: the coin
    alone does not tell the grey, nor does the action alone.
    """
    num_patches = -(-frame[1] // PATCH)

    def apply(obs, first, action):
        greys = patch_greys(action, coins(generator, (batch_size, num_patches)))
        greys[first] = 0
        obs[:, -PATCH:, :] = np.repeat(greys, PATCH, axis=1)[:, None, : frame[1]]
        return ~first

    return apply


def patch_greys(action: Int[Any, " B"], light: UInt8[Any, "B N"]) -> UInt8[Any, "B N"]:
    """48 + 9a ± 48 for the action of ALE index a, 0..17."""
    return (9 * action[:, None] + 2 * CONTRAST * light.astype(np.int32)).astype(np.uint8)

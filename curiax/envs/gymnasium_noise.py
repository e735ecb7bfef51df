"""Noise around Gymnasium environments, by name: gym/ID+NOISE."""

import functools
from collections.abc import Callable
from typing import Any

import gymnasium
import numpy as np
from gymnasium import spaces

from curiax.envs.noise.disturb import NOISES, as_it_is
from curiax.envs.noise.equations import MODULUS
from curiax.envs.noise.wrappers import add_noise
from curiax.errors import UserError, unknown_name


def split_noise(name: str) -> tuple[str, list[str]]:
    """The id, and the names of the noises, the first of which is the innermost."""
    plain, *noises = name.split("+")
    for noise in noises:
        if noise not in NOISES:
            raise UserError(unknown_name(f"gym/{plain}: noise", noise, NOISES))
    return plain, noises


def noise_wrappers(noises: list[str], kinds: int) -> list[Callable[[Any], Any]]:
    """Wrappers that add the noises to an environment whose integers are categories below `kinds`, 0 for quantities."""
    coded = [functools.partial(with_codes, kinds=kinds)] if kinds and noises else []
    return [*coded, *(functools.partial(add_noise, name=noise) for noise in noises)]


def with_codes(env: gymnasium.Env, kinds: int) -> gymnasium.Env:
    """The environment with a space that says that its integers are below `kinds`, so that those of noise are, too."""
    whole: Any = env.observation_space
    if isinstance(whole, spaces.Dict):
        space = spaces.Dict({key: narrow(part, kinds) for key, part in whole.items()})
    else:
        space = narrow(whole, kinds)
    return gymnasium.wrappers.TransformObservation(env, as_it_is, space)


def narrow(space: spaces.Space, kinds: int) -> spaces.Space:
    if not isinstance(space, spaces.Box) or np.dtype(space.dtype).kind not in "iu":
        return space
    return spaces.Box(0, kinds - 1, space.shape, space.dtype.type)  # pyright: ignore[reportArgumentType, reportOptionalMemberAccess]


def kinds_with(noises: list[str], kinds: int) -> int:
    """The number of categories with noise: `persistive` adds up to 49 to a code, and has no bytes to wrap at."""
    return kinds + (MODULUS - 1) * noises.count("persistive") if kinds else 0

"""Random worlds, with random critics, distributions and coefficients for claims about any of them."""

import math
from typing import NamedTuple

import numpy as np
from jaxtyping import Float
from numpy import ndarray

from curiax.lab.theory import worlds
from curiax.lab.theory.worlds import World

SHAPES = ((2, 2, 2), (4, 3, 3), (6, 4, 4))  # pairs (x, a), outcomes, hindsight symbols
CHUNK = 500  # worlds of a case
BYTES = 16 * sum(map(math.prod, SHAPES)) // len(SHAPES)  # of a world on average: its two generators, in float64


class Case(NamedTuple):
    """W worlds of one shape."""

    world: World  # scalar outcomes
    world_3d: World  # outcomes in three dimensions
    variational: Float[ndarray, "W S Z"]  # q(z|x,a)
    critics: Float[ndarray, "W C S Z"]
    offset: Float[ndarray, "W S"]  # c(x,a), which cancels in the contrastive loss
    scale: Float[ndarray, "W S"]  # λ


def sample_case(rng: np.random.Generator, num_worlds: int, shape: tuple[int, int, int]) -> Case:
    """Random worlds. Their critics: two random ones, one near the optimum, and the negative optimum."""
    world = worlds.sample_worlds(rng, num_worlds, shape, dim=1)
    best = worlds.pointwise_information(world)
    noise = rng.standard_normal((3, *best.shape))
    size = worlds.log_uniform(rng, 0.1, 30.0, (2, num_worlds, 1, 1))
    return Case(
        world=world,
        world_3d=worlds.sample_worlds(rng, num_worlds, shape, dim=3),
        variational=worlds.random_simplex(rng, num_worlds, best.shape[1:]),
        critics=np.stack([*(size * noise[:2]), best + 0.1 * noise[2], -best], axis=1),
        offset=rng.standard_normal(best.shape[:2]),
        scale=worlds.log_uniform(rng, 1e-3, 1.0, best.shape[:2]),
    )


def sample_cases(num_worlds: int, seed: int) -> list[Case]:
    """Random worlds of all shapes, about as many of each."""
    rng = np.random.default_rng(seed)
    shares = [len(part) for part in np.array_split(np.arange(num_worlds), len(SHAPES))]
    return [
        sample_case(rng, min(CHUNK, share - start), shape)
        for share, shape in zip(shares, SHAPES, strict=True)
        for start in range(0, share, CHUNK)
    ]

"""The optimal critic for growing batches: the gap between information and contrastive loss, and bounds of it."""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from jaxtyping import Float
from numpy import ndarray

from curiax.lab.theory import contrastive, worlds
from curiax.lab.theory.cases import Case
from curiax.lab.theory.worlds import World

NUM_WORLDS = 32  # the number of worlds of a case that are used
LARGEST = {2: 8192, 3: 128, 4: 32}  # number of hindsight symbols -> largest batch size; all powers of two are used


class LargeBatch(NamedTuple):
    """The gap for one batch size K."""

    batch_size: int
    shortfall: Float[ndarray, "W S Z"]  # PMI(x,a;z) − L_con(x,a,z)
    latent: Float[ndarray, "W S Z"]
    prior: Float[ndarray, "W 1 Z"]
    chi_square: Float[ndarray, "W S"]

    @property
    def ratio(self) -> Float[ndarray, "W S Z"]:
        return self.latent / self.prior

    @property
    def gap(self) -> Float[ndarray, "W S"]:
        return np.sum(self.latent * self.shortfall, axis=-1)


def large_batches(case: Case) -> Iterator[LargeBatch]:
    """The gaps of the critic log p(z|x,a)/p(z) + c(x,a), which is optimal for every K (Lemma 4)."""
    world = World(*(part[:NUM_WORLDS] for part in case.world))
    latent, prior = worlds.latent_given_context(world), worlds.latent_prior(world)
    information = worlds.pointwise_information(world)
    critic = information + case.offset[:NUM_WORLDS, :, None]
    for power in range(1, LARGEST[latent.shape[-1]].bit_length()):
        size = 2**power
        negatives = contrastive.all_counts(size, latent.shape[-1])
        loss = contrastive.expected(contrastive.losses(critic, negatives), prior, negatives)
        yield LargeBatch(size, information - loss, latent, prior[:, None], worlds.chi_square(world))


def limit_bounds(batch: LargeBatch) -> tuple[Float[ndarray, "W S Z"], Float[ndarray, "W S Z"]]:
    """Bounds of PMI − L_con at the optimal critic, both O(1/K).

    It is E log M, where M is the mean of K ratios p(z|x,a)/p(z), the first given: E M = m = 1 + (r−1)/K,
    Var M = (K−1)χ²/K², M ≥ min r. The upper bound is Jensen's inequality; the lower one is log(M/m) ≥ 1 − m/M.
    """
    size = batch.batch_size
    mean = 1 + (batch.ratio - 1) / size
    variance = (size - 1) * batch.chi_square[..., None] / size**2
    upper = np.log(mean)
    return upper - variance / (mean * batch.ratio.min(-1, keepdims=True)), upper


def gap_bounds(batch: LargeBatch) -> tuple[Float[ndarray, "W S"], Float[ndarray, "W S"]]:
    """Bounds of R_inv − R_con at the optimal critic, both χ²/(2K) + O(1/K²).

    By symmetry of the K draws the gap is E[M log M], all K from the prior: E M = 1, Var M = χ²/K. With u = M − 1 ≥ −1,
    u + u²/2 − u³/6 ≤ M log M ≤ u + u²/2 − u³/6 + u⁴/3; and u ≤ M log M (Theorem 2).
    """
    size = batch.batch_size
    third, fourth = (np.sum(batch.prior * (batch.ratio - 1) ** n, axis=-1) for n in (3, 4))
    lower = batch.chi_square / (2 * size) - third / (6 * size**2)
    return np.maximum(lower, 0), lower + (3 * (size - 1) * batch.chi_square**2 + fourth) / (3 * size**3)

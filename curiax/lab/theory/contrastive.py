"""The contrastive loss, with its expectation over K − 1 negatives as an exact sum."""

import math
from typing import NamedTuple

import numpy as np
from jaxtyping import Float, Int
from numpy import ndarray
from scipy.special import gammaln


class Negatives(NamedTuple):
    """All draws of K − 1 negatives, one per row: the count of each z, and the log of the number of orders."""

    counts: Int[ndarray, "N Z"]
    log_orders: Float[ndarray, " N"]

    @property
    def batch_size(self) -> int:
        """K, the positive included."""
        return int(self.counts[0].sum()) + 1


def all_tuples(batch_size: int, num_latents: int) -> Negatives:
    """All Z^(K−1) ordered draws."""
    draws = np.indices((num_latents,) * (batch_size - 1)).reshape(batch_size - 1, -1).T
    counts = np.sum(draws[..., None] == np.arange(num_latents), axis=1)
    return Negatives(counts, np.zeros(len(counts)))


def all_counts(batch_size: int, num_latents: int) -> Negatives:
    """All unordered draws with their multinomial coefficients: about K^(Z−1)/(Z−1)! terms, for large K."""
    num = batch_size - 1
    first = np.indices((num + 1,) * (num_latents - 1)).reshape(num_latents - 1, -1).T
    first = first[first.sum(1) <= num]
    counts = np.column_stack([first, num - first.sum(1)])
    return Negatives(counts, gammaln(num + 1) - gammaln(counts + 1).sum(1))


def probabilities(prior: Float[ndarray, "W Z"], negatives: Negatives) -> Float[ndarray, "W N"]:
    """The probability of each draw. Dividing by the sum, which is one, removes rounding errors of gammaln."""
    weights = np.exp(negatives.log_orders + np.log(prior) @ negatives.counts.T)
    return weights / weights.sum(-1, keepdims=True)


def batch_sums(critic: Float[ndarray, "*C Z"], negatives: Negatives) -> tuple[ndarray, ndarray]:
    """e^g and e^{g(z)} + Σ_i e^{g(z_i)} for every z and draw, both divided by the largest e^g."""
    weight = np.exp(critic - critic.max(-1, keepdims=True))
    return weight, weight[..., :, None] + (weight @ negatives.counts.T)[..., None, :]


def losses(critic: Float[ndarray, "*C Z"], negatives: Negatives) -> Float[ndarray, "*C Z N"]:
    """ℓ_con(x,a,z,z_{1:K−1}) = log e^{g(z)} − log (e^{g(z)} + Σ_i e^{g(z_i)})/K."""
    weight, total = batch_sums(critic, negatives)
    return np.log(weight)[..., None] - np.log(total) + math.log(negatives.batch_size)


def expected(
    values: Float[ndarray, "W *C Z N"], prior: Float[ndarray, "W Z"], negatives: Negatives
) -> Float[ndarray, "W *C Z"]:
    """The mean over negatives from the prior."""
    return np.einsum("w...n,wn->w...", values, probabilities(prior, negatives))


def critic_gradient(
    critic: Float[ndarray, "W S Z"],
    latent: Float[ndarray, "W S Z"],
    prior: Float[ndarray, "W Z"],
    negatives: Negatives,
) -> Float[ndarray, "W S Z"]:
    """The gradient of the contrastive bonus in g(x,a,·). The bonus is concave in g, so a zero gradient is optimal."""
    weight, total = batch_sums(critic, negatives)
    share = np.einsum("wsz,wszn,wn->wszn", latent, 1 / total, probabilities(prior, negatives))
    own = weight * share.sum(-1)
    others = weight * np.einsum("wszn,nj->wsj", share, negatives.counts)
    return latent - own - others

"""The paper's claims, each as a margin that must not be negative, and errata of their printed forms.

The paper numbers lemmas and theorems with one counter; here the appendix's lemmas are 1 to 5, in their order.
"""

import math
from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np
from jaxtyping import Float
from numpy import ndarray
from scipy.special import entr

from curiax.lab.theory import contrastive, worlds
from curiax.lab.theory.asymptotics import gap_bounds, large_batches, limit_bounds
from curiax.lab.theory.cases import Case
from curiax.lab.theory.contrastive import Negatives
from curiax.lab.theory.worlds import World

TOLERANCE = 1e-9  # rounding; the quantities are of the order of one
SMALL_BATCHES = (2, 3, 4)
FRACTIONS = (1.0, 0.5, 0.1)  # of the largest λ that a bound allows

Margins = Float[ndarray, "W ..."]


class Claim(NamedTuple):
    title: str
    where: str
    margins: Callable[[Case], Margins]
    printed: bool = False  # the printed form, which is expected to fail


def equal(left: ndarray, right: ndarray | float) -> ndarray:
    return -np.abs(left - right)


def join(margins: Iterator[ndarray]) -> Margins:
    """Margins of several settings, concatenated for each world."""
    return np.concatenate([margin.reshape(len(margin), -1) for margin in margins], axis=1)


def small_batches(case: Case) -> Iterator[Negatives]:
    return (contrastive.all_tuples(size, case.variational.shape[-1]) for size in SMALL_BATCHES)


def barber_agakov(case: Case) -> Margins:
    latent, prior = worlds.latent_given_context(case.world), worlds.latent_prior(case.world)[:, None]
    information = np.sum(latent * worlds.pointwise_information(case.world), axis=-1)
    return information - np.sum(latent * np.log(case.variational / prior), axis=-1)


def normalised_variational(case: Case) -> Margins:
    """q(z|x,a) = p_θ(z) E e^ℓ."""
    prior = worlds.latent_prior(case.world)
    ratios = (
        contrastive.expected(np.exp(contrastive.losses(case.critics, negatives)), prior, negatives)
        for negatives in small_batches(case)
    )
    return join(equal(np.einsum("wz,wcsz->wcs", prior, ratio), 1.0) for ratio in ratios)


def contrastive_bonus(case: Case, negatives: Negatives) -> Float[ndarray, "W C S"]:
    """R_con(x,a) of every critic, over Z ~ p_θ(·|x,a) and negatives from p_θ."""
    latent, prior = worlds.latent_given_context(case.world), worlds.latent_prior(case.world)
    loss = contrastive.expected(contrastive.losses(case.critics, negatives), prior, negatives)
    return np.einsum("wsz,wcsz->wcs", latent, loss)


def state_action_bound(case: Case) -> Margins:
    information = worlds.leakage(case.world)[:, None]
    return join(information - contrastive_bonus(case, negatives) for negatives in small_batches(case))


def invariance_bound(case: Case) -> Margins:
    """Lemma 3 with both bonuses as they are defined, over Y ~ τ and Z ~ p_θ(·|x,a,Y)."""
    world, prior = case.world, worlds.latent_prior(case.world)
    joint = world.dynamics[..., None] * world.generator
    information = worlds.pointwise_information(world)[:, None]
    losses = (contrastive.expected(contrastive.losses(case.critics, n), prior, n) for n in small_batches(case))
    return join(np.einsum("wsyz,wcsz->wcs", joint, information - loss) for loss in losses)


def info_nce(case: Case) -> Margins:
    """The mean over visits, which the mutual information I[X,A;Z] bounds."""
    visits = case.world.visits
    information = np.sum(visits * worlds.leakage(case.world), axis=-1)[:, None]
    bonuses = (contrastive_bonus(case, negatives) for negatives in small_batches(case))
    return join(information - np.einsum("ws,wcs->wc", visits, bonus) for bonus in bonuses)


def ceiling(case: Case) -> Margins:
    """For every draw, not only on average."""
    return join(
        math.log(negatives.batch_size) - contrastive.losses(case.critics, negatives).max((-1, -2))
        for negatives in small_batches(case)
    )


def optimal_critic(case: Case) -> Margins:
    latent, prior = worlds.latent_given_context(case.world), worlds.latent_prior(case.world)
    critic = worlds.pointwise_information(case.world) + case.offset[..., None]
    return join(
        equal(contrastive.critic_gradient(critic, latent, prior, negatives), 0.0) for negatives in small_batches(case)
    )


def within(value: ndarray, bounds: tuple[ndarray, ndarray], size: int) -> ndarray:
    """Margins to both bounds, times K: those of large batches would otherwise be below the tolerance."""
    return size * np.minimum(value - bounds[0], bounds[1] - value)


def pointwise_limit(case: Case) -> Margins:
    return join(within(batch.shortfall, limit_bounds(batch), batch.batch_size) for batch in large_batches(case))


def chi_square_gap(case: Case) -> Margins:
    return join(within(batch.gap, gap_bounds(batch), batch.batch_size) for batch in large_batches(case))


def conditional_information(case: Case, sign: int = -1, marginal: bool = False) -> Margins:
    """I = H[Y|x,a] − H[Y|x,a,Z]; as printed the sign is a plus, and Z ~ p_θ might be the marginal."""
    world = case.world
    latent = worlds.latent_prior(world)[:, None] if marginal else worlds.latent_given_context(world)
    entropy = entr(world.dynamics).sum(-1) + sign * worlds.remaining_entropy(world, latent)
    return equal(worlds.outcome_information(world, latent), entropy)


def optimism(world: World, half_log: Float[ndarray, "W S"], dim: int, marginal: bool = False) -> Margins:
    """R − D_KL(τ‖τ_{θ,η}) for λ up to (dim/2) log(λπ) = half_log; Z in τ_{θ,η} from p_θ(·|x,a) or from the marginal."""
    latent = worlds.latent_prior(world)[:, None] if marginal else worlds.latent_given_context(world)
    largest = np.exp(2 * half_log / dim) / np.pi
    scales = (fraction * largest for fraction in FRACTIONS)
    return join(worlds.hindsight_reward(world, s) - worlds.model_divergence(world, s, latent) for s in scales)


def remaining(world: World) -> Float[ndarray, "W S"]:
    return worlds.remaining_entropy(world, worlds.latent_given_context(world))


def paper_limit(world: World) -> Float[ndarray, "W S"]:
    """The largest ½ log(λπ) that Theorem 1 allows."""
    return remaining(world) + worlds.leakage(world)


def positive(case: Case) -> Margins:
    return worlds.hindsight_reward(case.world, case.scale)


def vanishing(case: Case) -> Margins:
    return equal(worlds.hindsight_reward(worlds.reparameterise(case.world), case.scale), 0.0)


CLAIMS = (
    Claim("Lemma 1: E PMI ≥ E log q/p, any q", "A.1, Barber-Agakov", barber_agakov),
    Claim("Lemma 2: Σ q(z|x,a) = 1, any critic", "A.1, Normalized Variational", normalised_variational),
    Claim("Lemma 3: E PMI ≥ E ℓ_con, any critic", "A.1, State-Action Lower Bound", state_action_bound),
    Claim("Lemma 4: log p(z|x,a)/p(z) + c is the best critic", "A.1, Asymptotic Equality", optimal_critic),
    Claim("Lemma 4: L_con → PMI, error O(1/K)", "A.1, Asymptotic Equality", pointwise_limit),
    Claim("Lemma 5: I = H[Y|x,a] − H[Y|x,a,Z]", "A.1, Conditional Mutual Information", conditional_information),
    Claim("Lemma 5, printed: a plus", "its statement", lambda c: conditional_information(c, sign=1), printed=True),
    Claim("Lemma 5, printed: Z ~ p(Z)", "its proof", lambda c: conditional_information(c, marginal=True), printed=True),
    Claim(
        "Theorem 1: R ≥ KL, prior p(Z|x,a)",
        "3.3 and A.2, Optimistic Exploration",
        lambda c: optimism(c.world, paper_limit(c.world), 1),
    ),
    Claim(
        "Theorem 1, printed: prior p(Z)",
        "its statement",
        lambda c: optimism(c.world, paper_limit(c.world), 1, marginal=True),
        printed=True,
    ),
    Claim(
        "Theorem 1: prior p(Z), ½ log λπ ≤ H[Y|x,a,Z]",
        "stricter λ",
        lambda c: optimism(c.world, remaining(c.world), 1, marginal=True),
    ),
    Claim(
        "Theorem 1: Y in 3-d, (d/2) log λπ", "corrected λ", lambda c: optimism(c.world_3d, paper_limit(c.world_3d), 3)
    ),
    Claim(
        "Theorem 1, printed: Y in 3-d, ½ log λπ",
        "its statement",
        lambda c: optimism(c.world_3d, paper_limit(c.world_3d), 1),
        printed=True,
    ),
    Claim(
        "Theorem 1: R ≥ 0, so 0 is the optimum", "A.2, its proof", lambda c: worlds.hindsight_reward(c.world, c.scale)
    ),
    Claim("Theorem 1: R = 0 at the optimum, any τ", "3.3 and A.2", vanishing),
    Claim("Theorem 2: R_con ≤ R_inv, any critic", "4.1 and A.3, Optimal Invariance", invariance_bound),
    Claim("Theorem 2: R_con → R_inv, gap χ²/(2K) + O(1/K²)", "4.1 and A.3; the rate is ours", chi_square_gap),
    Claim("InfoNCE: E R_con ≤ I[X,A;Z], any critic", "4.1, Contrastive Learning", info_nce),
    Claim("Ceiling: ℓ_con ≤ log K, any critic", "4.1, Contrastive Learning", ceiling),
)


class Row(NamedTuple):
    """The result of a claim on all worlds."""

    claim: str
    where: str
    printed: bool
    worlds: int
    instances: int
    violations: int
    worlds_violated: int
    worst_margin: float

    @property
    def holds(self) -> bool:
        return self.violations == 0


def tally(claim: Claim, cases: list[Case]) -> Row:
    """The result of a claim. A margin of NaN counts as a violation."""
    margins = [claim.margins(case) for case in cases]
    violated = [~(margin.reshape(len(margin), -1) >= -TOLERANCE) for margin in margins]
    return Row(
        claim=claim.title,
        where=claim.where,
        printed=claim.printed,
        worlds=sum(map(len, margins)),
        instances=sum(margin.size for margin in margins),
        violations=sum(int(v.sum()) for v in violated),
        worlds_violated=sum(int(v.any(1).sum()) for v in violated),
        worst_margin=float(min(margin.min() for margin in margins)),
    )

"""V-MPO (Song et al., 2019): weights the better half of the batch, with a KL limit to the acting policy."""

from collections.abc import Callable
from typing import NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Shaped

from curiax.agent.distributions import CATEGORICAL, Distribution, Terms, distribution_of
from curiax.config import VMPOConfig

TOP_FRACTION = 0.5
LIMITS = {"alpha_mean": 0.01, "alpha_covariance": 1e-4}  # ε_αμ, ε_αΣ: the KL limits of a Gaussian policy
SMALLEST_DUAL = 1e-8

Duals = dict[str, Float[Array, ""]]


class VMPOLosses(NamedTuple):
    policy: Float[Array, ""]  # L_π + L_η + L_α
    entropy: Float[Array, "T B"]
    kl: Float[Array, "T B"]
    temperature: Float[Array, ""]  # η, as it was used


class Form(NamedTuple):
    """A variant of V-MPO: its losses and constants."""

    losses: Callable[..., VMPOLosses]
    temperature: float  # η at the start
    alpha: float  # every α at the start
    value_weight: float
    popart_step: float  # step size of PopArt's statistics
    keeps_temperature: bool = False  # the next η is the one that the losses used, not a gradient step from it


def vmpo_losses(
    config: VMPOConfig,
    duals: Duals,
    logits: Float[Array, "T B A"],
    acting_logits: Float[Array, "T B A"],
    action: Shaped[Array, "T B *action"],
    advantage: Float[Array, "T B"],
    valid: Bool[Array, "T B"],
) -> VMPOLosses:
    """L_π = −Σ ψ log π(a|b),  ψ = softmax(A/η) over the top half of the batch's advantages
    L_η = η ε_η + η log mean exp(A/η), over the same half
    L_α = mean [α (ε_α − sg KL) + sg(α) KL],  KL = KL(π_acting ‖ π).

    A Gaussian policy has two L_α, for its mean and its covariance, each with its own α and ε_α.
    """
    terms = distribution_of(action).terms(logits, acting_logits, action)
    followed = top_fraction(advantage, valid, TOP_FRACTION)
    return weighted_losses(config, duals, duals["temperature"], terms, advantage, followed, valid)


def weighted_losses(
    config: VMPOConfig,
    duals: Duals,
    temperature: Float[Array, ""],
    terms: Terms,
    advantage: Float[Array, "T B"],
    followed: Bool[Array, "T B"],
    valid: Bool[Array, "T B"],
) -> VMPOLosses:
    """The losses for a given temperature η, with weights ψ over the steps in `followed`."""
    scaled = jnp.where(followed, jax.lax.stop_gradient(advantage) / temperature, -jnp.inf)
    log_total = jax.nn.logsumexp(scaled)
    weight = jax.lax.stop_gradient(jnp.exp(scaled - log_total))  # ψ
    loss = -jnp.sum(weight * terms.log_prob)
    loss += temperature * (config.epsilon_temperature + log_total - jnp.log(count(followed)))
    for name, kl in terms.kls.items():
        alpha, mean_kl = duals[name], mean(kl, valid)
        loss += alpha * (LIMITS.get(name, config.epsilon_alpha) - jax.lax.stop_gradient(mean_kl))
        loss += jax.lax.stop_gradient(alpha) * mean_kl
    return VMPOLosses(loss, terms.entropy, jax.tree.reduce(jnp.add, terms.kls), temperature)


def top_fraction(advantage: Float[Array, "T B"], valid: Bool[Array, "T B"], fraction: float) -> Bool[Array, "T B"]:
    """Mask of the valid steps with the largest advantages of the batch."""
    known = jnp.where(valid, advantage, -jnp.inf).ravel()
    best = jax.lax.top_k(known, max(1, int(fraction * known.size)))[0]
    return valid & (advantage >= best[-1])


def count(mask: Bool[Array, "T B"]) -> Float[Array, ""]:
    """Number of true entries, at least 1."""
    return jnp.maximum(jnp.sum(mask.astype(jnp.float32)), 1.0)


def mean(x: Float[Array, "T B"], valid: Bool[Array, "T B"]) -> Float[Array, ""]:
    return jnp.sum(jnp.where(valid, x, 0.0)) / count(valid)


def init_duals(form: Form, distribution: Distribution = CATEGORICAL) -> Duals:
    multipliers = {name: jnp.float32(form.alpha) for name in distribution.multipliers}
    return {"temperature": jnp.float32(form.temperature)} | multipliers


def project_duals(duals: Duals) -> Duals:
    """η and every α, at least 1e-8."""
    return jax.tree.map(lambda dual: jnp.maximum(dual, SMALLEST_DUAL), duals)


PAPER = Form(vmpo_losses, temperature=0.5, alpha=0.5, value_weight=0.5, popart_step=0.01)

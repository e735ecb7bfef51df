"""V-MPO (Song et al., 2019): the policy follows its better half, within a KL limit of the policy that acted."""

from typing import NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Shaped

from curiax.agent.distributions import CATEGORICAL, Distribution, distribution_of
from curiax.config import VMPOConfig

SMALLEST_DUAL = 1e-8


class VMPOLosses(NamedTuple):
    policy: Float[Array, ""]  # L_π + L_η + L_α
    entropy: Float[Array, "T B"]
    kl: Float[Array, "T B"]
    temperature: Float[Array, ""]  # η, as it was used


def init_duals(config: VMPOConfig, distribution: Distribution = CATEGORICAL) -> dict[str, Float[Array, ""]]:
    multipliers = {name: jnp.float32(config.alpha) for name in distribution.multipliers}
    return {"temperature": jnp.float32(config.temperature)} | multipliers


def project_duals(duals: dict[str, Float[Array, ""]]) -> dict[str, Float[Array, ""]]:
    """η and every α at least 1e-8."""
    return jax.tree.map(lambda dual: jnp.maximum(dual, SMALLEST_DUAL), duals)


def vmpo_losses(
    config: VMPOConfig,
    duals: dict[str, Float[Array, ""]],
    logits: Float[Array, "T B A"],
    acting_logits: Float[Array, "T B A"],
    action: Shaped[Array, "T B *action"],
    advantage: Float[Array, "T B"],
    valid: Bool[Array, "T B"],
) -> VMPOLosses:
    """L_π = −Σ ψ log π(a|b),  ψ = softmax(A/η) over the top half of the batch's advantages
    L_η = η ε_η + η log mean exp(A/η), over the same half
    L_α = mean [α (ε_α − sg KL) + sg(α) KL],  KL = KL(π_acting ‖ π).

    A Gaussian policy has two such terms, for its mean and for its covariance, with an α and ε_α of each.
    With `config.control_variate`  L_π = −Σ (ψ − 1/N) log π + mean KL:  the same on average, since E[log π] over the
    actions of π_acting is −KL and a constant. Where all advantages are alike nothing is left of it but the KL, while
    the samples alone would move the policy at random, by as much as a success does.
    """
    terms = distribution_of(action).terms(logits, acting_logits, action)
    advantage = jax.lax.stop_gradient(advantage)
    temperature = duals["temperature"]
    if config.temperature_memory > 0:
        needed = solve_temperature(config, advantage, valid)
        temperature = jnp.maximum(needed, config.temperature_memory * jax.lax.stop_gradient(temperature))

    followed = top_fraction(advantage, valid, config.top_fraction)
    scaled = jnp.where(followed, advantage / temperature, -jnp.inf)
    log_total = jax.nn.logsumexp(scaled)
    weight = jax.lax.stop_gradient(jnp.exp(scaled - log_total))  # ψ
    loss = -jnp.sum(weight * terms.log_prob)
    loss += temperature * (config.epsilon_temperature + log_total - jnp.log(count(followed)))
    for name, kl in terms.kls.items():
        alpha, mean_kl = duals[name], mean(kl, valid)
        loss += alpha * (kl_limit(config, name) - jax.lax.stop_gradient(mean_kl))
        loss += jax.lax.stop_gradient(alpha) * mean_kl
    kl = jax.tree.reduce(jnp.add, terms.kls)
    if config.control_variate:
        loss += mean(terms.log_prob + kl, valid)
    return VMPOLosses(loss, terms.entropy, kl, temperature)


def kl_limit(config: VMPOConfig, name: str) -> float:
    limits = {"alpha_mean": config.epsilon_mean, "alpha_covariance": config.epsilon_covariance}
    return limits.get(name, config.epsilon_alpha)


def count(mask: Bool[Array, "T B"]) -> Float[Array, ""]:
    return jnp.maximum(jnp.sum(mask.astype(jnp.float32)), 1.0)


def mean(x: Float[Array, "T B"], valid: Bool[Array, "T B"]) -> Float[Array, ""]:
    return jnp.sum(jnp.where(valid, x, 0.0)) / count(valid)


def top_fraction(advantage: Float[Array, "T B"], valid: Bool[Array, "T B"], fraction: float) -> Bool[Array, "T B"]:
    """The valid steps whose advantage is among the best of the batch."""
    known = jnp.where(valid, advantage, -jnp.inf).ravel()
    best = jax.lax.top_k(known, max(1, int(fraction * known.size)))[0]
    return valid & (advantage >= best[-1])


def solve_temperature(
    config: VMPOConfig, advantage: Float[Array, "T B"], valid: Bool[Array, "T B"]
) -> Float[Array, ""]:
    """argmin_η L_η of this batch, which is the η with KL(ψ ‖ uniform) = ε_η, by halving an interval of log η.

    The gradient moves η by one learning rate, whatever the advantages. Where rewards are rare these grow a hundredfold
    from one batch to the next, and all weight would fall on a step or two.
    """
    followed = top_fraction(advantage, valid, config.top_fraction)
    largest = jnp.max(jnp.where(valid, advantage, -jnp.inf))
    below = jnp.where(followed, advantage - largest, 0.0)
    unit = jnp.maximum(-jnp.min(below), SMALLEST_DUAL)
    log_count = jnp.log(count(followed))

    def halve(_: Array, bounds: tuple[Array, Array]) -> tuple[Array, Array]:
        low, high = bounds
        middle = (low + high) / 2
        scaled = jnp.where(followed, below / (unit * jnp.exp(middle)), -jnp.inf)
        log_weight = scaled - jax.nn.logsumexp(scaled)
        kl = jnp.sum(jnp.where(followed, jnp.exp(log_weight) * log_weight, 0.0)) + log_count
        too_low = kl > config.epsilon_temperature  # the KL falls as η rises
        return jnp.where(too_low, middle, low), jnp.where(too_low, high, middle)

    _, high = jax.lax.fori_loop(0, 20, halve, (jnp.float32(-10.0), jnp.float32(10.0)))
    return jnp.maximum(unit * jnp.exp(high), SMALLEST_DUAL)


def remember_temperature(
    config: VMPOConfig, duals: dict[str, Float[Array, ""]], used: Float[Array, ""]
) -> dict[str, Float[Array, ""]]:
    """A temperature that was solved for has no gradient: what was used is what is remembered."""
    return duals | {"temperature": used} if config.temperature_memory > 0 else duals

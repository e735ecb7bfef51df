"""V-MPO (Song et al., 2019): the policy follows its better half, within a KL limit of the policy that acted."""

from typing import NamedTuple

import jax
import jax.numpy as jnp
import rlax
from jaxtyping import Array, Bool, Float, Shaped

from curiax.agent.distributions import CATEGORICAL, Distribution, distribution_of
from curiax.config import VMPOConfig

SMALLEST_DUAL = 1e-8


class VMPOLosses(NamedTuple):
    policy: Float[Array, "T B"]  # per step; the mean over all entries is the paper's L_π + L_η + L_α
    entropy: Float[Array, "T B"]
    kl: Float[Array, "T B"]
    temperature: Float[Array, ""]  # η, as it was used


def init_duals(config: VMPOConfig, distribution: Distribution = CATEGORICAL) -> dict[str, Float[Array, ""]]:
    multipliers = {name: jnp.float32(config.alpha) for name in distribution.multipliers}
    return {"temperature": jnp.float32(config.temperature)} | multipliers


def project_duals(duals: dict[str, Float[Array, ""]]) -> dict[str, Float[Array, ""]]:
    """η and every α ≥ 1e-8. The loss clips them too, but a clipped dual has no gradient to come back with."""
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
    L_η = η ε_η + η log mean exp(A/η)
    L_α = mean [α (ε_α − sg KL) + sg(α) KL],  KL = KL(π_acting ‖ π).

    A Gaussian policy has two such terms, for its mean and for its covariance, with an α and ε_α of each.
    With `config.control_variate`  L_π = −Σ (ψ − 1/N) log π + mean KL:  the same on average, since E[log π] over the
    actions of π_acting is −KL and a constant. Where all advantages are alike nothing is left of it but the KL, while
    the samples alone would move the policy at random, by as much as a success does.
    `rlax` masks all but the KL; dividing by the valid share makes its plain mean the mean over valid steps.
    """
    terms = distribution_of(action).terms(logits, acting_logits, action)
    limits = {"alpha_mean": config.epsilon_mean, "alpha_covariance": config.epsilon_covariance}
    weight = valid.astype(advantage.dtype)
    temperature = duals["temperature"]
    if config.temperature_memory > 0:
        needed = solve_temperature(config, advantage, valid)
        temperature = jnp.maximum(needed, config.temperature_memory * jax.lax.stop_gradient(temperature))
    constraints = []
    for name, kl in terms.kls.items():
        penalty = rlax.LagrangePenalty(duals[name], jnp.float32(limits.get(name, config.epsilon_alpha)))
        constraints.append((kl * weight / weight.mean(), penalty))
    with jax.numpy_dtype_promotion("standard"):  # rlax relies on it
        loss, _ = rlax.vmpo_loss(
            sample_log_probs=terms.log_prob,
            advantages=jax.lax.stop_gradient(advantage),
            temperature_constraint=rlax.LagrangePenalty(temperature, jnp.float32(config.epsilon_temperature)),
            kl_constraints=constraints,
            restarting_weights=weight,
            top_k_fraction=config.top_fraction,
        )
    kl = jax.tree.reduce(jnp.add, terms.kls)
    if config.control_variate:
        loss = loss + (terms.log_prob + kl) * weight / weight.mean()
    return VMPOLosses(policy=jnp.asarray(loss), entropy=terms.entropy, kl=kl, temperature=temperature)


def solve_temperature(
    config: VMPOConfig, advantage: Float[Array, "T B"], valid: Bool[Array, "T B"]
) -> Float[Array, ""]:
    """argmin_η L_η of this batch, which is the η with KL(ψ ‖ uniform) = ε_η, by halving an interval of log η.

    The gradient moves η by one learning rate, whatever the advantages. Where rewards are rare these grow a hundredfold
    from one batch to the next, and all weight would fall on a step or two.
    """
    known = jax.lax.stop_gradient(jnp.where(valid, advantage, -jnp.inf)).ravel()
    best = jax.lax.top_k(known, max(1, int(config.top_fraction * known.size)))[0]
    chosen = jnp.isfinite(best)
    below = jnp.where(chosen, best - best[0], 0.0)
    unit = jnp.maximum(-jnp.min(below), SMALLEST_DUAL)
    log_count = jnp.log(jnp.sum(chosen.astype(below.dtype)))

    def halve(_: Array, bounds: tuple[Array, Array]) -> tuple[Array, Array]:
        low, high = bounds
        middle = (low + high) / 2
        log_weight = jax.nn.log_softmax(jnp.where(chosen, below / (unit * jnp.exp(middle)), -jnp.inf))
        kl = jnp.sum(jnp.where(chosen, jnp.exp(log_weight) * log_weight, 0.0)) + log_count
        too_low = kl > config.epsilon_temperature  # the KL falls as η rises
        return jnp.where(too_low, middle, low), jnp.where(too_low, high, middle)

    _, high = jax.lax.fori_loop(0, 20, halve, (jnp.float32(-10.0), jnp.float32(10.0)))
    return jnp.maximum(unit * jnp.exp(high), SMALLEST_DUAL)


def remember_temperature(
    config: VMPOConfig, duals: dict[str, Float[Array, ""]], used: Float[Array, ""]
) -> dict[str, Float[Array, ""]]:
    """A temperature that was solved for has no gradient: what was used is what is remembered."""
    return duals | {"temperature": used} if config.temperature_memory > 0 else duals

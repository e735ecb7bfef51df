"""V-MPO for rare rewards. It differs from the published form in three ways, see docs/gymnasium.md.

η is solved for in each batch: advantages grow a hundredfold at a success, while a step of Adam moves η by about one
learning rate. The whole batch is weighted, not its better half, so that the policy hardly moves where nothing happened.
The part of L_π that weights all samples equally is computed as an expectation.
"""

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Shaped

from curiax.agent.distributions import distribution_of
from curiax.agent.vmpo import PAPER, SMALLEST_DUAL, Duals, Form, VMPOLosses, count, mean, weighted_losses
from curiax.config import VMPOConfig

MEMORY = 0.99  # η falls no faster than by this factor per update


def sparse_losses(
    config: VMPOConfig,
    duals: Duals,
    logits: Float[Array, "T B A"],
    acting_logits: Float[Array, "T B A"],
    action: Shaped[Array, "T B *action"],
    advantage: Float[Array, "T B"],
    valid: Bool[Array, "T B"],
) -> VMPOLosses:
    """As `vmpo_losses` over the whole batch, with  L_π = −Σ (ψ − 1/N) log π + mean KL.

    This is the same in expectation, since E[log π] over actions of π_acting is −KL plus a constant. Where all
    advantages are equal only the KL is left; the sampled form would move the policy at random.
    """
    terms = distribution_of(action).terms(logits, acting_logits, action)
    needed = solve_temperature(jax.lax.stop_gradient(advantage), valid, config.epsilon_temperature)
    temperature = jnp.maximum(needed, MEMORY * jax.lax.stop_gradient(duals["temperature"]))
    losses = weighted_losses(config, duals, temperature, terms, advantage, valid, valid)
    return losses._replace(policy=losses.policy + mean(terms.log_prob + losses.kl, valid))


def solve_temperature(advantage: Float[Array, "T B"], valid: Bool[Array, "T B"], epsilon: float) -> Float[Array, ""]:
    """argmin_η L_η of this batch: the η with KL(ψ ‖ uniform) = ε_η, by bisection of log η."""
    largest = jnp.max(jnp.where(valid, advantage, -jnp.inf))
    below = jnp.where(valid, advantage - largest, 0.0)
    unit = jnp.maximum(-jnp.min(below), SMALLEST_DUAL)
    log_count = jnp.log(count(valid))

    def bisect(_: Array, bounds: tuple[Array, Array]) -> tuple[Array, Array]:
        low, high = bounds
        middle = (low + high) / 2
        scaled = jnp.where(valid, below / (unit * jnp.exp(middle)), -jnp.inf)
        log_weight = scaled - jax.nn.logsumexp(scaled)
        kl = jnp.sum(jnp.where(valid, jnp.exp(log_weight) * log_weight, 0.0)) + log_count
        too_low = kl > epsilon  # the KL falls as η rises
        return jnp.where(too_low, middle, low), jnp.where(too_low, high, middle)

    _, high = jax.lax.fori_loop(0, 20, bisect, (jnp.float32(-10.0), jnp.float32(10.0)))
    return jnp.maximum(unit * jnp.exp(high), SMALLEST_DUAL)


SPARSE = Form(sparse_losses, temperature=0.05, alpha=0.1, value_weight=0.25, popart_step=0.003, keeps_temperature=True)
FORMS = {"paper": PAPER, "sparse": SPARSE}

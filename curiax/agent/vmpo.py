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
    `rlax` masks all but the KL; dividing by the valid share makes its plain mean the mean over valid steps.
    """
    terms = distribution_of(action).terms(logits, acting_logits, action)
    limits = {"alpha_mean": config.epsilon_mean, "alpha_covariance": config.epsilon_covariance}
    weight = valid.astype(advantage.dtype)
    constraints = []
    for name, kl in terms.kls.items():
        penalty = rlax.LagrangePenalty(duals[name], jnp.float32(limits.get(name, config.epsilon_alpha)))
        constraints.append((kl * weight / weight.mean(), penalty))
    with jax.numpy_dtype_promotion("standard"):  # rlax relies on it
        loss, _ = rlax.vmpo_loss(
            sample_log_probs=terms.log_prob,
            advantages=jax.lax.stop_gradient(advantage),
            temperature_constraint=rlax.LagrangePenalty(duals["temperature"], jnp.float32(config.epsilon_temperature)),
            kl_constraints=constraints,
            restarting_weights=weight,
            top_k_fraction=config.top_fraction,
        )
    return VMPOLosses(policy=jnp.asarray(loss), entropy=terms.entropy, kl=jax.tree.reduce(jnp.add, terms.kls))

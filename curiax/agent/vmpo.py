"""V-MPO (Song et al., 2019): the policy follows its better half, within a KL limit of the policy that acted."""

from typing import NamedTuple

import jax
import jax.numpy as jnp
import rlax
from jaxtyping import Array, Bool, Float, Int

from curiax.config import VMPOConfig

SMALLEST_DUAL = 1e-8


class VMPOLosses(NamedTuple):
    policy: Float[Array, "T B"]  # per step; the mean over all entries is the paper's L_π + L_η + L_α
    entropy: Float[Array, "T B"]
    kl: Float[Array, "T B"]


def init_duals(config: VMPOConfig) -> dict[str, Float[Array, ""]]:
    return {"temperature": jnp.float32(config.temperature), "alpha": jnp.float32(config.alpha)}


def project_duals(duals: dict[str, Float[Array, ""]]) -> dict[str, Float[Array, ""]]:
    """η, α ≥ 1e-8. The loss clips them too, but a clipped dual has no gradient to come back with."""
    return jax.tree.map(lambda dual: jnp.maximum(dual, SMALLEST_DUAL), duals)


def vmpo_losses(
    config: VMPOConfig,
    duals: dict[str, Float[Array, ""]],
    logits: Float[Array, "T B A"],
    acting_logits: Float[Array, "T B A"],
    action: Int[Array, "T B"],
    advantage: Float[Array, "T B"],
    valid: Bool[Array, "T B"],
) -> VMPOLosses:
    """L_π = −Σ ψ log π(a|b),  ψ = softmax(A/η) over the top half of the batch's advantages
    L_η = η ε_η + η log mean exp(A/η)
    L_α = mean [α (ε_α − sg KL) + sg(α) KL],  KL = KL(π_acting ‖ π).

    `rlax` masks all but the KL; dividing by the valid share makes its plain mean the mean over valid steps.
    """
    log_policy = jax.nn.log_softmax(logits)
    log_acting = jax.nn.log_softmax(acting_logits)
    kl = jnp.sum(jnp.exp(log_acting) * (log_acting - log_policy), axis=-1)
    weight = valid.astype(kl.dtype)
    log_prob = jnp.take_along_axis(log_policy, action[..., None], axis=-1)[..., 0]
    with jax.numpy_dtype_promotion("standard"):  # rlax relies on it
        loss, _ = rlax.vmpo_loss(
            sample_log_probs=log_prob,
            advantages=jax.lax.stop_gradient(advantage),
            temperature_constraint=rlax.LagrangePenalty(duals["temperature"], jnp.float32(config.epsilon_temperature)),
            kl_constraints=[
                (kl * weight / weight.mean(), rlax.LagrangePenalty(duals["alpha"], jnp.float32(config.epsilon_alpha)))
            ],
            restarting_weights=weight,
            top_k_fraction=config.top_fraction,
        )
    entropy = -jnp.sum(jnp.exp(log_policy) * log_policy, axis=-1)
    return VMPOLosses(policy=jnp.asarray(loss), entropy=entropy, kl=kl)

"""Returns to the end of an unroll."""

import jax
import jax.numpy as jnp
import rlax
from jaxtyping import Array, Bool, Float


def vtrace_returns(
    values: Float[Array, "T1 B"],
    rewards: Float[Array, "T B"],
    discounts: Float[Array, "T B"],
    valid: Bool[Array, "T B"],
    lambda_: float,
) -> Float[Array, "T B"]:
    """G_t of V-trace without off-policy correction, which is the λ-return:

        G_t = r_t + γ_t [(1 − λ) V_{t+1} + λ G_{t+1}],    G_T = V_T.

    Source: Espeholt et al. (2018), with ρ = c = 1. The step after an episode's end is no transition: ρ = 0 there makes
    its error zero, so that the last transition bootstraps from the final observation and from nothing beyond it.
    """
    rho = valid.astype(values.dtype)
    vtrace = jax.vmap(rlax.vtrace, in_axes=(1, 1, 1, 1, 1, None), out_axes=1)
    with jax.numpy_dtype_promotion("standard"):  # rlax relies on it
        errors = vtrace(values[:-1], values[1:], rewards, discounts, rho, lambda_)
    return jax.lax.stop_gradient(jnp.asarray(errors) + values[:-1])

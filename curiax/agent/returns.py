"""Returns to the end of an unroll."""

import jax
import jax.numpy as jnp
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

    Source: Espeholt et al. (2018), with ρ = c = 1. The step after an episode's end is not a transition: G = V there, so
    the last transition bootstraps from the final observation and from nothing beyond it.
    """

    def step(following: Float[Array, " B"], at: tuple[Array, ...]) -> tuple[Float[Array, " B"], Float[Array, " B"]]:
        value, next_value, reward, discount, valid = at
        target = reward + discount * ((1 - lambda_) * next_value + lambda_ * following)
        target = jnp.where(valid, target, value)
        return target, target

    steps = (values[:-1], values[1:], rewards, discounts, valid)
    return jax.lax.stop_gradient(jax.lax.scan(step, values[-1], steps, reverse=True)[1])


def endless_returns(
    values: Float[Array, "T1 B"],
    rewards: Float[Array, "T B"],
    discount: float,
    valid: Bool[Array, "T B"],
    lambda_: float,
) -> Float[Array, "T B"]:
    """The λ-return of a stream that goes on over the ends of its episodes (Burda et al., 2019):

        G_t = r_t + γ [(1 − λ) V_n + λ G_n],    G_T = V_T,

    where n = t+1, or t+2 if o_{t+1} is the final observation of an episode: o_{t+2} is the first of the next. The step
    in between takes no time and pays nothing: G_{t+1} = G_{t+2}. Only where o_T is a final observation is the next
    episode unknown, and G bootstraps from V_T.
    """

    def step(
        following: tuple[Float[Array, " B"], Float[Array, " B"]], at: tuple[Array, ...]
    ) -> tuple[tuple[Float[Array, " B"], Float[Array, " B"]], Float[Array, " B"]]:
        next_value, next_return = following
        value, reward, valid = at
        target = reward + discount * ((1 - lambda_) * next_value + lambda_ * next_return)
        target = jnp.where(valid, target, next_return)
        return (jnp.where(valid, value, next_value), target), target

    end = (values[-1], values[-1])
    return jax.lax.stop_gradient(jax.lax.scan(step, end, (values[:-1], rewards, valid), reverse=True)[1])

"""From errors to rewards: normalise, prioritise, mix."""

from typing import NamedTuple

import jax.numpy as jnp
from jaxtyping import Array, Bool, Float

from curiax.agent.popart import batch_moments
from curiax.config import BonusConfig
from curiax.trial import trial


class Moments(NamedTuple):
    """Bias-corrected exponential moving averages of a batch's mean and mean square."""

    count: Float[Array, ""]  # updates so far
    first: Float[Array, ""]
    second: Float[Array, ""]


class BonusState(NamedTuple):
    intrinsic: Moments
    extrinsic: Moments


def moments_init() -> Moments:
    start = 0.0 if trial("stats", "plain") == "corrected" else 1.0
    return Moments(count=jnp.zeros(()), first=jnp.zeros(()), second=jnp.full((), start))


def bonus_init() -> BonusState:
    return BonusState(intrinsic=moments_init(), extrinsic=moments_init())


def moments_update(state: Moments, x: Float[Array, "T B"], valid: Bool[Array, "T B"], decay: float) -> Moments:
    first, second = batch_moments(x, valid)
    return Moments(
        count=state.count + 1,
        first=decay * state.first + (1 - decay) * first,
        second=decay * state.second + (1 - decay) * second,
    )


def mean_and_scale(state: Moments, decay: float) -> tuple[Float[Array, ""], Float[Array, ""]]:
    """μ = m₁ / (1 − decay^c),  σ = √(max(μ₂ − μ², 0) + 1e-8)."""
    correction = 1 - decay**state.count if trial("stats", "plain") == "corrected" else 1.0
    mean, second = state.first / correction, state.second / correction
    return mean, jnp.sqrt(jnp.maximum(second - jnp.square(mean), 0.0) + 1e-8)


def intrinsic_reward(
    config: BonusConfig, state: Moments, error: Float[Array, "T B"], valid: Bool[Array, "T B"]
) -> tuple[Moments, Float[Array, "T B"]]:
    """r_int = max((r_raw − μ)/σ, 0), or r_raw/σ without prioritisation. The statistics include this batch."""
    if trial("stats", "plain") == "within":
        first, second = batch_moments(error, valid)
        scale = jnp.sqrt(state.second)
        paid = jnp.maximum((error - state.first) / scale, 0.0)
        new = Moments(
            count=state.count + 1,
            first=config.decay * state.first + (1 - config.decay) * first,
            second=config.decay * state.second + (1 - config.decay) * (second - first**2),
        )
        return new, jnp.where(valid, paid, 0.0)
    state = moments_update(state, error, valid, config.decay)
    return state, jnp.where(valid, pay(config, state, error), 0.0)


def pay(config: BonusConfig, state: Moments, error: Float[Array, "T B"]) -> Float[Array, "T B"]:
    """The same by statistics as they are."""
    mean, scale = mean_and_scale(state, config.decay)
    return jnp.maximum((error - mean) / scale, 0.0) if config.prioritise else error / scale


def mix(
    config: BonusConfig,
    regime: str,
    state: BonusState,
    error: Float[Array, "T B"],
    extrinsic: Float[Array, "T B"],
    valid: Bool[Array, "T B"],
) -> tuple[BonusState, Float[Array, "T B"], Float[Array, "T B"]]:
    """The new statistics, the reward the policy is trained on, and the intrinsic part of it.

    intrinsic: r = r_int.   mixed: r = r_ext/σ_ext + 0.2 r_int.
    """
    intrinsic_state, intrinsic = intrinsic_reward(config, state.intrinsic, error, valid)
    extrinsic_state = moments_update(state.extrinsic, extrinsic, valid, config.decay)
    state = BonusState(intrinsic_state, extrinsic_state)
    if regime == "intrinsic":
        return state, intrinsic, intrinsic
    scale = mean_and_scale(extrinsic_state, config.decay)[1]
    return state, jnp.where(valid, extrinsic / scale, 0.0) + config.intrinsic_weight * intrinsic, intrinsic

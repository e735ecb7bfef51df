"""From errors to rewards: normalise, prioritise, mix."""

from dataclasses import replace
from typing import NamedTuple

import jax.numpy as jnp
from jaxtyping import Array, Bool, Float

from curiax.agent.popart import batch_moments
from curiax.config import BonusConfig


class Moments(NamedTuple):
    """Exponential moving averages of batch mean and mean square, before bias correction."""

    count: Float[Array, ""]  # updates so far
    first: Float[Array, ""]
    second: Float[Array, ""]


class BonusState(NamedTuple):
    intrinsic: Moments
    extrinsic: Moments


class Rewards(NamedTuple):
    """The two streams of reward."""

    extrinsic: Float[Array, "T B"]  # r_ext/σ_ext
    intrinsic: Float[Array, "T B"]  # r_int


def moments_init() -> Moments:
    return Moments(count=jnp.zeros(()), first=jnp.zeros(()), second=jnp.zeros(()))


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
    correction = 1 - decay**state.count
    mean, second = state.first / correction, state.second / correction
    return mean, jnp.sqrt(jnp.maximum(second - jnp.square(mean), 0.0) + 1e-8)


def moments_grow(state: Moments, x: Float[Array, "T B"], valid: Bool[Array, "T B"], decay: float) -> Moments:
    """Statistics that remember the last quarter of the updates so far, and at most as many as `decay` does:

    μ ← μ + α (mean − μ),  α = max(1 − decay, 4/(c + 4)) after c updates.

    Errors fall fast at first. Statistics with a longer memory would be above all errors, and nothing would be paid.
    """
    first, second = batch_moments(x, valid)
    step = jnp.maximum(1 - decay, 4 / (state.count + 4))
    return Moments(
        count=state.count + 1,
        first=state.first + step * (first - state.first),
        second=state.second + step * (second - state.second),
    )


def grown_mean_and_scale(state: Moments) -> tuple[Float[Array, ""], Float[Array, ""]]:
    """μ and σ of `moments_grow`, whose first update forgets the initial values: no correction is needed."""
    return state.first, jnp.sqrt(jnp.maximum(state.second - jnp.square(state.first), 0.0) + 1e-8)


def intrinsic_reward(
    config: BonusConfig, state: Moments, error: Float[Array, "T B"], valid: Bool[Array, "T B"]
) -> tuple[Moments, Float[Array, "T B"]]:
    """New statistics, which include this batch, and r_int = max((r_raw − μ)/σ, 0).

    If not prioritised, r_raw/σ. If not normalised, σ = 1.
    """
    state = moments_update(state, error, valid, config.decay)
    return state, jnp.where(valid, pay(config, *mean_and_scale(state, config.decay), error), 0.0)


def rules_for(config: BonusConfig, signed: bool) -> BonusConfig:
    """The config by which errors are paid. Signed ones are never prioritised: their zero means something."""
    return replace(config, prioritise=config.prioritise and not signed)


def pay(
    config: BonusConfig, mean: Float[Array, ""], scale: Float[Array, ""], error: Float[Array, "T B"]
) -> Float[Array, "T B"]:
    """r_int with these statistics."""
    paid = jnp.maximum(error - mean, 0.0) if config.prioritise else error
    return paid / scale if config.normalise else paid


def reward_streams(
    config: BonusConfig,
    state: BonusState,
    error: Float[Array, "T B"],
    extrinsic: Float[Array, "T B"],
    valid: Bool[Array, "T B"],
) -> tuple[BonusState, Rewards]:
    """New statistics, and r_ext/σ_ext and r_int apart."""
    intrinsic_state, intrinsic = intrinsic_reward(config, state.intrinsic, error, valid)
    extrinsic_state = moments_update(state.extrinsic, extrinsic, valid, config.decay)
    scale = mean_and_scale(extrinsic_state, config.decay)[1]
    return BonusState(intrinsic_state, extrinsic_state), Rewards(jnp.where(valid, extrinsic / scale, 0.0), intrinsic)


def mix(config: BonusConfig, regime: str, rewards: Rewards) -> Float[Array, "T B"]:
    """The reward that the policy is trained on.

    intrinsic: r = r_int.   mixed: r = r_ext/σ_ext + w r_int, where w is `intrinsic_weight`, 0.2 in the paper.
    """
    if regime == "intrinsic":
        return rewards.intrinsic
    return rewards.extrinsic + config.intrinsic_weight * rewards.intrinsic

"""From rewards to advantages: one value function of the mixed reward, as in the paper, or one of each of its streams.

With values of their own, the extrinsic and the intrinsic return have their own discounts, and the intrinsic one may go
on over the end of an episode (Burda et al., 2019).
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import jax.numpy as jnp
from jaxtyping import Array, Bool, Float

from curiax.agent import popart
from curiax.agent.networks import MLP
from curiax.agent.popart import PopArt
from curiax.agent.returns import endless_returns, vtrace_returns
from curiax.agent.vmpo_sparse import FORMS
from curiax.config import Config, VMPOConfig
from curiax.curiosity.reward import Rewards, mix
from curiax.types import Loss, State, Trajectory


class Judged(NamedTuple):
    """A batch as the value functions see it."""

    returns: Any  # G, or those of each stream
    advantage: Float[Array, "T B"]
    losses: dict[str, Loss]


class Values(NamedTuple):
    """A variant: what the value head predicts, and what becomes of its errors. The state is PopArt's statistics."""

    num_outputs: int  # of the value head
    init: Callable[[], State]
    judge: Callable[[Config, Any, Float[Array, "T1 B outputs"], Rewards, Trajectory], Judged]
    art: Callable[[Any, Any, Bool[Array, "T B"], float], State]  # statistics after a batch
    pop: Callable[[MLP, Any, Any], MLP]  # a value head for other statistics
    scales: Callable[[Any], dict[str, Array]]  # metrics


class Streams(NamedTuple):
    """Something of each stream of reward, and of their sum."""

    extrinsic: Any
    intrinsic: Any
    total: Any


def judge_sum(
    config: Config, state: PopArt, outputs: Float[Array, "T1 B 1"], rewards: Rewards, trajectory: Trajectory
) -> Judged:
    """A = (G − V)/σ, where G is the return of (1 − γ) r, and r the mixed reward. The value's loss is A²."""
    vmpo, valid, value = config.vmpo, trajectory.valid, outputs[..., 0]
    reward = mix(config.bonus, config.reward, rewards)
    returns = vtrace_returns(
        popart.unnormalise(state, value),
        (1 - vmpo.discount) * reward,
        ending(trajectory, vmpo.discount),
        valid,
        vmpo.return_lambda,
    )
    advantage = popart.normalise(state, returns) - value[:-1]
    return Judged(returns, advantage, {"value": Loss(jnp.square(advantage), valid, FORMS[vmpo.form].value_weight)})


def judge_streams(
    config: Config, state: Streams, outputs: Float[Array, "T1 B 2"], rewards: Rewards, trajectory: Trajectory
) -> Judged:
    """A = [(G_E − V_E) + w (G_I − V_I)]/σ, where σ is the scale of G_E + w G_I, and w that of the mixed reward.

    Both rewards are multiplied by 1 − γ of the extrinsic return, whatever γ_I: w then is what an intrinsic reward is
    worth beside an extrinsic one of the same step, as in the mixed reward, and γ_I only says how far the intrinsic
    return looks ahead. With γ_I = γ and V = V_E + w V_I this is the advantage of the mixed reward.

    The losses are [(G_k − V_k)/σ_k]², each with the weight of the single one, so each value learns as fast as it does.
    """
    vmpo, valid = config.vmpo, trajectory.valid
    extrinsic, intrinsic = outputs[..., 0], outputs[..., 1]
    returns_e = vtrace_returns(
        popart.unnormalise(state.extrinsic, extrinsic),
        (1 - vmpo.discount) * rewards.extrinsic,
        ending(trajectory, vmpo.discount),
        valid,
        vmpo.return_lambda,
    )
    returns_i, learned = intrinsic_returns(
        vmpo, popart.unnormalise(state.intrinsic, intrinsic), (1 - vmpo.discount) * rewards.intrinsic, trajectory
    )
    error_e = popart.normalise(state.extrinsic, returns_e) - extrinsic[:-1]
    error_i = popart.normalise(state.intrinsic, returns_i) - intrinsic[:-1]
    price, weight = config.bonus.intrinsic_weight, FORMS[vmpo.form].value_weight
    advantage = (state.extrinsic.scale * error_e + price * state.intrinsic.scale * error_i) / state.total.scale
    losses = {
        "value_extrinsic": Loss(jnp.square(error_e), valid, weight),
        "value_intrinsic": Loss(jnp.square(error_i), learned, weight),
    }
    return Judged(Streams(returns_e, returns_i, returns_e + price * returns_i), advantage, losses)


def ending(trajectory: Trajectory, discount: float) -> Float[Array, "T B"]:
    """γ_t: 0 at termination."""
    return jnp.where(trajectory.terminated, 0.0, discount)


def intrinsic_returns(
    vmpo: VMPOConfig, values: Float[Array, "T1 B"], rewards: Float[Array, "T B"], trajectory: Trajectory
) -> tuple[Float[Array, "T B"], Bool[Array, "T B"]]:
    """G_I, and the steps at which V_I learns it.

    If it goes on over the end of an episode, V_I of a final observation learns what follows in the next one: an unroll
    may end with such an observation, and bootstraps from its value.
    """
    valid, discount = trajectory.valid, vmpo.intrinsic_discount
    if vmpo.intrinsic_episodic:
        return vtrace_returns(values, rewards, ending(trajectory, discount), valid, vmpo.return_lambda), valid
    return endless_returns(values, rewards, discount, valid, vmpo.return_lambda), jnp.ones_like(valid)


def init_streams() -> Streams:
    return Streams(popart.popart_init(), popart.popart_init(), popart.popart_init())


def art_streams(state: Streams, returns: Streams, valid: Bool[Array, "T B"], step_size: float) -> Streams:
    return Streams(*(popart.art(old, of, valid, step_size) for old, of in zip(state, returns, strict=True)))


def pop_streams(head: MLP, old: Streams, new: Streams) -> MLP:
    return popart.pop(head, of_outputs(old), of_outputs(new))


def of_outputs(state: Streams) -> PopArt:
    """The statistics of the head's two outputs."""
    both = zip(state.extrinsic, state.intrinsic, strict=True)
    return PopArt(*(jnp.stack(pair) for pair in both))


def scale_of_sum(state: PopArt) -> dict[str, Array]:
    return {"value_scale": state.scale}


def scales_of_streams(state: Streams) -> dict[str, Array]:
    parts = {"value_scale_extrinsic": state.extrinsic.scale, "value_scale_intrinsic": state.intrinsic.scale}
    return scale_of_sum(state.total) | parts


SINGLE = Values(1, popart.popart_init, judge_sum, popart.art, popart.pop, scale_of_sum)
SEPARATE = Values(2, init_streams, judge_streams, art_streams, pop_streams, scales_of_streams)


def values_of(config: Config) -> Values:
    """The variant that a config asks for."""
    return {"single": SINGLE, "separate": SEPARATE}[config.value]

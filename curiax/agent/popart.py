"""PopArt (Hessel et al., 2019): the value head learns normalised returns; a change of scale preserves its outputs."""

from typing import NamedTuple

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float

from curiax.agent.networks import MLP

STEP_SIZE = 0.01
SMALLEST_SCALE = 1e-4


class PopArt(NamedTuple):
    mean: Float[Array, "*outputs"]  # of the value head: a number, or one for each output
    second_moment: Float[Array, "*outputs"]

    @property
    def scale(self) -> Float[Array, "*outputs"]:
        variance = self.second_moment - jnp.square(self.mean)
        return jnp.sqrt(jnp.maximum(variance, SMALLEST_SCALE**2))


def popart_init() -> PopArt:
    return PopArt(mean=jnp.zeros(()), second_moment=jnp.ones(()))


def unnormalise(state: PopArt, normalised: Float[Array, "*batch"]) -> Float[Array, "*batch"]:
    return state.scale * normalised + state.mean


def normalise(state: PopArt, unnormalised: Float[Array, "*batch"]) -> Float[Array, "*batch"]:
    return (unnormalised - state.mean) / state.scale


def art(state: PopArt, returns: Float[Array, "T B"], valid: Bool[Array, "T B"], step_size: float = STEP_SIZE) -> PopArt:
    """The statistics after a step of size β towards those of the batch:

    μ' = μ + β (mean G − μ),   ν' = ν + β (mean G² − ν),   σ' = √(ν' − μ'²).
    """
    mean, second_moment = batch_moments(returns, valid)
    return PopArt(
        mean=state.mean + step_size * (mean - state.mean),
        second_moment=state.second_moment + step_size * (second_moment - state.second_moment),
    )


def batch_moments(x: Float[Array, "T B"], valid: Bool[Array, "T B"]) -> tuple[Float[Array, ""], Float[Array, ""]]:
    """Mean and mean square where valid, in one sum: with several processes that is one message."""
    weight = valid.astype(x.dtype)
    first, second, count = jnp.sum(
        jnp.stack([jnp.where(valid, x, 0.0), jnp.where(valid, jnp.square(x), 0.0), weight]), (1, 2)
    )
    return first / count, second / count


def pop(head: MLP, old: PopArt, new: PopArt) -> MLP:
    """W' = W σ/σ',  b' = (σ b + μ − μ')/σ' for every output: unnormalised outputs are unchanged."""
    last = head.layers[-1]
    weight = last.weight * jnp.broadcast_to(old.scale / new.scale, last.weight.shape)
    bias = (old.scale * last.bias + old.mean - new.mean) / new.scale
    return eqx.tree_at(lambda mlp: (mlp.layers[-1].weight, mlp.layers[-1].bias), head, (weight, bias))

"""Policy distributions: categorical for discrete actions, Gaussian for action vectors."""

import math
from collections.abc import Callable
from typing import NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int, PRNGKeyArray, Shaped

from curiax.types import EnvSpec

SMALLEST_DEVIATION = 1e-3
HARD = 1e6  # factor of logits, or of −1 as the raw deviation, of a deterministic policy


class Terms(NamedTuple):
    """What V-MPO needs of a policy, for actions that the acting policy took."""

    log_prob: Float[Array, "*batch"]
    entropy: Float[Array, "*batch"]
    kls: dict[str, Float[Array, "*batch"]]  # parts of KL(π_acting ‖ π), by the name of the multiplier of each


class Distribution(NamedTuple):
    """A family of policies. Random numbers are drawn beforehand, for all steps of a rollout at once."""

    num_outputs: Callable[[int], int]  # number of actions or coordinates -> outputs of the head
    draw: Callable[[PRNGKeyArray, tuple[int, ...]], Array]  # random numbers, one per action or coordinate
    sample: Callable[[Array, Array], Array]  # outputs, random numbers -> action
    terms: Callable[[Array, Array, Array], Terms]  # outputs, outputs of the acting policy, action -> terms
    multipliers: tuple[str, ...]  # the names in Terms.kls
    harden: Callable[[Array], Array]  # outputs of the head -> those of the deterministic policy


def distribution_for(spec: EnvSpec) -> Distribution:
    return CATEGORICAL if spec.action_parts is None else GAUSSIAN


def distribution_of(action: Shaped[Array, "..."]) -> Distribution:
    """The same, from the dtype of actions: integers, or vectors of floats."""
    return CATEGORICAL if jnp.issubdtype(action.dtype, jnp.integer) else GAUSSIAN


def no_action(spec: EnvSpec, batch_size: int) -> Shaped[Array, "B *action"]:
    """The placeholder for the action before the first."""
    if spec.action_parts is None:
        return jnp.zeros(batch_size, jnp.int32)
    return jnp.zeros((batch_size, spec.num_actions))


@jax.jit
def entropy_of(logits: Float[Array, "*batch A"], action: Shaped[Array, "..."]) -> Float[Array, "*batch"]:
    """Entropy of a policy, in nats."""
    return distribution_of(action).terms(logits, logits, action).entropy


def sample(logits: Float[Array, "*batch A"], gumbel: Float[Array, "*batch A"]) -> Int[Array, "*batch"]:
    """A sample of softmax(logits), from Gumbel noise."""
    return jnp.argmax(logits + gumbel, axis=-1).astype(jnp.int32)


def categorical_terms(
    logits: Float[Array, "*batch A"], acting: Float[Array, "*batch A"], action: Int[Array, "*batch"]
) -> Terms:
    log_policy = jax.nn.log_softmax(logits)
    log_acting = jax.nn.log_softmax(acting)
    kl = jnp.sum(jnp.exp(log_acting) * (log_acting - log_policy), axis=-1)
    log_prob = jnp.take_along_axis(log_policy, action[..., None], axis=-1)[..., 0]
    entropy = -jnp.sum(jnp.exp(log_policy) * log_policy, axis=-1)
    return Terms(log_prob, entropy, {"alpha": kl})


def mean_and_deviation(outputs: Float[Array, "*batch D2"]) -> tuple[Float[Array, "*batch D"], Float[Array, "*batch D"]]:
    """μ and σ of each coordinate; coordinates are independent."""
    mean, raw = jnp.split(outputs, 2, axis=-1)
    return mean, jax.nn.softplus(raw) + SMALLEST_DEVIATION


def gaussian_sample(outputs: Float[Array, "*batch D2"], normal: Float[Array, "*batch D"]) -> Float[Array, "*batch D"]:
    mean, deviation = mean_and_deviation(outputs)
    return mean + deviation * normal


def gaussian_terms(
    outputs: Float[Array, "*batch D2"], acting: Float[Array, "*batch D2"], action: Float[Array, "*batch D"]
) -> Terms:
    """The KL has two parts, for a change of the mean alone and of the covariance alone (Song et al., 2019):

    KL_μ = ½ (μ − μ_a)ᵀ Σ_a⁻¹ (μ − μ_a),   KL_Σ = ½ [tr(Σ⁻¹ Σ_a) − d + log(|Σ| / |Σ_a|)].
    """
    mean, deviation = mean_and_deviation(outputs)
    acting_mean, acting_deviation = mean_and_deviation(acting)
    ratio = acting_deviation / deviation
    log_prob = jnp.sum(jax.scipy.stats.norm.logpdf(action, mean, deviation), axis=-1)
    entropy = jnp.sum(jnp.log(deviation) + 0.5 * math.log(2 * math.pi * math.e), axis=-1)
    kl_mean = 0.5 * jnp.sum(jnp.square((mean - acting_mean) / acting_deviation), axis=-1)
    kl_covariance = jnp.sum(0.5 * jnp.square(ratio) - 0.5 - jnp.log(ratio), axis=-1)
    return Terms(log_prob, entropy, {"alpha_mean": kl_mean, "alpha_covariance": kl_covariance})


def hard_logits(logits: Float[Array, "*batch A"]) -> Float[Array, "*batch A"]:
    """Logits of the most probable action; of several, each as often."""
    return HARD * logits


def hard_gaussian(outputs: Float[Array, "*batch D2"]) -> Float[Array, "*batch D2"]:
    """Outputs of the same mean with the smallest deviation."""
    mean = jnp.split(outputs, 2, axis=-1)[0]
    return jnp.concatenate([mean, jnp.full_like(mean, -HARD)], axis=-1)


CATEGORICAL = Distribution(
    num_outputs=lambda num_actions: num_actions,
    draw=jax.random.gumbel,
    sample=sample,
    terms=categorical_terms,
    multipliers=("alpha",),
    harden=hard_logits,
)
GAUSSIAN = Distribution(
    num_outputs=lambda num_coordinates: 2 * num_coordinates,
    draw=jax.random.normal,
    sample=gaussian_sample,
    terms=gaussian_terms,
    multipliers=("alpha_mean", "alpha_covariance"),
    harden=hard_gaussian,
)

"""E-values (Choshen et al., 2018): visit counters that see ahead."""

import math

import equinox as eqx
import jax
import jax.numpy as jnp
import optax
from jaxtyping import Array, Bool, Float, PRNGKeyArray, Shaped

from curiax.agent.networks import MLP, concatenate
from curiax.agent.policy import make_features
from curiax.config import Config
from curiax.curiosity.base import Curiosity, shift, stay
from curiax.curiosity.experience import current
from curiax.types import CuriosityOutput, EnvSpec, Experience, Loss, Params, State

DISCOUNT = 0.99  # γ_E; 0 counts visits of the action itself, not of where it leads
RATE = 0.01  # α_E: how far one visit takes an E-value; a pair that is paid for counts as visited at least once


def dora(config: Config, spec: EnvSpec) -> Curiosity:
    """DORA: E(x, a) starts near 1 and learns by SARSA that every reward is zero. Each visit takes E further from 1.

    E = sigmoid(ℓ), drawn towards sg γ_E E(x_{t+1}, a_{t+1}) by cross-entropy, whose gradient in ℓ is E − γ_E E': in a
    table, a step η is SARSA's E ← (1 − α) E + α γ_E E' with α = η E (1 − E). Squared error has the same optimum, but no
    gradient near E = 1. Paid 1/√(−ln E(x_t, a_t)). The target is deterministic. The head has an output for every
    action, or reads an action that is a vector.
    """
    network, discount, rate = config.network, DISCOUNT, RATE

    def init(key: PRNGKeyArray, encoder: Params) -> tuple[Params, Params, State]:
        key_encoder, key_head = jax.random.split(key)
        sizes = (0, spec.num_actions) if spec.action_parts is None else (spec.num_actions, 1)
        head = MLP(network.embedding + sizes[0], config.world.hidden, sizes[1], key_head)
        silent = jax.tree.map(jnp.zeros_like, head.layers[-1])
        head = eqx.tree_at(lambda head: head.layers[-1], head, silent)
        return {"encoder": make_features(network, spec, key_encoder), "head": head}, (), ()

    def score(
        params: Params, critic: Params, targets: State, experience: Experience, key: PRNGKeyArray
    ) -> CuriosityOutput:
        valid = experience.valid
        features = params["encoder"](current(experience))
        logit = evalue_logit(spec, params["head"], features, experience.action) + first_logit(rate)
        value = jax.lax.stop_gradient(jax.nn.sigmoid(logit))
        target, known = sarsa_target(value, valid, discount, experience.ended)
        surprise = minus_log_evalue(jax.lax.stop_gradient(logit), rate)
        return CuriosityOutput(
            losses={"evalue": Loss(optax.sigmoid_binary_cross_entropy(logit, target), known)},
            error=jnp.where(valid, jax.lax.rsqrt(surprise), 0.0),
            metrics={
                "evalue": jnp.mean(value, where=valid),
                "visits": jnp.mean(counter(surprise, rate), where=valid),
            },
        )

    return Curiosity(init, score, stay)


def first_logit(rate: float) -> float:
    """ℓ of E = 1 − α_E, the E-value after one visit: 1 itself is out of a sigmoid's reach."""
    return math.log((1 - rate) / rate)


def evalue_logit(
    spec: EnvSpec, head: MLP, features: Float[Array, "T B d"], action: Shaped[Array, "T B *action"]
) -> Float[Array, "T B"]:
    if spec.action_parts is None:
        return jnp.take_along_axis(head(features), action[..., None], axis=-1)[..., 0]
    return head(concatenate(features, action))[..., 0]


def sarsa_target(
    value: Float[Array, "T B"],
    valid: Bool[Array, "T B"],
    discount: float,
    ended: Bool[Array, "T B"] | None = None,
) -> tuple[Float[Array, "T B"], Bool[Array, "T B"]]:
    """γ E(x_{t+1}, a_{t+1}), zero at an episode's end of either kind, and where it is known.

    The last step of a sequence has no known next action, and trains nothing, unless it is known to end an episode.
    """
    following, goes_on = shift(value, 1), shift(valid, 1)
    known = valid & (jnp.arange(value.shape[0]) < value.shape[0] - 1)[:, None]
    if ended is not None:
        goes_on, known = goes_on & ~ended, known | (valid & ended)
    return discount * jnp.where(goes_on, following, 0.0), known


def minus_log_evalue(logit: Float[Array, "*any"], rate: float) -> Float[Array, "*any"]:
    """−ln E, E at most 1 − α_E: a pair that is being paid for has been visited once at least."""
    return jnp.maximum(jax.nn.softplus(-logit), -math.log1p(-rate))


def counter(surprise: Float[Array, "*any"], rate: float) -> Float[Array, "*any"]:
    """Generalised visits, ln E / ln(1 − α_E), from −ln E."""
    return surprise / -math.log1p(-rate)

"""DORA (Choshen et al., 2018): E-values, generalised visit counters."""

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

DISCOUNT = 0.99  # γ_E; with 0, E counts visits of (x, a) itself, not of what follows
RATE = 0.01  # α_E: step of an E-value per visit


def dora(config: Config, spec: EnvSpec) -> Curiosity:
    """E(x, a) starts near 1 and is trained by SARSA with zero rewards, so each visit lowers it. Reward: 1/√(−ln E).

    E = sigmoid(ℓ) is trained by cross-entropy towards sg γ_E E(x_{t+1}, a_{t+1}), with gradient E − γ_E E' in ℓ: in a
    table, a step η is SARSA's E ← (1 − α) E + α γ_E E' with α = η E (1 − E). Squared error has the same optimum, but no
    gradient near E = 1. The head has one output per action, or takes an action vector as input.
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
    """ℓ of E = 1 − α_E, the E-value after one visit: a sigmoid cannot reach 1."""
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
    """γ_E E(x_{t+1}, a_{t+1}), zero where an episode terminates or truncates; and a mask of where it is known.

    The next action of a sequence's last step is unknown, unless that step ends an episode.
    """
    following, goes_on = shift(value, 1), shift(valid, 1)
    known = valid & (jnp.arange(value.shape[0]) < value.shape[0] - 1)[:, None]
    if ended is not None:
        goes_on, known = goes_on & ~ended, known | (valid & ended)
    return discount * jnp.where(goes_on, following, 0.0), known


def minus_log_evalue(logit: Float[Array, "*any"], rate: float) -> Float[Array, "*any"]:
    """−ln E, with E at most 1 − α_E: a pair that is scored has been visited at least once."""
    return jnp.maximum(jax.nn.softplus(-logit), -math.log1p(-rate))


def counter(surprise: Float[Array, "*any"], rate: float) -> Float[Array, "*any"]:
    """The generalised visit count ln E / ln(1 − α_E), from −ln E."""
    return surprise / -math.log1p(-rate)

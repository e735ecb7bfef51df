"""E-values (Choshen et al., 2018): visit counters that see ahead."""

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, PRNGKeyArray

from curiax.agent.networks import MLP
from curiax.agent.policy import make_encoder
from curiax.config import Config
from curiax.curiosity.base import Curiosity, shift, stay
from curiax.types import CuriosityOutput, EnvSpec, Experience, Masked, Params, State

SMALLEST = 1e-6  # of the E-values in a logarithm


def dora(config: Config, spec: EnvSpec) -> Curiosity:
    """DORA: E(x, a) starts at 1 and learns by SARSA that every reward is zero. Each visit takes E further from 1.

    L = ½ (E(x_t, a_t) − sg γ_E E(x_{t+1}, a_{t+1}))²,  paid 1/√(−ln E(x_t, a_t)). The target is deterministic.
    With a table, a step of size α_E is E ← (1 − α_E) E + α_E γ_E E', and ln E / ln(1 − α_E) counts visits if γ_E = 0.
    """
    network, method = config.network, config.method

    def init(key: PRNGKeyArray, encoder: Params) -> tuple[Params, Params, State]:
        key_encoder, key_head = jax.random.split(key)
        head = MLP(network.embedding, config.world.hidden, spec.num_actions, key_head)
        silent = jax.tree.map(jnp.zeros_like, head.layers[-1])
        head = eqx.tree_at(lambda head: head.layers[-1], head, silent)
        return {"encoder": make_encoder(network, spec, key_encoder), "head": head}, (), ()

    def score(
        params: Params, critic: Params, targets: State, experience: Experience, key: PRNGKeyArray
    ) -> CuriosityOutput:
        valid = experience.valid
        values = 1 + params["head"](params["encoder"](experience.obs[:-1]))
        value = jnp.take_along_axis(values, experience.action[..., None], axis=-1)[..., 0]
        fixed = jax.lax.stop_gradient(value)
        target, known = sarsa_target(fixed, valid, method.dora_discount)
        return CuriosityOutput(
            losses={"evalue": Masked(jnp.square(value - target) / 2, known)},
            error=jnp.where(valid, bonus(fixed, method.dora_rate), 0.0),
            metrics={
                "evalue": jnp.mean(value, where=valid),
                "visits": jnp.mean(counter(fixed, method.dora_rate), where=valid),
            },
        )

    return Curiosity(init, score, stay)


def sarsa_target(
    value: Float[Array, "T B"], valid: Bool[Array, "T B"], discount: float
) -> tuple[Float[Array, "T B"], Bool[Array, "T B"]]:
    """γ E(x_{t+1}, a_{t+1}), zero at an episode's end of either kind, and where it is known.

    The last step of a sequence has no known next action, and trains nothing.
    """
    following, goes_on = shift(value, 1), shift(valid, 1)
    known = valid & (jnp.arange(value.shape[0]) < value.shape[0] - 1)[:, None]
    return discount * jnp.where(goes_on, jnp.clip(following, 0.0, 1.0), 0.0), known


def surprise(value: Float[Array, "*any"], rate: float) -> Float[Array, "*any"]:
    """−ln E, E taken to be at most 1 − α_E: a pair that is being paid for has been visited once at least."""
    return -jnp.log(jnp.clip(value, SMALLEST, 1 - rate))


def counter(value: Float[Array, "*any"], rate: float) -> Float[Array, "*any"]:
    """Generalised visits, ln E / ln(1 − α_E)."""
    return surprise(value, rate) / -jnp.log1p(-rate)


def bonus(value: Float[Array, "*any"], rate: float) -> Float[Array, "*any"]:
    """1/√(−ln E)."""
    return jax.lax.rsqrt(surprise(value, rate))

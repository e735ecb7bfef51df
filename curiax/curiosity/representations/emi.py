"""Embeddings of states and actions with linear dynamics and high mutual information (Kim et al., 2019)."""

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, PRNGKeyArray, Shaped

from curiax.agent.networks import MLP, concatenate, embed_action
from curiax.agent.policy import make_features
from curiax.config import Config
from curiax.curiosity.base import (
    Curiosity,
    Representation,
    Represented,
    belief_sizes,
    from_beliefs,
    squared_distance,
    stay,
)
from curiax.curiosity.experience import current, ends, observations
from curiax.types import CuriosityOutput, EnvSpec, Experience, Loss, Params, State

# Weights of the losses, the authors' for Atari.
PENALTY = 100.0  # of ‖S‖², the nonlinear part of the dynamics
INFORMATION = 0.1  # of the mutual information
PRIOR = 0.5  # of the KL from the action embeddings to N(0, I)


def linear_dynamics(config: Config, spec: EnvSpec) -> Representation:
    """The target is EMI's embedding φ(o_{t+1})."""

    def represent(params: Params, targets: State, experience: Experience) -> Represented:
        phi_next, losses, metrics = embed(spec, params, experience)
        return from_beliefs(experience, phi_next, losses, metrics)

    def init(key: PRNGKeyArray, encoder: Params) -> tuple[Params, State]:
        return emi_init(config, spec, key), ()

    sizes = belief_sizes(config.network, config.network.embedding)
    return Representation(sizes, squared_distance, init, represent, stay, trains_beliefs=True)


def emi(config: Config, spec: EnvSpec) -> Curiosity:
    """EMI with its own reward, the residual of the linear dynamics, ‖φ' − φ − ψ − S‖²."""

    def init(key: PRNGKeyArray, encoder: Params) -> tuple[Params, Params, State]:
        return emi_init(config, spec, key), (), ()

    def score(
        params: Params, critic: Params, targets: State, experience: Experience, key: PRNGKeyArray
    ) -> CuriosityOutput:
        _, losses, metrics = embed(spec, params, experience)
        residual = jax.lax.stop_gradient(losses["dynamics"].value)
        return CuriosityOutput(losses, jnp.where(experience.valid, residual, 0.0), metrics)

    return Curiosity(init, score, stay)


def emi_init(config: Config, spec: EnvSpec, key: PRNGKeyArray) -> Params:
    network, hidden = config.network, config.world.hidden
    size = network.embedding
    key_encoder, key_action, key_seen, key_error, key_next, key_act = jax.random.split(key, 6)
    return {
        "encoder": make_features(network, spec, key_encoder),
        "action": jax.random.normal(key_action, (spec.num_actions, size)),
        "error_encoder": make_features(network, spec, key_seen),
        "error": MLP(size + spec.num_actions, hidden, size, key_error),
        "next_statistics": MLP(3 * size, hidden, 1, key_next),
        "action_statistics": MLP(3 * size, hidden, 1, key_act),
    }


def embed(
    spec: EnvSpec, params: Params, experience: Experience
) -> tuple[Float[Array, "T B d"], dict[str, Loss], dict[str, Array]]:
    """EMI (Kim et al., 2019): φ(s), ψ(a) with φ' = φ + ψ(a) + S(s, a), S small. Returns φ', losses and metrics.

    dynamics: ‖φ' − φ − ψ − S‖² trains φ, ψ, S.   error_penalty: ‖S‖² trains S.   prior: KL(ψ ‖ N(0, I)) trains ψ.
    information: lower bounds of I([φ, ψ]; φ') and I([φ, φ']; ψ), raised by φ, ψ and the statistics networks.
    Norms and KL are means over coordinates.
    """
    valid = experience.valid
    phi, phi_next = ends(experience, params["encoder"](observations(experience)))
    psi = embed_action(params["action"], experience.action)
    taken = experience.action
    if spec.action_parts is None:
        taken = jax.nn.one_hot(taken, spec.num_actions)
    error = params["error"](concatenate(params["error_encoder"](current(experience)), taken))
    residual = squared_distance(phi_next, phi + psi + error)

    joint = concatenate(phi, psi, phi_next)
    other_next, other_action = concatenate(phi, psi, stranger(phi_next)), concatenate(phi, stranger(psi), phi_next)
    about_next, about_action = params["next_statistics"], params["action_statistics"]
    information = jsd_bound(about_next(joint), about_next(other_next))
    information += jsd_bound(about_action(joint), about_action(other_action))
    losses = {
        "dynamics": Loss(residual, valid),
        "error_penalty": Loss(jnp.mean(jnp.square(error), axis=-1), valid, PENALTY),
        "information": Loss(-information[..., 0], valid & stranger(valid), INFORMATION),
        "prior": Loss(kl_to_normal(psi, valid), jnp.array(True), PRIOR),
    }
    return phi_next, losses, {"residual_error": jnp.mean(residual, where=valid)}


def stranger(x: Shaped[Array, "T B *any"]) -> Shaped[Array, "T B *any"]:
    """x of another trajectory at another time: a sample of the marginal distribution."""
    return jnp.roll(x, (x.shape[0] // 2, 1), axis=(0, 1))


def jsd_bound(joint: Float[Array, "*batch"], marginal: Float[Array, "*batch"]) -> Float[Array, "*batch"]:
    """−softplus(−T) − softplus(T̃) + log 4: Jensen–Shannon bound of mutual information (Nowozin et al., 2016).

    T is the statistics network's output for joint samples, T̃ for marginal ones. Zero if it cannot tell them apart.
    """
    return -jax.nn.softplus(-joint) - jax.nn.softplus(marginal) + jnp.log(4.0)


def kl_to_normal(x: Float[Array, "T B d"], valid: Bool[Array, "T B"]) -> Float[Array, ""]:
    """KL(N(m, v) ‖ N(0, 1)) = (v + m² − 1 − log v)/2, m and v the batch's, averaged over coordinates.

    Coordinates are treated separately: with few discrete actions the covariance is singular.
    """
    mask = valid[..., None]
    mean = jnp.mean(x, axis=(0, 1), where=mask)
    variance = jnp.var(x, axis=(0, 1), where=mask)
    # If only one action was taken, the variance is zero: keep its logarithm finite.
    return jnp.mean(variance + jnp.square(mean) - 1 - jnp.log(variance + 1e-6)) / 2

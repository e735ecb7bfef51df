"""Inverse-dynamics features (Pathak et al., 2017)."""

import jax
import jax.numpy as jnp
import numpy as np
import optax
from jaxtyping import Array, Float, PRNGKeyArray, Shaped

from curiax.agent.networks import MLP, concatenate, layer_normalise
from curiax.agent.policy import make_features
from curiax.config import Config
from curiax.curiosity.base import (
    Representation,
    Represented,
    belief_sizes,
    euclidean_distance,
    from_beliefs,
    squared_distance,
    stay,
)
from curiax.curiosity.experience import ends, observations
from curiax.types import EnvSpec, Experience, Loss, Params, State


def inverse_dynamics(config: Config, spec: EnvSpec) -> Representation:
    """ICM (Pathak et al., 2017): the target is φ(o_{t+1}), features that predict the action taken.

    Only L_inv = −log p(a_t | φ_t, φ_{t+1}) trains φ. The error is ‖φ − φ̂‖², as in the paper: its mean over coordinates
    would be too small beside the losses of policy and value to train the beliefs that predict φ.
    """
    network = config.network

    def init(key: PRNGKeyArray, encoder: Params) -> tuple[Params, State]:
        key_encoder, key_inverse = jax.random.split(key)
        return {
            "encoder": make_features(network, spec, key_encoder),
            "inverse": MLP(2 * network.embedding, config.world.hidden, spec.num_actions, key_inverse),
        }, ()

    def represent(params: Params, targets: State, experience: Experience) -> Represented:
        features = params["encoder"](observations(experience))
        start, end = ends(experience, layer_normalise(features) if network.feature_norm else features)
        output = params["inverse"](concatenate(start, end))
        correct = told(spec, output, experience.action)
        losses = {"inverse": Loss(inverse_loss(spec, output, experience.action), experience.valid)}
        metrics = {"inverse_accuracy": jnp.mean(correct, where=experience.valid)}
        return from_beliefs(experience, end, losses, metrics)

    sizes = belief_sizes(network, network.embedding)
    return Representation(sizes, euclidean_distance, init, represent, stay, trains_beliefs=True)


def inverse_loss(
    spec: EnvSpec, output: Float[Array, "T B n"], action: Shaped[Array, "T B *action"]
) -> Float[Array, "T B"]:
    """−log p(a) of a discrete action, summed over the parts of a MultiDiscrete one. For real actions the mean squared
    error, which is −log p of a Gaussian with fixed variance, up to constants."""
    if spec.action_parts is None:
        return optax.softmax_cross_entropy_with_integer_labels(output, action)
    if not spec.action_parts:
        return squared_distance(action, output)
    parts = zip(split_parts(spec.action_parts, output), split_parts(spec.action_parts, action), strict=True)
    return jnp.sum(jnp.stack([optax.softmax_cross_entropy(logits, taken) for logits, taken in parts]), axis=0)


def told(spec: EnvSpec, output: Float[Array, "T B n"], action: Shaped[Array, "T B *action"]) -> Float[Array, "T B"]:
    """1 where the action is predicted, 0 where it is not. For vectors the share of parts that are, or of real
    coordinates whose sign is."""
    if spec.action_parts is None:
        return (jnp.argmax(output, axis=-1) == action).astype(jnp.float32)
    if not spec.action_parts:
        return jnp.mean(((output > 0) == (action > 0)).astype(jnp.float32), axis=-1)
    parts = zip(split_parts(spec.action_parts, output), split_parts(spec.action_parts, action), strict=True)
    right = jnp.stack([jnp.argmax(logits, axis=-1) == jnp.argmax(taken, axis=-1) for logits, taken in parts])
    return jnp.mean(right.astype(jnp.float32), axis=0)


def split_parts(parts: tuple[int, ...], x: Float[Array, "T B n"]) -> list[Array]:
    return jnp.split(x, np.cumsum(parts)[:-1], axis=-1)

"""Inverse-dynamics features (Pathak et al., 2017)."""

import jax
import jax.numpy as jnp
import optax
from jaxtyping import PRNGKeyArray

from curiax.agent.networks import MLP, concatenate
from curiax.agent.policy import make_encoder
from curiax.config import Config
from curiax.curiosity.base import Representation, Represented, Sizes, squared_distance, stay
from curiax.types import EnvSpec, Experience, Masked, Params, State


def inverse_dynamics(config: Config, spec: EnvSpec) -> Representation:
    """ICM (Pathak et al., 2017): features φ that tell which action was taken.

    L_inv = −log p(a_t | φ_t, φ_{t+1}) alone trains φ: the forward model's input and target are stop-gradient.
    """
    network = config.network

    def init(key: PRNGKeyArray, encoder: Params) -> tuple[Params, State]:
        key_encoder, key_inverse, key_action = jax.random.split(key, 3)
        return {
            "encoder": make_encoder(network, spec, key_encoder),
            "inverse": MLP(2 * network.embedding, config.world.hidden, spec.num_actions, key_inverse),
            "action": jax.random.normal(key_action, (spec.num_actions, network.action_embedding)),
        }, ()

    def represent(params: Params, targets: State, experience: Experience) -> Represented:
        features = params["encoder"](experience.obs)
        logits = params["inverse"](concatenate(features[:-1], features[1:]))
        loss = optax.softmax_cross_entropy_with_integer_labels(logits, experience.action)
        correct = (jnp.argmax(logits, axis=-1) == experience.action).astype(jnp.float32)
        fixed = jax.lax.stop_gradient(features)
        return Represented(
            state=fixed[:-1],
            action=params["action"][experience.action],
            target=fixed[1:],
            losses={"inverse": Masked(loss, experience.valid)},
            metrics={"inverse_accuracy": jnp.mean(correct, where=experience.valid)},
        )

    sizes = Sizes(state=network.embedding, action=network.action_embedding, target=network.embedding)
    return Representation(sizes, squared_distance, init, represent, stay)

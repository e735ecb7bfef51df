"""Bootstrapped embeddings (Guo et al., 2022)."""

import optax
from jaxtyping import Array, PRNGKeyArray

from curiax.config import Config
from curiax.curiosity.base import Representation, Represented, belief_sizes, cosine_distance, from_beliefs
from curiax.curiosity.experience import following
from curiax.types import EnvSpec, Experience, Params, State

DECAY = 0.99  # α: decay of the target encoder per update


def bootstrapped(config: Config, spec: EnvSpec) -> Representation:
    """BYOL (Guo et al., 2022): the target is ω̄(o_{t+1}), the embedding by a target encoder.

    ω̄ ← α ω̄ + (1 − α) ω after every update, ω being the agent's encoder; nothing else changes it.
    """
    network = config.network

    def init(key: PRNGKeyArray, encoder: Params) -> tuple[Params, State]:
        return (), encoder

    def represent(params: Params, targets: State, experience: Experience) -> Represented:
        return from_beliefs(experience, targets(following(experience)))

    def follow(targets: State, encoder: Params, next_obs: Array, valid: Array | None = None) -> State:
        return optax.incremental_update(encoder, targets, 1.0 - DECAY)

    sizes = belief_sizes(network, network.embedding)
    return Representation(sizes, cosine_distance, init, represent, follow, trains_beliefs=True)

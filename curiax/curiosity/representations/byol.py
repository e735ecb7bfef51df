"""Bootstrapped embeddings (Guo et al., 2022)."""

import jax
import optax
from jaxtyping import Array, PRNGKeyArray

from curiax.config import Config
from curiax.curiosity.base import Representation, Represented, Sizes, cosine_distance, following
from curiax.types import EnvSpec, Experience, Params, State


def bootstrapped(config: Config, spec: EnvSpec) -> Representation:
    """BYOL (Guo et al., 2022): x_t is the agent's belief, the target an embedding by a slow copy ω̄ of its encoder.

    ω̄ ← α ω̄ + (1 − α) ω after every update; nothing else trains it.
    """
    network, decay = config.network, config.world.target_decay

    def init(key: PRNGKeyArray, encoder: Params) -> tuple[Params, State]:
        return (), encoder

    def represent(params: Params, targets: State, experience: Experience) -> Represented:
        return Represented(
            state=experience.belief[: experience.valid.shape[0]],
            action=experience.action_embedding,
            target=jax.lax.stop_gradient(targets(following(experience))),
            losses={},
            metrics={},
        )

    def follow(targets: State, encoder: Params, obs: Array) -> State:
        return optax.incremental_update(encoder, targets, 1.0 - decay)

    sizes = Sizes(state=network.belief, action=network.action_embedding, target=network.embedding)
    return Representation(sizes, cosine_distance, init, represent, follow, trains_beliefs=True)

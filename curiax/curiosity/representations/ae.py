"""Features of an autoencoder (Stadie et al., 2016)."""

import jax
from jaxtyping import PRNGKeyArray

from curiax.agent.networks import MLP
from curiax.agent.policy import make_features
from curiax.config import Config
from curiax.curiosity.base import Representation, Represented, belief_sizes, from_beliefs, squared_distance, stay
from curiax.curiosity.experience import ends, observations
from curiax.curiosity.representations.pixel import num_pixels, pixels
from curiax.types import EnvSpec, Experience, Loss, Params, State


def autoencoded(config: Config, spec: EnvSpec) -> Representation:
    """AE (Stadie et al., 2016): the target is φ(o_{t+1}), the code of an autoencoder.

    Only L_ae = distance(o, decoder(φ(o))) trains φ.
    """
    network = config.network

    def init(key: PRNGKeyArray, encoder: Params) -> tuple[Params, State]:
        key_encoder, key_decoder = jax.random.split(key)
        return {
            "encoder": make_features(network, spec, key_encoder),
            "decoder": MLP(network.embedding, config.world.hidden, num_pixels(spec), key_decoder),
        }, ()

    def represent(params: Params, targets: State, experience: Experience) -> Represented:
        obs = observations(experience)
        features = params["encoder"](obs)
        error = squared_distance(pixels(spec, obs), params["decoder"](features))
        error_start, error_end = ends(experience, error)
        # Both ends of a transition, to include the first and last observations of episodes.
        losses = {"autoencoding": Loss((error_start + error_end) / 2, experience.valid)}
        return from_beliefs(experience, ends(experience, features)[1], losses)

    sizes = belief_sizes(network, network.embedding)
    return Representation(sizes, squared_distance, init, represent, stay, trains_beliefs=True)

"""Features of an autoencoder (Stadie et al., 2016)."""

import jax
from jaxtyping import PRNGKeyArray

from curiax.agent.networks import MLP, embed_action
from curiax.agent.policy import make_features
from curiax.config import Config
from curiax.curiosity.base import Representation, Represented, Sizes, ends, observations, squared_distance, stay
from curiax.curiosity.representations.pixel import num_pixels, pixels
from curiax.types import EnvSpec, Experience, Masked, Params, State


def autoencoded(config: Config, spec: EnvSpec) -> Representation:
    """AE (Stadie et al., 2016): features φ from which the observation can be drawn again.

    L_ae = distance(o, decoder(φ(o))) alone trains φ: the forward model's input and target are stop-gradient.
    """
    network = config.network

    def init(key: PRNGKeyArray, encoder: Params) -> tuple[Params, State]:
        key_encoder, key_decoder, key_action = jax.random.split(key, 3)
        return {
            "encoder": make_features(network, spec, key_encoder),
            "decoder": MLP(network.embedding, config.world.hidden, num_pixels(spec), key_decoder),
            "action": jax.random.normal(key_action, (spec.num_actions, network.action_embedding)),
        }, ()

    def represent(params: Params, targets: State, experience: Experience) -> Represented:
        obs = observations(experience)
        features = params["encoder"](obs)
        error = squared_distance(pixels(spec, obs), params["decoder"](features))
        start, end = ends(experience, jax.lax.stop_gradient(features))
        error_start, error_end = ends(experience, error)
        return Represented(
            state=start,
            action=embed_action(params["action"], experience.action),
            target=end,
            # Both ends of a transition, so that no observation is left out, be it the first or the last of an episode.
            losses={"autoencoding": Masked((error_start + error_end) / 2, experience.valid)},
            metrics={},
        )

    sizes = Sizes(state=network.embedding, action=network.action_embedding, target=network.embedding)
    return Representation(sizes, squared_distance, init, represent, stay)

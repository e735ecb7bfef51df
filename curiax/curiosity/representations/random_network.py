"""Features of a fixed random network (Burda et al., 2019, large-scale study)."""

import jax
from jaxtyping import PRNGKeyArray

from curiax.agent.networks import embed_action
from curiax.agent.policy import make_features
from curiax.config import Config
from curiax.curiosity.base import Representation, Represented, Sizes, ends, observations, squared_distance, stay
from curiax.types import EnvSpec, Experience, Params, State


def random_network(config: Config, spec: EnvSpec) -> Representation:
    """x_t = f(o_t), x_{t+1} = f(o_{t+1}); f is drawn once and never trained."""
    network = config.network

    def init(key: PRNGKeyArray, encoder: Params) -> tuple[Params, State]:
        key_network, key_action = jax.random.split(key)
        params = {"action": jax.random.normal(key_action, (spec.num_actions, network.action_embedding))}
        return params, make_features(network, spec, key_network)

    def represent(params: Params, targets: State, experience: Experience) -> Represented:
        features = jax.lax.stop_gradient(targets(observations(experience)))
        start, end = ends(experience, features)
        return Represented(
            state=start,
            action=embed_action(params["action"], experience.action),
            target=end,
            losses={},
            metrics={},
        )

    sizes = Sizes(state=network.embedding, action=network.action_embedding, target=network.embedding)
    return Representation(sizes, squared_distance, init, represent, stay)

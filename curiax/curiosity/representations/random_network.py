"""Features of a fixed random network (Burda et al., 2019, large-scale study)."""

from jaxtyping import PRNGKeyArray

from curiax.agent.policy import make_features
from curiax.config import Config
from curiax.curiosity.base import Representation, Represented, belief_sizes, from_beliefs, squared_distance, stay
from curiax.curiosity.experience import following
from curiax.types import EnvSpec, Experience, Params, State


def random_network(config: Config, spec: EnvSpec) -> Representation:
    """The target is f(o_{t+1}); f is drawn once and never trained."""
    network = config.network

    def init(key: PRNGKeyArray, encoder: Params) -> tuple[Params, State]:
        return (), make_features(network, spec, key)

    def represent(params: Params, targets: State, experience: Experience) -> Represented:
        return from_beliefs(experience, targets(following(experience)))

    sizes = belief_sizes(network, network.embedding)
    return Representation(sizes, squared_distance, init, represent, stay, trains_beliefs=True)

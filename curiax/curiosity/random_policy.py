"""The uniformly random policy, as a method to compare with. There is no curiosity and nothing is learned."""

import jax.numpy as jnp
from jaxtyping import PRNGKeyArray

from curiax.config import Config
from curiax.curiosity.base import Curiosity, stay
from curiax.types import CuriosityOutput, EnvSpec, Experience, Params, State


def random_policy(config: Config, spec: EnvSpec) -> Curiosity:
    """No parameters, losses or rewards. The learner takes the policy from `agent.policy: uniform`."""
    return Curiosity(init, score, stay)


def init(key: PRNGKeyArray, encoder: Params) -> tuple[Params, Params, State]:
    return (), (), ()


def score(params: Params, critic: Params, targets: State, experience: Experience, key: PRNGKeyArray) -> CuriosityOutput:
    return CuriosityOutput(losses={}, error=jnp.zeros(experience.valid.shape), metrics={})

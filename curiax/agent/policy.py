"""The agent: encoder, recurrent belief, policy and value heads."""

from collections.abc import Callable
from dataclasses import replace

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, PRNGKeyArray, Shaped

from curiax.agent.distributions import distribution_for
from curiax.agent.gru import GRU
from curiax.agent.networks import MLP, ImageEncoder, VectorEncoder, concatenate, embed_action
from curiax.config import NetworkConfig
from curiax.envs.spaces import is_image
from curiax.errors import UserError
from curiax.types import Agent, EnvSpec, Params

ACTION_EMBEDDING = 32  # size of the embedding of an action
FIRST_OUTPUT = 0.01  # factor of the heads' initial last layers: the first policy is nearly uniform


def make_encoder(
    config: NetworkConfig, spec: EnvSpec, key: PRNGKeyArray, hidden: tuple[int, ...] = ()
) -> VectorEncoder | ImageEncoder:
    """The encoder ω. `hidden` are further layers, after the convolutions or the config's layers."""
    shape, scale = spec.observation_shape, spec.observation_scale
    if is_image(shape):
        return ImageEncoder(shape, config.channels, hidden, config.embedding, key, scale, config.patch)
    layers = config.encoder_hidden + hidden
    return VectorEncoder(shape, layers, config.embedding, key, scale, config.encoder_gain, config.encoder_bias)


def make_features(
    config: NetworkConfig, spec: EnvSpec, key: PRNGKeyArray, hidden: tuple[int, ...] = ()
) -> VectorEncoder | ImageEncoder:
    """The encoder of a method that does not use the agent's."""
    own = replace(config, encoder_hidden=config.feature_hidden, encoder_gain=1.0, encoder_bias=0.0)
    return make_encoder(own, spec, key, hidden)


def make_agent(config: NetworkConfig, spec: EnvSpec, key: PRNGKeyArray, num_values: int = 1) -> Agent:
    key_encoder, key_action, key_core, key_policy, key_value = jax.random.split(key, 5)
    num_outputs = distribution_for(spec).num_outputs(spec.num_actions)
    return Agent(
        encoder=make_encoder(config, spec, key_encoder),
        action_embedding=jax.random.normal(key_action, (spec.num_actions, ACTION_EMBEDDING)),
        core=GRU(config.embedding + ACTION_EMBEDDING, config.belief, key_core),
        policy=MLP(config.belief, (config.belief,), num_outputs, key_policy, last=FIRST_OUTPUT),
        value=MLP(config.belief, (config.belief,), num_values, key_value, last=FIRST_OUTPUT),
    )


class Greedy(eqx.Module):
    """The head of a deterministic policy, made from that of a stochastic one."""

    policy: Params
    harden: Callable[[Array], Array] = eqx.field(static=True)

    def __call__(self, belief: Float[Array, "*batch d"]) -> Float[Array, "*batch o"]:
        return self.harden(self.policy(belief))


def greedy(agent: Agent, spec: EnvSpec) -> Agent:
    """The agent with the mode of its policy: the most probable action, or the mean action."""
    return agent._replace(policy=Greedy(agent.policy, distribution_for(spec).harden))


class Uniform(eqx.Module):
    """The head of the uniformly random policy."""

    num_actions: int = eqx.field(static=True)

    def __call__(self, belief: Float[Array, "*batch d"]) -> Float[Array, "*batch o"]:
        return jnp.zeros((*belief.shape[:-1], self.num_actions))


def uniform(agent: Agent, spec: EnvSpec) -> Agent:
    """The agent with the uniformly random policy."""
    if spec.action_parts is not None:
        raise UserError(f"--curiosity random-policy: the actions of {spec.name} are vectors, expected numbered ones")
    return agent._replace(policy=Uniform(spec.num_actions))


def embed_previous(
    agent: Agent, previous_action: Shaped[Array, "..."], first: Bool[Array, "*batch"]
) -> Float[Array, "*batch e"]:
    """emb(a_{t−1}), dropped on the first step of an episode."""
    embedded = embed_action(agent.action_embedding, previous_action)
    return jnp.where(first[..., None], 0.0, embedded)


def believe_step(
    agent: Agent,
    belief: Float[Array, "B d"],
    obs: Shaped[Array, "B *obs"],
    previous_action: Shaped[Array, "B *action"],
    first: Bool[Array, " B"],
) -> Float[Array, "B d"]:
    """b_t = GRU_c(b_{t−1}, [ω(o_t), emb(a_{t−1})]), for acting."""
    inputs = concatenate(agent.encoder(obs), embed_previous(agent, previous_action, first))
    return agent.core.step(jnp.where(first[:, None], 0.0, belief), inputs)


def believe(
    agent: Agent,
    belief: Float[Array, "B d"],
    obs: Shaped[Array, "T1 B *obs"],
    previous_action: Shaped[Array, "T1 B *action"],
    first: Bool[Array, "T1 B"],
) -> Float[Array, "T1 B d"]:
    """b_t over a whole trajectory, for learning."""
    inputs = concatenate(agent.encoder(obs), embed_previous(agent, previous_action, first))
    return agent.core.unroll(belief, inputs, first)

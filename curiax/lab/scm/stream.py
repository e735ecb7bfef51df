"""Every method of Table 1 learns from the same stream of a random policy, in a world with known noise.

The lamps of the world are dark at first. They are lit when all else is learned. The reward for them *until they are
learned* is compared with the reward for noise.
"""

import dataclasses
from functools import partial
from typing import NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, PRNGKeyArray

from curiax import curiosity as curiosities
from curiax.agent.policy import make_agent
from curiax.config import Config, NetworkConfig
from curiax.config.presets import BASE
from curiax.curiosity import resolve
from curiax.curiosity.experience import from_stream
from curiax.curiosity.world_model import WorldModel, WorldState, make_optimizer, make_world_model
from curiax.envs import scm
from curiax.training.rollout import actor_init, rollout
from curiax.types import EnvSpec, Trajectory

SEEDS = (0, 1, 2)
CHUNK = 600  # updates per compiled call
NUM_DARK, NUM_LIT = 3, 1  # chunks with dark lamps, then with lit ones
CLASSES = ("ordinary", "noise", "novelty")

# Encoders are linear, so that u is an additive part of every representation. Many trajectories are contrasted with each
# other: with K of them InfoNCE sees at most log K nats of a leak.
CONFIG = dataclasses.replace(
    BASE,
    batch_size=128,
    unroll=2,
    learning_rate=2e-3,
    network=dataclasses.replace(
        BASE.network,
        encoder_hidden=(),
        encoder_speed=0.3,
        feature_hidden=(),
        embedding=32,
        belief=32,
    ),
    world=dataclasses.replace(
        BASE.world,
        hidden=(128, 128),
        critic="separable",
        critic_hidden=(128, 128),
        critic_steps=4,
        generator_speed=0.3,
        contrast_share=1.0,
        latent=4,
        noise=4,
        reconstruction_weight=4.0,
    ),
)
SUMS = ("byol", "icm")  # their errors are sums over coordinates; those of other representations are means
# The fields of a config that the study reads; environment, method and seed are fixed.
READ = (
    *("batch_size", "unroll", "learning_rate", "network.encoder_hidden", "network.embedding", "network.feature_hidden"),
    *("network.encoder_gain", "network.encoder_bias", "network.encoder_speed", "network.belief", "world.*"),
)
# The network of the agent that walks the world: with all weights zero its policy is uniformly random.
IDLE = NetworkConfig(embedding=1, belief=1)


class State(NamedTuple):
    """The state of a method between two updates."""

    world: WorldState
    belief: Float[Array, "B D"]
    key: PRNGKeyArray


class Paid(NamedTuple):
    """Sums of the errors of one update, and numbers of transitions, by class."""

    total: Float[Array, "*updates classes"]
    count: Float[Array, "*updates classes"]


@partial(jax.jit, static_argnums=(0, 1))
def stream(config: Config, num_updates: int, kind: scm.Kind, novelty: Bool[Array, ""], key: PRNGKeyArray) -> Trajectory:
    """Trajectories of the random policy, one per update; the same for every method."""
    env = scm.build("scm", kind, novelty)
    key_start, key_walk = jax.random.split(key)
    idle = jax.tree.map(jnp.zeros_like, make_agent(IDLE, env.spec, key))
    actor = actor_init(env, config.batch_size, IDLE.belief, key_start)
    keys = jax.random.split(key_walk, num_updates)
    return jax.lax.scan(lambda actor, key: rollout(env, idle, actor, config.unroll, key), actor, keys)[1]


def config_of(config: Config, method: str, seed: int) -> Config:
    """The config of one run. Where errors are sums, 1/λ is half as large: noise then weighs about as much in any
    representation."""
    world = config.world
    if resolve(method).split("+")[0] in SUMS:
        world = dataclasses.replace(world, reconstruction_weight=world.reconstruction_weight / 2)
    return dataclasses.replace(config, curiosity=method, seed=seed, world=world)


def model_of(config: Config, spec: EnvSpec) -> WorldModel:
    return make_world_model(curiosities.make(config, spec), make_optimizer(config))


def start(config: Config, spec: EnvSpec, key: PRNGKeyArray) -> State:
    key, key_agent, key_curiosity = jax.random.split(key, 3)
    agent = make_agent(config.network, spec, key_agent)
    belief = jnp.zeros((config.batch_size, config.network.belief))
    return State(model_of(config, spec).init(key_curiosity, agent), belief, key)


@partial(jax.jit, static_argnums=(0, 1))
def learn(config: Config, spec: EnvSpec, state: State, trajectories: Trajectory) -> tuple[State, Paid]:
    """The state after one update per trajectory, and the errors of each."""
    return jax.lax.scan(lambda state, trajectory: update(config, spec, state, trajectory), state, trajectories)


def update(config: Config, spec: EnvSpec, state: State, trajectory: Trajectory) -> tuple[State, Paid]:
    """The state after an update, and the errors before it."""
    key, key_score = jax.random.split(state.key)
    experience_of = partial(from_stream, trajectory=trajectory, belief=state.belief)
    world, learned = model_of(config, spec).step(state.world, experience_of, key_score)
    beliefs = learned.experience.belief
    belief = state.belief if beliefs is None else beliefs[-2]  # the last observation opens the next batch
    return State(world, belief, key), paid(trajectory, learned.output.error)


def classes(trajectory: Trajectory) -> Bool[Array, "classes T B"]:
    """Masks of ordinary transitions, of those with noise, and of those with lit lamps; those with both are in none."""
    noise, novel, valid = trajectory.info["noise"], trajectory.info["novel"], trajectory.valid
    return jnp.stack([valid & ~noise & ~novel, valid & noise & ~novel, valid & novel & ~noise])


def paid(trajectory: Trajectory, error: Float[Array, "T B"]) -> Paid:
    masks = classes(trajectory)
    total = jnp.sum(jnp.where(masks, error[None], 0.0), axis=(1, 2))
    return Paid(total, jnp.sum(masks.astype(jnp.float32), axis=(1, 2)))

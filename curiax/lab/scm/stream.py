"""Table 1 measured: every method on the same stream of a world whose noise is known, with no agent to steer it.

The lamps of the world are dark at first. When all else is learned they are lit, and what a method pays for them *before
they are learned* is set beside what it pays for noise.
"""

import dataclasses
from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int, PRNGKeyArray

from curiax import curiosity as curiosities
from curiax.agent.policy import believe, make_agent
from curiax.config import Config, NetworkConfig
from curiax.config.presets import BASE
from curiax.envs import scm
from curiax.training.learner import descend, loss_weights, make_optimizer, masked_means
from curiax.training.rollout import actor_init, rollout
from curiax.types import EnvSpec, Experience, LearnerParams, Trajectory

SEEDS = (0, 1, 2)
CHUNK = 600  # updates that run as one compiled program
NUM_DARK, NUM_LIT = 2, 1  # chunks with the lamps dark, and then with them lit
CLASSES = ("ordinary", "noise", "novelty")

# The laptop preset, smaller and faster.
CONFIG = dataclasses.replace(
    BASE,
    unroll=8,
    learning_rate=3e-3,
    network=dataclasses.replace(
        BASE.network,
        encoder_hidden=(64,),
        encoder_speed=0.3,
        feature_hidden=(64,),
        embedding=32,
        belief=32,
        action_embedding=8,
    ),
    world=dataclasses.replace(
        BASE.world,
        hidden=(64, 64),
        critic_hidden=(64, 64),
        latent=4,
        noise=4,
    ),
)
# Who walks the world: it believes nothing, and its policy is uniformly random.
IDLE = NetworkConfig(embedding=1, action_embedding=1, belief=1, head_hidden=())


class State(NamedTuple):
    """A curiosity between two updates."""

    params: LearnerParams  # with the agent's encoder and core
    critic: Any
    targets: Any
    optimizer: Any
    belief: Float[Array, "B D"]
    key: PRNGKeyArray
    num_updates: Int[Array, ""]


class Paid(NamedTuple):
    """Errors of one update, by class of transition."""

    total: Float[Array, "*updates classes"]
    count: Float[Array, "*updates classes"]


@partial(jax.jit, static_argnums=(0, 1))
def stream(config: Config, num_updates: int, kind: scm.Kind, novelty: Bool[Array, ""], key: PRNGKeyArray) -> Trajectory:
    """What the random policy meets, one trajectory per update: the same for every method."""
    env = scm.build("scm", kind, novelty)
    key_start, key_walk = jax.random.split(key)
    idle = jax.tree.map(jnp.zeros_like, make_agent(IDLE, env.spec, key))
    actor = actor_init(env, config.batch_size, IDLE.belief, key_start)
    keys = jax.random.split(key_walk, num_updates)
    return jax.lax.scan(lambda actor, key: rollout(env, idle, actor, config.unroll, key), actor, keys)[1]


def start(config: Config, spec: EnvSpec, key: PRNGKeyArray) -> State:
    key, key_agent, key_curiosity = jax.random.split(key, 3)
    agent = make_agent(config.network, spec, key_agent)
    params, critic, targets = curiosities.make(config, spec).init(key_curiosity, agent.encoder)
    everything = LearnerParams(agent, {}, params)
    belief = jnp.zeros((config.batch_size, config.network.belief))
    return State(everything, critic, targets, make_optimizer(config).init(everything), belief, key, jnp.int32(0))


def experience_of(params: LearnerParams, belief: Float[Array, "B D"], trajectory: Trajectory) -> Experience:
    agent = params.agent
    previous = jnp.concatenate([trajectory.previous_action[None], trajectory.action])
    beliefs = believe(agent, belief, trajectory.obs, previous, trajectory.first)
    embedded = agent.action_embedding[trajectory.action]
    return Experience(trajectory.obs, trajectory.action, trajectory.valid, beliefs, embedded)


@partial(jax.jit, static_argnums=(0, 1))
def learn(config: Config, spec: EnvSpec, state: State, trajectories: Trajectory) -> tuple[State, Paid]:
    """As many updates as there are trajectories."""
    return jax.lax.scan(lambda state, trajectory: update(config, spec, state, trajectory), state, trajectories)


def update(config: Config, spec: EnvSpec, state: State, trajectory: Trajectory) -> tuple[State, Paid]:
    """One batch: scored, then learned from, as the learner does it; there are no policy and no value to train."""
    curiosity, weights = curiosities.make(config, spec), loss_weights(config)
    key, key_score = jax.random.split(state.key)

    def loss(params: LearnerParams) -> tuple[Float[Array, ""], tuple]:
        experience = experience_of(params, state.belief, trajectory)
        output = curiosity.score(params.curiosity, state.critic, state.targets, experience, key_score)
        terms = [weights.get(name, 1.0) * mean for name, mean in masked_means(output.losses).items()]
        return jnp.sum(jnp.stack(terms)), (output.error, output.critic, experience.belief)

    grads, (error, critic, belief) = jax.grad(loss, has_aux=True)(state.params)
    params, optimizer = descend(make_optimizer(config), grads, state.optimizer, state.params)
    targets = curiosity.follow(state.targets, params.agent.encoder, trajectory.obs)
    # The last observation comes again, as the first of the next trajectory.
    belief = belief[-2] if curiosity.trains_beliefs else state.belief
    return State(params, critic, targets, optimizer, belief, key, state.num_updates + 1), paid(trajectory, error)


def classes(trajectory: Trajectory) -> Bool[Array, "classes T B"]:
    """Transitions on which nothing is new, only u is, only the lamps are. Those with both are in no class."""
    noise, novel, valid = trajectory.info["noise"], trajectory.info["novel"], trajectory.valid
    return jnp.stack([valid & ~noise & ~novel, valid & noise & ~novel, valid & novel & ~noise])


def paid(trajectory: Trajectory, error: Float[Array, "T B"]) -> Paid:
    masks = classes(trajectory)
    total = jnp.sum(jnp.where(masks, error[None], 0.0), axis=(1, 2))
    return Paid(total, jnp.sum(masks.astype(jnp.float32), axis=(1, 2)))

"""Hindsight information (appendix B): generator, reconstructor and critic on frames of a real game with a noisy strip.

A state is the last four frames, an outcome the next one. The strip along its bottom is drawn anew at every step, from a
distribution that the action decides; the rest is the game's.
"""

import dataclasses
from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import optax
from jaxtyping import Array, Bool, Float, Int, PRNGKeyArray, Shaped, UInt8

from curiax.agent.networks import MLP
from curiax.config import Config
from curiax.config.presets import BASE
from curiax.curiosity.base import Represented, Sizes, squared_distance
from curiax.curiosity.measures.hindsight import hindsight
from curiax.envs import atari
from curiax.envs.base import HostEnvironment, HostStep
from curiax.envs.noise.equations import PATCH
from curiax.training.learner import descend, loss_weights, masked_means
from curiax.types import Agent, LearnerParams

NUM_FRAMES = 4  # of a state
SHRINK = 2  # 84×84 become 42×42, by averages
STRIP = PATCH // SHRINK  # rows of the strip
STILL = 16  # grey levels by which a pixel that hardly changes is reckoned to vary
KEEP = 0.75  # probability that the random policy takes its last action again

CONFIG = dataclasses.replace(
    BASE,
    env="atari/montezuma_revenge",
    curiosity="pixel+hindsight",
    batch_size=128,
    learning_rate=1e-3,
    atari=dataclasses.replace(BASE.atari, noise="patches"),
    network=dataclasses.replace(BASE.network, encoder_hidden=(256,), embedding=256, action_embedding=16),
    world=dataclasses.replace(
        BASE.world,
        hidden=(256, 256),
        critic_hidden=(256, 256),
        latent=16,
        noise=16,
        measure_outcomes=True,
    ),
)


class Amount(NamedTuple):
    """How much is recorded and learned."""

    emulators: int = 64
    held_out: int = 8  # of the emulators: whole episodes that nothing is trained on
    steps: int = 1000  # of each
    updates: int = 2000
    readout_updates: int = 2000


class Recording(NamedTuple):
    """Frames of B streams, one stream's frames B apart, and the transitions that have a whole state before them."""

    frames: UInt8[np.ndarray, "N h w"]
    action: Int[np.ndarray, " N"]  # taken after the frame
    ready: Int[np.ndarray, " n"]  # frames o_t for which o_{t−3} … o_{t+1} are of one episode
    streams: int


class State(NamedTuple):
    """A world model between two updates."""

    params: LearnerParams  # the agent's part is the world model's own encoder and table of actions
    critic: Any
    optimizer: Any
    num_updates: Int[Array, ""]


class Views(NamedTuple):
    """Where frames are looked up, on the device."""

    frames: UInt8[Array, "N p"]
    action: Int[Array, " N"]
    mean: Float[Array, " p"]
    spread: Float[Array, " p"]
    streams: Int[Array, ""]


def record(config: Config, amount: Amount) -> Recording:
    """What a random policy sees; it often takes an action again, or it would stay where it is."""
    game = config.env.removeprefix("atari/")
    env = atari.make(game, amount.emulators, config.atari, config.seed)
    try:
        return follow(env, amount, np.random.default_rng(config.seed))
    finally:
        env.close()


def follow(env: HostEnvironment, amount: Amount, generator: np.random.Generator) -> Recording:
    step, action = env.reset(), np.zeros(amount.emulators, np.int32)
    frames, first, actions = [], [], []
    for _ in range(amount.steps):
        anew = generator.random(amount.emulators) >= KEEP
        drawn = generator.integers(env.spec.num_actions, size=amount.emulators, dtype=np.int32)
        action = np.where(anew, drawn, action)
        keep(step, frames, first)
        actions.append(action)
        step = env.step(action)
    return Recording(np.concatenate(frames), np.concatenate(actions), ready(np.stack(first)), streams=amount.emulators)


def keep(step: HostStep, frames: list[np.ndarray], first: list[np.ndarray]) -> None:
    frames.append(shrink(step.obs))
    first.append(step.first)


def shrink(obs: Shaped[np.ndarray, "B H W"]) -> UInt8[np.ndarray, "B h w"]:
    batch, height, width = obs.shape
    blocks = obs.reshape(batch, height // SHRINK, SHRINK, width // SHRINK, SHRINK)
    return np.round(blocks.mean(axis=(2, 4))).astype(np.uint8)


def ready(first: Bool[np.ndarray, "T B"]) -> Int[np.ndarray, " n"]:
    """Indices t·B + b where t−3 … t+1 are there and no episode begins after t−3."""
    num_steps, streams = first.shape
    inside = num_steps - NUM_FRAMES  # windows of five frames, from their second on
    begins = np.any([first[k : k + inside] for k in range(1, NUM_FRAMES + 1)], axis=0)
    time, stream = np.nonzero(~begins)
    return (time + NUM_FRAMES - 1) * streams + stream


def split(recording: Recording, held_out: int) -> tuple[Int[np.ndarray, " n"], Int[np.ndarray, " m"]]:
    """Transitions of the first streams, to learn from, and of the last ones."""
    known = recording.ready % recording.streams < recording.streams - held_out
    return recording.ready[known], recording.ready[~known]


def views(recording: Recording, known: Int[np.ndarray, " n"]) -> Views:
    flat = recording.frames.reshape(len(recording.frames), -1)
    mean, deviation = flat[known].mean(axis=0, dtype=np.float64), flat[known].std(axis=0, dtype=np.float64)
    spread = np.sqrt(np.square(deviation) + STILL**2)
    mean, spread = (jnp.array(statistic.astype(np.float32)) for statistic in (mean, spread))
    return Views(jnp.array(flat), jnp.array(recording.action), mean, spread, jnp.int32(recording.streams))


def look(views: Views, rows: Int[Array, "*n"]) -> Float[Array, "*n p"]:
    """Frames around their mean, every pixel in units of its own spread: else the strip drowns what the game does."""
    frames = views.frames[rows].astype(jnp.float32)
    return (frames - jnp.broadcast_to(views.mean, frames.shape)) / jnp.broadcast_to(views.spread, frames.shape)


def last_four(views: Views, rows: Int[Array, " n"]) -> Float[Array, "n d"]:
    """o_t and the three changes that led to it: they tell the same as four frames, and motion is plain to see."""
    back = jnp.arange(NUM_FRAMES) * views.streams
    frames = look(views, rows[:, None] - jnp.broadcast_to(back, (len(rows), NUM_FRAMES)))
    changes = frames[:, :-1] - frames[:, 1:]
    return jnp.concatenate([frames[:, :1], changes], axis=1).reshape(len(rows), -1)


def represent(agent: Agent, views: Views, rows: Int[Array, " n"]) -> Represented:
    """x_t is read from four frames. The target is the *change* from o_t to o_{t+1}: given x it tells as much as
    o_{t+1}, and what stays as it was need not be learned pixel by pixel."""
    change = look(views, rows + views.streams) - look(views, rows)
    state, action = agent.encoder(last_four(views, rows)), agent.action_embedding[views.action[rows]]
    return Represented(state[None], action[None], jax.lax.stop_gradient(change)[None], losses={}, metrics={})


def make_optimizer(config: Config, num_updates: int) -> optax.GradientTransformation:
    return optax.flatten(optax.adam(optax.cosine_decay_schedule(config.learning_rate, num_updates)))


@partial(jax.jit, static_argnums=(0, 1, 2, 3))
def start(config: Config, num_actions: int, num_pixels: int, num_updates: int) -> State:
    key_encoder, key_action, key_measure = jax.random.split(jax.random.key(config.seed), 3)
    network = config.network
    encoder = MLP(NUM_FRAMES * num_pixels, network.encoder_hidden, network.embedding, key_encoder)
    table = jax.random.normal(key_action, (num_actions, network.action_embedding))
    sizes = Sizes(network.embedding, network.action_embedding, num_pixels)
    curiosity, critic = hindsight(config).init(key_measure, sizes)
    params = LearnerParams(Agent(encoder, table, (), (), ()), {}, curiosity)
    return State(params, critic, make_optimizer(config, num_updates).init(params), jnp.int32(0))


@partial(jax.jit, static_argnums=(0, 1))
def learn(
    config: Config, num_updates: int, views: Views, state: State, rows: Int[Array, "updates K"], key: PRNGKeyArray
) -> tuple[State, dict[str, Float[Array, " updates"]]]:
    """One update for each row of transitions; `num_updates` in all, over which the learning rate falls to zero."""

    def step(state: State, drawn: tuple[Array, PRNGKeyArray]) -> tuple[State, dict[str, Array]]:
        return update(config, make_optimizer(config, num_updates), views, state, *drawn)

    return jax.lax.scan(step, state, (rows, jax.random.split(key, len(rows))))


def update(
    config: Config,
    optimizer: optax.GradientTransformation,
    views: Views,
    state: State,
    rows: Int[Array, " K"],
    key: PRNGKeyArray,
) -> tuple[State, dict[str, Array]]:
    """The measure *hindsight* on one batch, its losses weighed as in the learner."""
    weights, valid = loss_weights(config), jnp.ones((1, len(rows)), bool)

    def loss(params: LearnerParams) -> tuple[Float[Array, ""], tuple]:
        represented = represent(params.agent, views, rows)
        output = hindsight(config).score(params.curiosity, state.critic, represented, valid, squared_distance, key)
        terms = [weights.get(name, 1.0) * mean for name, mean in masked_means(output.losses).items()]
        return jnp.sum(jnp.stack(terms)), (output.critic, output.metrics)

    grads, (critic, metrics) = jax.grad(loss, has_aux=True)(state.params)
    params, optimizer_state = descend(optimizer, grads, state.optimizer, state.params)
    return State(params, critic, optimizer_state, state.num_updates + 1), metrics

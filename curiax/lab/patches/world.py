"""The world model of appendix B (hindsight information), on frames of an Atari game with a strip of noise.

A state is the last four frames; the outcome is the next frame. The strip at its bottom is sampled at every step from a
distribution that depends on the action. The rest is the game.
"""

import dataclasses
from functools import partial
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import optax
from jaxtyping import Array, Bool, Float, Int, PRNGKeyArray, Shaped, UInt8

from curiax.agent.networks import MLP
from curiax.agent.policy import ACTION_EMBEDDING
from curiax.config import Config
from curiax.config.presets import BASE
from curiax.curiosity.base import Representation, Represented, Sizes, combine, squared_distance, stay
from curiax.curiosity.experience import following
from curiax.curiosity.measures.variants import with_outcomes
from curiax.curiosity.world_model import NO_AGENT, WorldModel, WorldState, make_world_model
from curiax.envs import atari
from curiax.envs.base import HostEnvironment
from curiax.envs.noise.equations import PATCH
from curiax.types import Experience, Params, State

NUM_FRAMES = 4  # of a state
SHRINK = 2  # 84×84 pixels become 42×42, by averaging
STRIP = PATCH // SHRINK  # rows of the strip
STILL = 16  # the smallest standard deviation of a pixel, in grey levels
KEEP = 0.75  # probability that the random policy repeats its action

CONFIG = dataclasses.replace(
    BASE,
    env="atari/montezuma_revenge",
    curiosity="pixel+hindsight",
    batch_size=128,
    learning_rate=1e-3,
    atari=dataclasses.replace(BASE.atari, noise="patches"),
    network=dataclasses.replace(BASE.network, encoder_hidden=(256,), embedding=256),
    world=dataclasses.replace(
        BASE.world,
        hidden=(256, 256),
        critic_hidden=(256, 256),
        latent=16,
        noise=16,
    ),
)


class Amount(NamedTuple):
    """Sizes of the recording and of training."""

    emulators: int = 64
    held_out: int = 8  # emulators whose episodes are not trained on
    steps: int = 1000  # of each emulator
    updates: int = 2000
    readout_updates: int = 2000


class Recording(NamedTuple):
    """Frames of B streams, interleaved: a stream has every B-th frame."""

    frames: UInt8[np.ndarray, "N h w"]
    action: Int[np.ndarray, " N"]  # after the frame
    ready: Int[np.ndarray, " n"]  # indices of o_t for which o_{t−3} … o_{t+1} are in one episode
    streams: int


class Views(NamedTuple):
    """The recording on the device, with the mean and spread of each pixel."""

    frames: UInt8[Array, "N p"]
    action: Int[Array, " N"]
    mean: Float[Array, " p"]
    spread: Float[Array, " p"]
    streams: Int[Array, ""]


def record(config: Config, amount: Amount) -> Recording:
    """Frames of a random policy. It often repeats its action; otherwise it would hardly move."""
    game = config.env.removeprefix("atari/")
    env = atari.make(game, amount.emulators, config.atari, config.seed)
    try:
        return follow(env, amount, np.random.default_rng(config.seed))
    finally:
        env.close()


def follow(env: HostEnvironment, amount: Amount, generator: np.random.Generator) -> Recording:
    """The same for an environment."""
    step, action = env.reset(), np.zeros(amount.emulators, np.int32)
    frames, first, actions = [], [], []
    for _ in range(amount.steps):
        anew = generator.random(amount.emulators) >= KEEP
        drawn = generator.integers(env.spec.num_actions, size=amount.emulators, dtype=np.int32)
        action = np.where(anew, drawn, action)
        frames.append(shrink(step.obs))
        first.append(step.first)
        actions.append(action)
        step = env.step(action)
    return Recording(np.concatenate(frames), np.concatenate(actions), ready(np.stack(first)), streams=amount.emulators)


def shrink(obs: Shaped[np.ndarray, "B H W"]) -> UInt8[np.ndarray, "B h w"]:
    batch, height, width = obs.shape
    blocks = obs.reshape(batch, height // SHRINK, SHRINK, width // SHRINK, SHRINK)
    return np.round(blocks.mean(axis=(2, 4))).astype(np.uint8)


def ready(first: Bool[np.ndarray, "T B"]) -> Int[np.ndarray, " n"]:
    """Indices t·B + b for which t−3 … t+1 exist and no episode begins after t−3."""
    num_steps, streams = first.shape
    inside = num_steps - NUM_FRAMES  # number of windows of five frames
    begins = np.any([first[k : k + inside] for k in range(1, NUM_FRAMES + 1)], axis=0)
    time, stream = np.nonzero(~begins)
    return (time + NUM_FRAMES - 1) * streams + stream


def split(recording: Recording, held_out: int) -> tuple[Int[np.ndarray, " n"], Int[np.ndarray, " m"]]:
    """Transitions of the first streams, for training, and of the last ones, held out."""
    known = recording.ready % recording.streams < recording.streams - held_out
    return recording.ready[known], recording.ready[~known]


def views(recording: Recording, known: Int[np.ndarray, " n"]) -> Views:
    """The recording on the device; mean and spread are of the training transitions."""
    flat = recording.frames.reshape(len(recording.frames), -1)
    mean, deviation = flat[known].mean(axis=0, dtype=np.float64), flat[known].std(axis=0, dtype=np.float64)
    spread = np.sqrt(np.square(deviation) + STILL**2)
    mean, spread = (jnp.array(statistic.astype(np.float32)) for statistic in (mean, spread))
    return Views(jnp.array(flat), jnp.array(recording.action), mean, spread, jnp.int32(recording.streams))


def look(views: Views, rows: Int[Array, "*n"]) -> Float[Array, "*n p"]:
    """Frames with every pixel standardised. Otherwise the errors of the strip would dominate those of the game."""
    frames = views.frames[rows].astype(jnp.float32)
    return (frames - jnp.broadcast_to(views.mean, frames.shape)) / jnp.broadcast_to(views.spread, frames.shape)


def last_four(views: Views, rows: Int[Array, " n"]) -> Float[Array, "n d"]:
    """o_t and the last three changes: the same information as four frames, with the motion explicit."""
    back = jnp.arange(NUM_FRAMES) * views.streams
    frames = look(views, rows[:, None] - jnp.broadcast_to(back, (len(rows), NUM_FRAMES)))
    changes = frames[:, :-1] - frames[:, 1:]
    return jnp.concatenate([frames[:, :1], changes], axis=1).reshape(len(rows), -1)


def experience_of(views: Views, rows: Int[Array, " n"]) -> Experience:
    """Transitions as one time step of a batch. The outcome is the *change* from o_t to o_{t+1}: given x it has the same
    information as o_{t+1}, and pixels that stay the same need not be learned."""
    change = look(views, rows + views.streams) - look(views, rows)
    valid = jnp.ones((1, len(rows)), bool)
    return Experience(last_four(views, rows)[None], views.action[rows][None], valid, next_obs=change[None])


def frames(config: Config, num_actions: int, num_pixels: int) -> Representation:
    """A representation: x_t is an encoding of four frames, trained by the losses of hindsight."""
    network = config.network
    sizes = Sizes(network.embedding, ACTION_EMBEDDING, num_pixels)

    def init(key: PRNGKeyArray, encoder: Params) -> tuple[Params, State]:
        key_encoder, key_action = jax.random.split(key)
        return {
            "encoder": MLP(NUM_FRAMES * num_pixels, network.encoder_hidden, network.embedding, key_encoder),
            "action": jax.random.normal(key_action, (num_actions, ACTION_EMBEDDING)),
        }, ()

    def represent(params: Params, targets: State, experience: Experience) -> Represented:
        state, action = params["encoder"](experience.obs), params["action"][experience.action]
        return Represented(state, action, jax.lax.stop_gradient(following(experience)), losses={}, metrics={})

    return Representation(sizes, squared_distance, init, represent, stay)


def model_of(config: Config, num_actions: int, num_pixels: int, num_updates: int) -> WorldModel:
    """A world model with hindsight. The learning rate falls to zero over `num_updates`."""
    adam = optax.adam(optax.cosine_decay_schedule(config.learning_rate, num_updates))
    curiosity = combine(frames(config, num_actions, num_pixels), with_outcomes(config))
    return make_world_model(curiosity, optax.flatten(adam))


@partial(jax.jit, static_argnums=(0, 1, 2, 3))
def start(config: Config, num_actions: int, num_pixels: int, num_updates: int) -> WorldState:
    return model_of(config, num_actions, num_pixels, num_updates).init(jax.random.key(config.seed), NO_AGENT)


@partial(jax.jit, static_argnums=(0, 1, 2))
def learn(
    config: Config,
    num_actions: int,
    num_updates: int,
    views: Views,
    state: WorldState,
    rows: Int[Array, "updates K"],
    key: PRNGKeyArray,
) -> tuple[WorldState, dict[str, Float[Array, " updates"]]]:
    """The state after one update per row of transitions, and the metrics of each."""
    model = model_of(config, num_actions, views.mean.shape[0], num_updates)

    def step(state: WorldState, drawn: tuple[Array, PRNGKeyArray]) -> tuple[WorldState, dict[str, Array]]:
        rows, key = drawn
        state, learned = model.step(state, lambda _: experience_of(views, rows), key)
        return state, learned.output.metrics

    return jax.lax.scan(step, state, (rows, jax.random.split(key, len(rows))))

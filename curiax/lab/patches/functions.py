"""The five functions of the study: each predicts the next frame from other inputs."""

from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import optax
from jaxtyping import Array, Float, Int, PRNGKeyArray

from curiax.agent.networks import MLP, concatenate
from curiax.config import Config
from curiax.curiosity.measures.hindsight import explain
from curiax.curiosity.world_model import WorldState, descend
from curiax.lab.patches.world import Views, experience_of, frames, look
from curiax.types import LearnerParams

FUNCTIONS = ("identity", "prediction", "reconstruction", "hindsight-only", "hindsight-and-action")


class Readouts(NamedTuple):
    """Functions that are trained after the world model, with z fixed."""

    identity: MLP  # h(x_{t+1})
    hindsight: MLP  # h(z)
    hindsight_action: MLP  # h(z, a)


class Told(NamedTuple):
    """Outputs of the world model for K transitions, in the units of `look`."""

    prediction: Float[Array, "K p"]
    reconstruction: Float[Array, "K p"]
    z: Float[Array, "K Z"]


class Row(NamedTuple):
    """A row of table.csv: mean squared errors, in grey levels out of 256."""

    function: str
    strip_error: float
    rest_error: float


def tell(
    config: Config, num_actions: int, params: LearnerParams, views: Views, rows: Int[Array, " K"], key: PRNGKeyArray
) -> Told:
    """Prediction from (x, a), z from (x, a, o_{t+1}, ε), reconstruction from (x, a, z), as in the measure."""
    own, model = params.curiosity
    experience, before = experience_of(views, rows), look(views, rows)
    represented = frames(config, num_actions, views.mean.shape[0]).represent(own, (), experience)
    loop, z, output = explain(config.world, model, represented, experience.valid, key)
    return Told(before + model["predictor"](loop.after)[0, 0], before + output[0, 0], z[0, 0])


@partial(jax.jit, static_argnums=(0, 1))
def tell_all(
    config: Config,
    num_actions: int,
    params: LearnerParams,
    views: Views,
    rows: Int[Array, "batches K"],
    key: PRNGKeyArray,
) -> Told:
    """The same for many batches. Their size is that of training: some statistics of z are over the batch."""
    keys = jax.random.split(key, len(rows))
    told = jax.lax.map(lambda some: tell(config, num_actions, params, views, *some), (rows, keys))
    return jax.tree.map(lambda x: x.reshape(-1, x.shape[-1]), told)


def batches(rows: Int[np.ndarray, " n"], size: int) -> Int[Array, "batches K"]:
    """Rows in full batches; the remainder is dropped."""
    return jnp.array(rows[: len(rows) // size * size].reshape(-1, size))


def make_readouts(config: Config, num_actions: int, num_pixels: int, key: PRNGKeyArray) -> Readouts:
    world = config.world
    sizes = (num_pixels, world.latent, world.latent + num_actions)
    made = zip(sizes, jax.random.split(key, len(sizes)), strict=True)
    return Readouts(*(MLP(size, world.hidden, num_pixels, key, world.layer_norm) for size, key in made))


def read(
    readouts: Readouts, target: Float[Array, "K p"], z: Float[Array, "K Z"], action: Float[Array, "K A"]
) -> tuple[Float[Array, "K p"], Float[Array, "K p"], Float[Array, "K p"]]:
    """The outputs of the readouts, in the order of `Readouts`."""
    return readouts.identity(target), readouts.hindsight(z), readouts.hindsight_action(concatenate(z, action))


@partial(jax.jit, static_argnums=(0, 1, 2))
def fit_readouts(
    config: Config,
    num_actions: int,
    num_updates: int,
    views: Views,
    rows: Int[Array, " n"],
    z: Float[Array, "n Z"],
    key: PRNGKeyArray,
) -> Readouts:
    """Trained readouts. Each minimises its squared error over the whole frame; z is constant."""
    key_init, key_rows = jax.random.split(key)
    readouts = make_readouts(config, num_actions, views.mean.shape[0], key_init)
    optimizer = optax.flatten(optax.adam(optax.cosine_decay_schedule(config.learning_rate, num_updates)))

    def loss(readouts: Readouts, some: Int[Array, " K"]) -> Float[Array, ""]:
        target = look(views, rows[some] + views.streams)
        action = jax.nn.one_hot(views.action[rows[some]], num_actions)
        errors = [jnp.mean(jnp.square(output - target)) for output in read(readouts, target, z[some], action)]
        return jnp.sum(jnp.stack(errors))

    def step(carry: Any, some: Int[Array, " K"]) -> tuple[Any, None]:
        readouts, state = carry
        grads = jax.grad(loss)(readouts, some)
        return descend(optimizer, grads, readouts, state), None

    drawn = jax.random.randint(key_rows, (num_updates, config.batch_size), 0, len(rows))
    began: Any = readouts
    return jax.lax.scan(step, (began, optimizer.init(began)), drawn)[0][0]


@partial(jax.jit, static_argnums=(0, 1))
def outputs(
    config: Config,
    num_actions: int,
    state: WorldState,
    readouts: Readouts,
    views: Views,
    rows: Int[Array, "batches K"],
    key: PRNGKeyArray,
) -> tuple[Float[Array, "functions n p"], Float[Array, "n p"]]:
    """Next frames as the functions predict them, in the order of FUNCTIONS, and the true ones, in grey levels."""
    told, rows = tell_all(config, num_actions, state.params, views, rows, key), rows.reshape(-1)
    target = look(views, rows + views.streams)
    identity, hindsight, hindsight_action = read(
        readouts, target, told.z, jax.nn.one_hot(views.action[rows], num_actions)
    )
    guesses = jnp.stack([identity, told.prediction, told.reconstruction, hindsight, hindsight_action])
    return grey(views, guesses), grey(views, target)


def grey(views: Views, frames: Float[Array, "*n p"]) -> Float[Array, "*n p"]:
    """The inverse of `look`: frames in grey levels."""
    return frames * jnp.broadcast_to(views.spread, frames.shape) + jnp.broadcast_to(views.mean, frames.shape)


def make_rows(
    guesses: Float[np.ndarray, "functions n h w"], target: Float[np.ndarray, "n h w"], strip: int
) -> list[Row]:
    """The table: errors in the strip, which is the last rows of a frame, and in the rest."""
    squares = np.square(guesses - target[None])
    inside, outside = (part.mean(axis=(1, 2, 3)) for part in (squares[:, :, -strip:], squares[:, :, :-strip]))
    return [Row(*row) for row in zip(FUNCTIONS, inside.tolist(), outside.tolist(), strict=True)]

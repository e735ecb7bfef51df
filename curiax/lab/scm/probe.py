"""Probes: how much of (x, a) leaks into z, how much of u z holds, and how much of a representation u is."""

from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import optax
from jaxtyping import Array, Bool, Float, PRNGKeyArray

from curiax.agent.networks import MLP, concatenate
from curiax.config import Config
from curiax.curiosity import resolve
from curiax.curiosity.experience import from_stream
from curiax.curiosity.measures.averaged import critic_of, in_use
from curiax.curiosity.measures.critic import contrastive_value, energies, make_critic
from curiax.curiosity.measures.hindsight import explain
from curiax.curiosity.measures.predict import context_of
from curiax.curiosity.representations import REPRESENTATIONS
from curiax.curiosity.world_model import descend
from curiax.lab.scm.stream import State, classes
from curiax.types import EnvSpec, Params, Trajectory

HIDDEN = (64, 64)
NUM_STEPS, BATCH, RATE = 1500, 128, 1e-3  # to train a probe


class Seen(NamedTuple):
    """N transitions and their hindsight vectors."""

    z: Float[Array, "N Z"]
    target: Float[Array, "N F"]  # the outcome in the representation
    value: Float[Array, " N"]  # L_con by the critic in training
    context: Float[Array, "N C"]  # true x and a
    u: Float[Array, "N U"]
    noise: Bool[Array, " N"]  # transitions of class "noise"
    valid: Bool[Array, " N"]


@partial(jax.jit, static_argnums=(0, 1))
def look(config: Config, spec: EnvSpec, state: State, trajectories: Trajectory) -> Seen:
    """Hindsight vectors of fresh experience, without training."""
    representation, world = REPRESENTATIONS[resolve(config.curiosity).split("+")[0]](config, spec), state.world

    def step(carry: tuple[Array, PRNGKeyArray], trajectory: Trajectory) -> tuple[tuple[Array, PRNGKeyArray], Seen]:
        belief, key = carry
        key, key_noise = jax.random.split(key)
        experience = from_stream(world.params.agent, trajectory, belief)
        own, model = world.params.curiosity
        represented = representation.represent(own, world.targets, experience)
        model = in_use(model, world.critic)
        loop, z, _ = explain(config.world, model, represented, experience.valid, key_noise)
        energy = energies(critic_of(world.critic).params, context_of(loop), z)
        value = contrastive_value(energy, loop.valid, config.world.temperature)
        action = jax.nn.one_hot(trajectory.action, spec.num_actions)
        context = concatenate(trajectory.obs[:-1], action)
        outcome = z[0], loop.target[0], value[0]
        seen = Seen(*outcome, context, trajectory.info["u"], classes(trajectory)[1], trajectory.valid)
        return (experience.belief[-2], key), seen

    _, seen = jax.lax.scan(step, (state.belief, state.key), trajectories)
    return jax.tree.map(lambda x: x.reshape(-1, *x.shape[3:]), seen)


def standardised(z: Float[Array, "N Z"]) -> Float[Array, "N Z"]:
    """z with mean 0 and standard deviation 1."""
    centred = z - jnp.broadcast_to(jnp.mean(z, axis=0), z.shape)
    return centred / jnp.broadcast_to(jnp.std(centred, axis=0) + 1e-6, z.shape)


@jax.jit
def leak_nats(seen: Seen, key: PRNGKeyArray) -> Float[Array, ""]:
    """A lower bound of the information between (x, a) and z: InfoNCE of a critic trained on one half of the
    transitions and evaluated on the other, at least 0."""
    key_critic, key_train = jax.random.split(key)
    z, half = standardised(seen.z), seen.z.shape[0] // 2
    critic = make_critic("separable", seen.context.shape[-1], z.shape[-1], (*HIDDEN, HIDDEN[-1]), key_critic)

    def value(critic: Params, rows: Array) -> Float[Array, " K"]:
        return contrastive_value(energies(critic, seen.context[rows], z[rows]), seen.valid[rows], 1.0)

    def loss(critic: Params, rows: Array) -> Float[Array, ""]:
        return -jnp.mean(value(critic, rows), where=seen.valid[rows])

    critic = fit(critic, loss, half, key_train)
    held_out = jnp.arange(half, half + half // BATCH * BATCH).reshape(-1, BATCH)
    values = jax.lax.map(lambda rows: value(critic, rows), held_out)
    return jnp.maximum(jnp.mean(values, where=seen.valid[held_out]), 0.0)


@jax.jit
def noise_in_z(seen: Seen, key: PRNGKeyArray) -> Float[Array, ""]:
    """R² of a regression of u on (z, x, a), for noise, trained on one half of the transitions and evaluated on the
    other."""
    key_probe, key_train = jax.random.split(key)
    inputs, half = concatenate(standardised(seen.z), seen.context), seen.z.shape[0] // 2
    probe = MLP(inputs.shape[-1], HIDDEN, seen.u.shape[-1], key_probe)

    def loss(probe: MLP, rows: Array) -> Float[Array, ""]:
        error = jnp.mean(jnp.square(probe(inputs[rows]) - seen.u[rows]), axis=-1)
        return jnp.sum(jnp.where(seen.noise[rows], error, 0.0)) / jnp.maximum(
            jnp.sum(seen.noise[rows].astype(error.dtype)), 1.0
        )

    probe = fit(probe, loss, half, key_train)
    where = seen.noise[half:, None]
    mean = jnp.mean(seen.u[half:], axis=0, where=where)
    left = jnp.sum(jnp.square(probe(inputs[half:]) - seen.u[half:]), where=where)
    return 1 - left / jnp.sum(jnp.square(seen.u[half:] - jnp.broadcast_to(mean, seen.u[half:].shape)), where=where)


def noise_in_target(seen: Seen) -> float:
    """The share of the representation's variance that is a linear function of u."""
    valid, u = np.asarray(seen.valid), np.asarray(seen.u)
    u, target = u[valid] - u[valid].mean(axis=0), np.asarray(seen.target)[valid]
    explained = u @ np.linalg.lstsq(u, target - target.mean(axis=0), rcond=None)[0]
    return float(explained.var(axis=0).sum() / target.var(axis=0).sum())


def fit(probe: Params, loss: Any, num_rows: int, key: PRNGKeyArray) -> Params:
    """The probe after training with Adam on random rows of the first `num_rows`."""
    optimizer = optax.adam(RATE)

    def step(carry: tuple[Params, Any], rows: Array) -> tuple[tuple[Params, Any], None]:
        probe, state = carry
        grads = jax.grad(loss)(probe, rows)
        return descend(optimizer, grads, probe, state), None

    rows = jax.random.randint(key, (NUM_STEPS, BATCH), 0, num_rows)
    (probe, _), _ = jax.lax.scan(step, (probe, optimizer.init(probe)), rows)
    return probe

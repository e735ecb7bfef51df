"""What a curiosity method is: a representation (what is x?) and a measure (how is a transition scored?)."""

from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import optax
from jaxtyping import Array, Bool, Float, PRNGKeyArray, Shaped

from curiax.agent.networks import MLP, normalise
from curiax.agent.policy import ACTION_EMBEDDING
from curiax.config import NetworkConfig, WorldConfig
from curiax.types import CuriosityOutput, Experience, Loss, Params, State

FIRST_Z = 0.1  # gain of a generator's last layer at first, if it has a skip
SLOWEST = 0.0025  # of the first learning rate: the world model never stops learning


class Generator(MLP):
    """The network that makes hindsight vectors. The optimiser recognises it by its type."""

    def __init__(
        self,
        num_in: int,
        hidden: tuple[int, ...],
        num_out: int,
        key: PRNGKeyArray,
        layer_norm: bool,
        skip: tuple[int, int] | None = None,
    ):
        # With a skip, z is nearly zero at first and grows only where that is of use.
        last = 1.0 if skip is None else FIRST_Z
        super().__init__(num_in, hidden, num_out, key, layer_norm, last, skip, gated=True)


class Distance(NamedTuple):
    """How far an output is from its target: squares of differences, coordinate by coordinate, reduced to one number."""

    project: Callable[[Array], Array]  # from raw vectors to the coordinates that are compared
    reduce: Callable[..., Array]  # over coordinates

    def __call__(self, target: Float[Array, "*batch d"], output: Float[Array, "*batch d"]) -> Float[Array, "*batch"]:
        return self.reduce(jnp.square(self.project(target) - self.project(output)), axis=-1)


cosine_distance = Distance(normalise, jnp.sum)  # ‖x − x̂‖² of the l2-normalised vectors, 2 − 2 cos, in [0, 4]
squared_distance = Distance(lambda x: x, jnp.mean)  # the mean square of the difference
euclidean_distance = Distance(lambda x: x, jnp.sum)  # ‖x − x̂‖²


class Curiosity(NamedTuple):
    """One method, as pure functions."""

    init: Callable[
        [PRNGKeyArray, Params], tuple[Params, Params, State]
    ]  # key, agent's encoder -> params, critic, targets
    score: Callable[[Params, Params, State, Experience, PRNGKeyArray], CuriosityOutput]
    # targets, agent's encoder, o_{t+1} [T, B, ...], and which of these count [T, B] or None for all -> targets
    follow: Callable[[State, Params, Array, Array | None], State]
    trains_beliefs: bool = False  # do its losses train the agent's encoder and core?
    signed: bool = False  # may its errors be below zero, and mean it? Then they are never prioritised (reward.py)


class Represented(NamedTuple):
    """A trajectory in a representation."""

    state: Float[Array, "T B D"]  # x_t, from which the open loop starts: the belief b_t
    action: Float[Array, "T B E"]  # a_t, embedded
    target: Float[Array, "T B F"]  # raw w̄_{t+1}; never trained through
    losses: dict[str, Loss]  # the representation's own
    metrics: dict[str, Array]
    ended: Bool[Array, "T B"] | None = None  # as in `Experience`


class Sizes(NamedTuple):
    """D, E, F of `Represented`."""

    state: int
    action: int
    target: int


class Representation(NamedTuple):
    sizes: Sizes
    distance: Distance
    init: Callable[[PRNGKeyArray, Params], tuple[Params, State]]  # key, agent's encoder -> params, targets
    represent: Callable[[Params, State, Experience], Represented]
    follow: Callable[[State, Params, Array, Array | None], State]
    trains_beliefs: bool = False


class Measure(NamedTuple):
    init: Callable[[PRNGKeyArray, Sizes], tuple[Params, Params]]  # -> params, critic
    score: Callable[..., CuriosityOutput]  # params, critic, represented, valid, distance, key
    signed: bool = False  # as in `Curiosity`


def combine(representation: Representation, measure: Measure) -> Curiosity:
    """Any predictive representation takes any measure."""

    def init(key: PRNGKeyArray, encoder: Params) -> tuple[Params, Params, State]:
        key_representation, key_measure = jax.random.split(key)
        representation_params, targets = representation.init(key_representation, encoder)
        measure_params, critic = measure.init(key_measure, representation.sizes)
        return (representation_params, measure_params), critic, targets

    def score(params: Any, critic: Params, targets: State, experience: Experience, key: PRNGKeyArray):
        represented = representation.represent(params[0], targets, experience)._replace(ended=experience.ended)
        output = measure.score(params[1], critic, represented, experience.valid, representation.distance, key)
        return output._replace(losses=represented.losses | output.losses, metrics=represented.metrics | output.metrics)

    return Curiosity(init, score, representation.follow, representation.trains_beliefs, measure.signed)


def from_beliefs(
    experience: Experience,
    target: Float[Array, "T B F"],
    losses: dict[str, Loss] | None = None,
    metrics: dict[str, Array] | None = None,
) -> Represented:
    """A target to be predicted from (b_t, a_t), as in the paper (appendix D, "Choice of Baseline Method")."""
    return Represented(
        state=experience.belief[: experience.valid.shape[0]],
        action=experience.action_embedding,
        target=jax.lax.stop_gradient(target),
        losses=losses or {},
        metrics=metrics or {},
    )


def belief_sizes(network: NetworkConfig, target: int) -> Sizes:
    """The sizes of `from_beliefs`."""
    return Sizes(state=network.belief, action=ACTION_EMBEDDING, target=target)


def decay_of(world: WorldConfig, steps_per_update: int = 1) -> optax.Schedule:
    """Factor of the world model's learning rate after n updates: 2^(−n / half-life), at least 1/400.

    The schedule counts optimiser steps, of which an update has `steps_per_update`.
    """
    return optax.exponential_decay(1.0, world.half_life * steps_per_update, 0.5, end_value=SLOWEST)


def stay(targets: State, encoder: Params, next_obs: Array, valid: Array | None = None) -> State:
    """The `follow` of a method whose targets never change."""
    return targets


def shift(x: Shaped[Array, "T B *any"], steps: int) -> Shaped[Array, "T B *any"]:
    """x_{t+steps} at t; the end wraps around, and is never part of a valid pair."""
    return jnp.roll(x, -steps, axis=0)


def valid_pairs(
    valid: Bool[Array, "T B"], horizon: int, ended: Bool[Array, "T B"] | None = None
) -> Bool[Array, "H T B"]:
    """Pairs (t, i), i = 1..H, for which steps t … t+i−1 all lie in the sequence and are transitions of one episode.

    The pair that reaches the final observation of an episode is valid, the one that crosses it is not.
    """
    goes_on = jnp.ones_like(valid) if ended is None else ~ended
    num_steps = valid.shape[0]
    time = jnp.arange(num_steps)[:, None]
    pairs = [valid]
    for i in range(1, horizon):
        inside = jnp.broadcast_to(time + i < num_steps, valid.shape)
        pairs.append(pairs[-1] & shift(goes_on, i - 1) & shift(valid, i) & inside)
    return jnp.stack(pairs)


def credit(error: Float[Array, "H T B"], valid: Bool[Array, "H T B"]) -> Float[Array, "T B"]:
    """r_raw(s) = Σ over valid (t, i) with t + i = s + 1 of error(t, i); fewer terms for the first H − 1 transitions."""
    horizon = error.shape[0]
    terms = jnp.where(valid, error, 0.0)
    return jnp.sum(jnp.stack([shift(terms[i], -i) for i in range(horizon)]), axis=0)

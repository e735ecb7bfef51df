"""A measuring instrument: predicts the next observation, number by number, without and with hindsight.

It stands on the beliefs of an agent that does not change, so that what can be known from the past is known, and is
trained on fresh experience alone. What the prediction misses and hindsight explains away is noise; what remains is not
learned, or not learned yet. The prediction is trained by itself first: the less it still misses of what can be known,
the less there is for hindsight to take for noise.
"""

from collections.abc import Callable
from dataclasses import replace
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import optax
from jaxtyping import Array, Bool, Float, Int, PRNGKeyArray

from curiax.agent.networks import MLP, concatenate, embed_action
from curiax.agent.policy import believe
from curiax.config import LAPTOP, Config
from curiax.curiosity.base import (
    Curiosity,
    Representation,
    Represented,
    Sizes,
    combine,
    current,
    following,
    squared_distance,
    stay,
)
from curiax.curiosity.innovation import blurred, hindsight, innovate
from curiax.curiosity.predict import open_loop
from curiax.diagnose.view import View
from curiax.learner import descend, loss_weights, masked_mean, masked_means
from curiax.types import Agent, EnvSpec, Experience, LearnerParams, Masked, Params, State, Trajectory

NOBODY = Agent((), (), (), (), ())  # pyright: ignore[reportArgumentType] — the agent is not trained
CONFIG = replace(
    LAPTOP,
    learning_rate=3e-3,
    network=replace(LAPTOP.network, feature_hidden=(128,), embedding=64),
    world=replace(LAPTOP.world, relative=True, reconstruction_weight=1.0, warm_up=0, blur=0.2),
)


class InstrumentState(NamedTuple):
    params: LearnerParams  # of the curiosity and its critic alone
    optimizer: State
    key: PRNGKeyArray
    num_updates: Int[Array, ""]


class Split(NamedTuple):
    """Squares of errors of T × B transitions, in units of the view."""

    predicted: Float[Array, "T B F"]
    reconstructed: Float[Array, "T B F"]
    change: Float[Array, "T B F"]  # of the observation: what there was to predict
    valid: Bool[Array, "T B"]


class Instrument(NamedTuple):
    init: Callable[[PRNGKeyArray], InstrumentState]
    learn_to_predict: Callable[[InstrumentState, Agent, Trajectory], InstrumentState]
    begin_hindsight: Callable[[InstrumentState], InstrumentState]
    learn: Callable[[InstrumentState, Agent, Trajectory], InstrumentState]
    split: Callable[[InstrumentState, Agent, Trajectory], Split]


def make_instrument(spec: EnvSpec, view: View, belief_size: int, config: Config = CONFIG) -> Instrument:
    representation = changes(config, spec, view, belief_size)
    curiosity = combine(representation, hindsight(config))
    optimizer = optax.flatten(optax.adam(config.learning_rate))

    def init(key: PRNGKeyArray) -> InstrumentState:
        key, key_curiosity = jax.random.split(key)
        params, critic, _ = curiosity.init(key_curiosity, ())
        everything = LearnerParams(NOBODY, {}, params, critic)
        return InstrumentState(everything, optimizer.init(everything), key, jnp.int32(0))

    def learn_to_predict(state: InstrumentState, agent: Agent, trajectory: Trajectory) -> InstrumentState:
        grads = jax.grad(prediction_loss)(state.params, representation, experience_of(agent, trajectory))
        return descended(state, grads)

    def begin_hindsight(state: InstrumentState) -> InstrumentState:
        """Adam knows nothing of networks that did not learn so far, and should not think that it does."""
        return state._replace(optimizer=optimizer.init(state.params))

    def descended(state: InstrumentState, grads: LearnerParams) -> InstrumentState:
        params, adam = descend(config, optimizer, grads, state.optimizer, state.params, state.num_updates)
        return InstrumentState(params, adam, jax.random.split(state.key)[0], state.num_updates + 1)

    def learn(state: InstrumentState, agent: Agent, trajectory: Trajectory) -> InstrumentState:
        _, key_score = jax.random.split(state.key)
        weights = loss_weights(config, state.num_updates)
        experience = experience_of(agent, trajectory)
        return descended(state, jax.grad(weighted_loss)(state.params, curiosity, weights, experience, key_score))

    def split(state: InstrumentState, agent: Agent, trajectory: Trajectory) -> Split:
        experience = experience_of(agent, trajectory)
        own, model = state.params.curiosity
        represented = representation.represent(own, (), experience)
        return split_errors(config, model, represented, experience.valid, state.key)

    return Instrument(init, learn_to_predict, begin_hindsight, learn, split)


def prediction_loss(params: LearnerParams, representation: Representation, experience: Experience) -> Float[Array, ""]:
    own, model = params.curiosity
    represented = representation.represent(own, (), experience)
    loop = open_loop(model["core"], represented, experience.valid, horizon=1)
    return masked_mean(Masked(squared_distance(loop.target, model["predictor"](loop.after)), loop.valid))


def weighted_loss(
    params: LearnerParams,
    curiosity: Curiosity,
    weights: dict[str, Array | float],
    experience: Experience,
    key: PRNGKeyArray,
) -> Float[Array, ""]:
    """Everything that the method learns by, hindsight and its critic among it."""
    output = curiosity.score(params.curiosity, params.critic, (), experience, key)
    return jnp.sum(jnp.stack([weights.get(name, 1.0) * mean for name, mean in masked_means(output.losses).items()]))


def changes(config: Config, spec: EnvSpec, view: View, belief_size: int) -> Representation:
    """x_t is the agent's belief beside the observation itself; the target is how the observation changes."""
    network = config.network

    def init(key: PRNGKeyArray, encoder: Params) -> tuple[Params, State]:
        key_encoder, key_action = jax.random.split(key)
        return {
            "reader": MLP(view.size, network.feature_hidden, network.embedding, key_encoder),
            "action": jax.random.normal(key_action, (spec.num_actions, network.action_embedding)),
        }, ()

    def represent(params: Any, targets: State, experience: Experience) -> Represented:
        seen, next_seen = view(current(experience)), view(following(experience))
        belief = experience.belief[: experience.valid.shape[0]]
        return Represented(
            state=concatenate(belief, params["reader"](seen)),
            action=embed_action(params["action"], experience.action),
            target=jax.lax.stop_gradient(next_seen - seen),
            losses={},
            metrics={},
        )

    sizes = Sizes(belief_size + network.embedding, network.action_embedding, view.size)
    return Representation(sizes, squared_distance, init, represent, stay)


def experience_of(agent: Agent, trajectory: Trajectory) -> Experience:
    """With the beliefs of the agent as it is; nothing here trains it."""
    previous_action = jnp.concatenate([trajectory.previous_action[None], trajectory.action])
    belief = believe(agent, trajectory.belief, trajectory.obs, previous_action, trajectory.first)
    embedded = embed_action(agent.action_embedding, trajectory.action)
    belief, embedded = jax.lax.stop_gradient((belief, embedded))
    return Experience(trajectory.obs, trajectory.action, trajectory.valid, belief, embedded)


def split_errors(
    config: Config, params: Any, represented: Represented, valid: Bool[Array, "T B"], key: PRNGKeyArray
) -> Split:
    """The errors of the measure *hindsight*, one step ahead, before they are averaged over coordinates."""
    world = config.world
    loop = open_loop(params["core"], represented, valid, horizon=1)
    expected, heard, scale = innovate(params["predictor"], loop, squared_distance)
    noise = jax.random.normal(key, (*loop.valid.shape, world.noise))
    z = params["generator"](concatenate(loop.before, loop.action, heard, noise))
    z = blurred(world, z, loop.valid, key) if world.blur > 0 else z
    explained = expected + scale * params["reconstructor"](concatenate(loop.after, z))
    return Split(
        predicted=jnp.square(loop.target - expected)[0],
        reconstructed=jnp.square(loop.target - explained)[0],
        change=loop.target[0],
        valid=valid,
    )

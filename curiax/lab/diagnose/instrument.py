"""The instrument of a diagnosis: a predictor of the next observation, feature by feature, without and with hindsight.

Its inputs are the beliefs of a frozen agent, which summarise the past. It is trained on fresh experience only. The
prediction error that hindsight removes is noise; the rest is novelty, not learned yet. The predictor is trained alone
first: what it can still learn would otherwise count as noise.
"""

from collections.abc import Callable
from dataclasses import replace
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, PRNGKeyArray

from curiax.agent.networks import MLP, concatenate, embed_action
from curiax.agent.policy import ACTION_EMBEDDING
from curiax.config import Config
from curiax.config.presets import BASE
from curiax.curiosity.base import Curiosity, Representation, Represented, Sizes, combine, squared_distance, stay
from curiax.curiosity.experience import current, following, from_stream
from curiax.curiosity.measures.hindsight import explain, hindsight
from curiax.curiosity.world_model import NO_AGENT, WorldModel, WorldState, make_optimizer, make_world_model
from curiax.lab.diagnose.view import View
from curiax.types import Agent, CuriosityOutput, EnvSpec, Experience, Loss, Params, State, Trajectory

CONFIG = replace(
    BASE,
    learning_rate=3e-3,
    network=replace(BASE.network, feature_hidden=(128,), embedding=64),
    world=replace(BASE.world, reconstruction_weight=25.0),  # with a smaller weight z learns too slowly
)


class InstrumentState(NamedTuple):
    """The state of an instrument between two updates."""

    world: WorldState
    key: PRNGKeyArray


class Split(NamedTuple):
    """Squared errors of T × B transitions, in units of the view."""

    predicted: Float[Array, "T B F"]
    reconstructed: Float[Array, "T B F"]
    change: Float[Array, "T B F"]  # of the observation: the target of the prediction
    valid: Bool[Array, "T B"]


class Instrument(NamedTuple):
    """Pure functions of the state."""

    init: Callable[[PRNGKeyArray], InstrumentState]
    learn_to_predict: Callable[[InstrumentState, Agent, Trajectory], InstrumentState]
    begin_hindsight: Callable[[InstrumentState], InstrumentState]
    learn: Callable[[InstrumentState, Agent, Trajectory], InstrumentState]
    split: Callable[[InstrumentState, Agent, Trajectory], Split]


def make_instrument(spec: EnvSpec, view: View, belief_size: int, config: Config = CONFIG) -> Instrument:
    """An instrument for an environment."""
    representation = missed(config, spec, view, belief_size)
    curiosity, optimizer = combine(representation, hindsight(config)), make_optimizer(config)
    whole = make_world_model(curiosity, optimizer)
    predictor = make_world_model(prediction_alone(curiosity, representation), optimizer)

    def init(key: PRNGKeyArray) -> InstrumentState:
        key, key_curiosity = jax.random.split(key)
        return InstrumentState(whole.init(key_curiosity, NO_AGENT), key)

    def learn_to_predict(state: InstrumentState, agent: Agent, trajectory: Trajectory) -> InstrumentState:
        return stepped(predictor, state, agent, trajectory)

    def begin_hindsight(state: InstrumentState) -> InstrumentState:
        """Resets Adam: its moments for networks that were not trained so far are all zero."""
        return state._replace(world=state.world._replace(optimizer=optimizer.init(state.world.params)))

    def learn(state: InstrumentState, agent: Agent, trajectory: Trajectory) -> InstrumentState:
        return stepped(whole, state, agent, trajectory)

    def split(state: InstrumentState, agent: Agent, trajectory: Trajectory) -> Split:
        return split_errors(config, state.world.params.curiosity, view, with_beliefs(agent, trajectory), state.key)

    return Instrument(init, learn_to_predict, begin_hindsight, learn, split)


def prediction_alone(curiosity: Curiosity, representation: Representation) -> Curiosity:
    """The curiosity with the losses of its representation only."""

    def score(
        params: Params, critic: Params, targets: State, experience: Experience, key: PRNGKeyArray
    ) -> CuriosityOutput:
        losses = representation.represent(params[0], targets, experience).losses
        return CuriosityOutput(losses, jnp.zeros(experience.valid.shape), {}, critic)

    return curiosity._replace(score=score)


def stepped(model: WorldModel, state: InstrumentState, agent: Agent, trajectory: Trajectory) -> InstrumentState:
    """The state after one update."""
    key, key_score = jax.random.split(state.key)
    world, _ = model.step(state.world, lambda _: with_beliefs(agent, trajectory), key_score)
    return InstrumentState(world, key)


class Missed(NamedTuple):
    """A prediction of the change of the observation, and its residual: change = prediction + missed."""

    state: Float[Array, "T B D"]  # the agent's belief and features of the observation
    action: Float[Array, "T B E"]
    change: Float[Array, "T B F"]
    missed: Float[Array, "T B F"]
    scale: Float[Array, ""]  # root mean square of `missed`


def predict_change(params: Any, view: View, experience: Experience) -> Missed:
    seen, next_seen = view(current(experience)), view(following(experience))
    state = concatenate(experience.belief[: experience.valid.shape[0]], params["reader"](seen))
    action = embed_action(params["action"], experience.action)
    change = next_seen - seen
    missed = change - params["predictor"](concatenate(state, action))
    square = jnp.mean(jnp.mean(jnp.square(missed), axis=-1), where=experience.valid)
    return Missed(state, action, change, missed, jax.lax.stop_gradient(jnp.sqrt(square + 1e-8)))


def missed(config: Config, spec: EnvSpec, view: View, belief_size: int) -> Representation:
    """A representation whose target is the residual of its own predictor, divided by its scale.

    What can be predicted is not in the target, so hindsight cannot take it for noise.
    """
    network = config.network
    sizes = Sizes(belief_size + network.embedding, ACTION_EMBEDDING, view.size)

    def init(key: PRNGKeyArray, encoder: Params) -> tuple[Params, State]:
        key_encoder, key_action, key_predictor = jax.random.split(key, 3)
        num_given = sizes.state + sizes.action
        return {
            "reader": MLP(view.size, network.feature_hidden, network.embedding, key_encoder),
            "action": jax.random.normal(key_action, (spec.num_actions, ACTION_EMBEDDING)),
            "predictor": MLP(num_given, config.world.hidden, view.size, key_predictor, config.world.layer_norm),
        }, ()

    def represent(params: Any, targets: State, experience: Experience) -> Represented:
        found = predict_change(params, view, experience)
        error = jnp.mean(jnp.square(found.missed), axis=-1)
        state, action, target = jax.lax.stop_gradient((found.state, found.action, found.missed / found.scale))
        return Represented(state, action, target, {"prediction": Loss(error, experience.valid)}, {})

    return Representation(sizes, squared_distance, init, represent, stay)


def with_beliefs(agent: Agent, trajectory: Trajectory) -> Experience:
    """The trajectory with the beliefs of the frozen agent."""
    return jax.tree.map(jax.lax.stop_gradient, from_stream(agent, trajectory))


def split_errors(config: Config, params: Any, view: View, experience: Experience, key: PRNGKeyArray) -> Split:
    """Squared errors of the prediction, and of the prediction with hindsight."""
    own, model = params
    found = predict_change(own, view, experience)
    represented = Represented(found.state, found.action, found.missed / found.scale, {}, {})
    explained = found.scale * explain(config.world, model, represented, experience.valid, key).output[0]
    return Split(
        predicted=jnp.square(found.missed),
        reconstructed=jnp.square(found.missed - explained),
        change=found.change,
        valid=experience.valid,
    )

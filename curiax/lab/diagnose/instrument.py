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
from jaxtyping import Array, Bool, Float, Int, PRNGKeyArray

from curiax.agent.networks import MLP, concatenate, embed_action
from curiax.agent.policy import believe
from curiax.config import Config
from curiax.config.presets import BASE
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
from curiax.curiosity.measures.hindsight import generate, hindsight
from curiax.curiosity.measures.predict import open_loop
from curiax.lab.diagnose.view import View
from curiax.training.learner import descend, loss_weights, make_optimizer, masked_mean, masked_means
from curiax.types import Agent, EnvSpec, Experience, LearnerParams, Masked, Params, State, Trajectory

NOBODY = Agent((), (), (), (), ())  # pyright: ignore[reportArgumentType] — the agent is not trained
CONFIG = replace(
    BASE,
    learning_rate=3e-3,
    network=replace(BASE.network, feature_hidden=(128,), embedding=64),
    world=replace(BASE.world, reconstruction_weight=25.0),  # with less, z holds hardly anything so soon
)


class InstrumentState(NamedTuple):
    params: LearnerParams  # of the curiosity alone
    critic: State
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
    representation = missed(config, spec, view, belief_size)
    curiosity = combine(representation, hindsight(config))
    optimizer = make_optimizer(config)

    def init(key: PRNGKeyArray) -> InstrumentState:
        key, key_curiosity = jax.random.split(key)
        params, critic, _ = curiosity.init(key_curiosity, ())
        everything = LearnerParams(NOBODY, {}, params)
        return InstrumentState(everything, critic, optimizer.init(everything), key, jnp.int32(0))

    def learn_to_predict(state: InstrumentState, agent: Agent, trajectory: Trajectory) -> InstrumentState:
        grads = jax.grad(prediction_loss)(state.params, representation, experience_of(agent, trajectory))
        return descended(state, grads)

    def begin_hindsight(state: InstrumentState) -> InstrumentState:
        """Adam knows nothing of networks that did not learn so far, and should not think that it does."""
        return state._replace(optimizer=optimizer.init(state.params))

    def descended(state: InstrumentState, grads: LearnerParams) -> InstrumentState:
        params, adam = descend(optimizer, grads, state.optimizer, state.params)
        key, num_updates = jax.random.split(state.key)[0], state.num_updates + 1
        return InstrumentState(params, state.critic, adam, key, num_updates)

    def learn(state: InstrumentState, agent: Agent, trajectory: Trajectory) -> InstrumentState:
        experience = experience_of(agent, trajectory)
        grads, critic = jax.grad(weighted_loss, has_aux=True)(state.params, config, curiosity, state, experience)
        return descended(state._replace(critic=critic), grads)

    def split(state: InstrumentState, agent: Agent, trajectory: Trajectory) -> Split:
        return split_errors(config, state.params.curiosity, view, experience_of(agent, trajectory), state.key)

    return Instrument(init, learn_to_predict, begin_hindsight, learn, split)


def prediction_loss(params: LearnerParams, representation: Representation, experience: Experience) -> Float[Array, ""]:
    return masked_mean(representation.represent(params.curiosity[0], (), experience).losses["prediction"])


def weighted_loss(
    params: LearnerParams, config: Config, curiosity: Curiosity, state: InstrumentState, experience: Experience
) -> tuple[Float[Array, ""], State]:
    """All losses of the method, and its critic after a step."""
    key_score = jax.random.split(state.key)[1]
    output, weights = curiosity.score(params.curiosity, state.critic, (), experience, key_score), loss_weights(config)
    terms = [weights.get(name, 1.0) * mean for name, mean in masked_means(output.losses).items()]
    return jnp.sum(jnp.stack(terms)), output.critic


class Missed(NamedTuple):
    """A prediction of how the observation changes, and what it missed: change = prediction + missed."""

    state: Float[Array, "T B D"]  # the agent's belief beside the observation itself
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
    """The target is what a predictor of its own missed, in units of its size.

    Hindsight then has nothing to learn of what can be predicted, and cannot take it for noise.
    """
    network = config.network
    sizes = Sizes(belief_size + network.embedding, network.action_embedding, view.size)

    def init(key: PRNGKeyArray, encoder: Params) -> tuple[Params, State]:
        key_encoder, key_action, key_predictor = jax.random.split(key, 3)
        num_given = sizes.state + sizes.action
        return {
            "reader": MLP(view.size, network.feature_hidden, network.embedding, key_encoder),
            "action": jax.random.normal(key_action, (spec.num_actions, network.action_embedding)),
            "predictor": MLP(num_given, config.world.hidden, view.size, key_predictor, config.world.layer_norm),
        }, ()

    def represent(params: Any, targets: State, experience: Experience) -> Represented:
        found = predict_change(params, view, experience)
        error = jnp.mean(jnp.square(found.missed), axis=-1)
        state, action, target = jax.lax.stop_gradient((found.state, found.action, found.missed / found.scale))
        return Represented(state, action, target, {"prediction": Masked(error, experience.valid)}, {})

    return Representation(sizes, squared_distance, init, represent, stay)


def experience_of(agent: Agent, trajectory: Trajectory) -> Experience:
    """With the beliefs of the agent as it is; nothing here trains it."""
    previous_action = jnp.concatenate([trajectory.previous_action[None], trajectory.action])
    belief = believe(agent, trajectory.belief, trajectory.obs, previous_action, trajectory.first)
    embedded = embed_action(agent.action_embedding, trajectory.action)
    belief, embedded = jax.lax.stop_gradient((belief, embedded))
    return Experience(trajectory.obs, trajectory.action, trajectory.valid, belief, embedded)


def split_errors(config: Config, params: Any, view: View, experience: Experience, key: PRNGKeyArray) -> Split:
    """Squares of what the prediction missed, and of what was still missing after hindsight."""
    own, model = params
    found = predict_change(own, view, experience)
    represented = Represented(found.state, found.action, found.missed / found.scale, {}, {})
    loop = open_loop(model["core"], represented, experience.valid, horizon=1)
    z = generate(model["generator"], config.world.noise, loop, key)
    explained = found.scale * model["reconstructor"](concatenate(loop.after, z))[0]
    return Split(
        predicted=jnp.square(found.missed),
        reconstructed=jnp.square(found.missed - explained),
        change=found.change,
        valid=experience.valid,
    )

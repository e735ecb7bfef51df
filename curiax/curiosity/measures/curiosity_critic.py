"""The measure *critic*: pay for the error beyond what a critic expects to be left after learning."""

from typing import NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, PRNGKeyArray

from curiax.agent.gru import GRU
from curiax.agent.networks import MLP
from curiax.config import Config
from curiax.curiosity.base import Distance, Measure, Represented, Sizes, credit
from curiax.curiosity.measures.predict import OpenLoop, context_of, loop_from, open_loop
from curiax.curiosity.measures.recent import SIZE, draw, mean_loss
from curiax.types import CuriosityOutput, Loss, Params


class Remembered(NamedTuple):
    """Transitions of the last batch, from which its error after the model's step is computed."""

    state: Float[Array, "N D"]  # x_t
    action: Float[Array, "N H E"]  # a_{t+i−1}
    target: Float[Array, "N H F"]  # w̄_{t+i}
    valid: Bool[Array, "N H"]


def curiosity_critic(config: Config) -> Measure:
    """Curiosity-Critic (Bhaskara & Wang, 2026):  e(t, i) = √distance(w̄_{t+i}, ψ(b_{t,i})), and e⁺ after the step.

    The critic c(b_{t,i−1}, a_{t+i−1}) regresses the e⁺ of the last batch. Reward e − max(c, 0), signed.
    """
    world = config.world

    def init(key: PRNGKeyArray, sizes: Sizes) -> tuple[Params, Remembered]:
        key_core, key_predictor, key_critic = jax.random.split(key, 3)
        pairs = (SIZE, world.horizon)
        return {
            "core": GRU(sizes.action, sizes.state, key_core),
            "predictor": MLP(sizes.state, world.hidden, sizes.target, key_predictor),
            "critic": MLP(sizes.state + sizes.action, world.hidden, 1, key_critic),
        }, Remembered(
            state=jnp.zeros((SIZE, sizes.state)),
            action=jnp.zeros((*pairs, sizes.action)),
            target=jnp.zeros((*pairs, sizes.target)),
            valid=jnp.zeros(pairs, bool),
        )

    def score(
        params: Params,
        last: Remembered,
        represented: Represented,
        valid: Bool[Array, "T B"],
        distance: Distance,
        key: PRNGKeyArray,
    ) -> CuriosityOutput:
        loop = open_loop(params["core"], represented, valid, world.horizon)
        distances = distance(loop.target, params["predictor"](loop.after))
        left = jax.lax.stop_gradient(jax.nn.relu(params["critic"](context_of(loop))[..., 0]))
        error = jnp.sqrt(jax.lax.stop_gradient(distances))

        again = replay(params["core"], last)  # by the parameters after the step on the last batch
        after = jnp.sqrt(jax.lax.stop_gradient(distance(again.target, params["predictor"](again.after))))
        regression = jnp.square(params["critic"](context_of(again))[..., 0] - after)
        return CuriosityOutput(
            losses={"prediction": Loss(distances, loop.valid), "error_after": mean_loss(regression, again.valid)},
            error=credit(error - left, loop.valid),
            metrics={
                "prediction_error": jnp.mean(distances, where=loop.valid),
                "expected_error_after": jnp.mean(left, where=loop.valid),
            },
            critic=jax.lax.stop_gradient(remember(loop, key)),
        )

    return Measure(init, score, signed=True)


def remember(loop: OpenLoop, key: PRNGKeyArray) -> Remembered:
    """All steps of a batch with a valid pair; N of them at random, if there are more."""
    place, found = draw(key, loop.valid[0].reshape(-1))
    state, action, target, valid = (
        jnp.moveaxis(x, 0, 2).reshape(loop.valid[0].size, x.shape[0], *x.shape[3:])[place]
        for x in (loop.before[:1], loop.action, loop.target, loop.valid)
    )
    valid &= jnp.broadcast_to(found[:, None], valid.shape)
    state, action, target = (jnp.where(valid[:, : x.shape[1], None], x, 0.0) for x in (state, action, target))
    return Remembered(state[:, 0], action, target, valid)


def replay(core: GRU, last: Remembered) -> OpenLoop:
    """The open loop of what is remembered."""
    actions, targets, valid = (jnp.moveaxis(x, 1, 0) for x in (last.action, last.target, last.valid))
    return loop_from(core, last.state, list(actions), list(targets), valid)

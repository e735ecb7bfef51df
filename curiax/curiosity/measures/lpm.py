"""The measure *lpm*: pay for how much better the model predicts than it did before its last steps."""

from typing import NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int, PRNGKeyArray

from curiax.agent.gru import GRU
from curiax.agent.networks import MLP
from curiax.config import Config
from curiax.curiosity.base import Distance, Measure, Represented, Sizes, credit
from curiax.curiosity.measures.predict import context_of, open_loop
from curiax.curiosity.measures.recent import SIZE, draw, mean_loss
from curiax.types import CuriosityOutput, Loss, Params

FLOOR = 1e-8  # added to errors before the logarithm


class Queue(NamedTuple):
    """A ring of transitions (x, a), each with the ε of its time."""

    context: Float[Array, "N C"]
    error: Float[Array, " N"]
    count: Int[Array, ""]  # written so far, less whole rounds after the first; N or more: the queue is full


def lpm(config: Config) -> Measure:
    """Learning progress monitoring (Hou et al., 2026):  ε(t, i) = log distance(w̄_{t+i}, ψ(b_{t,i})).

    The error model g(b_{t,i−1}, a_{t+i−1}) regresses the ε of a queue, all from before the model's last step.
    Reward g − ε, signed, and zero until the queue is full. g is a network plus the mean ε of the queue.
    """
    world = config.world

    def init(key: PRNGKeyArray, sizes: Sizes) -> tuple[Params, Queue]:
        key_core, key_predictor, key_error = jax.random.split(key, 3)
        num_context = sizes.state + sizes.action
        return {
            "core": GRU(sizes.action, sizes.state, key_core),
            "predictor": MLP(sizes.state, world.hidden, sizes.target, key_predictor),
            "error_model": MLP(num_context, world.hidden, 1, key_error),
        }, Queue(jnp.zeros((SIZE, num_context)), jnp.zeros(SIZE), jnp.int32(0))

    def score(
        params: Params,
        queue: Queue,
        represented: Represented,
        valid: Bool[Array, "T B"],
        distance: Distance,
        key: PRNGKeyArray,
    ) -> CuriosityOutput:
        loop = open_loop(params["core"], represented, valid, world.horizon)
        error = distance(loop.target, params["predictor"](loop.after))
        log_error, context = jax.lax.stop_gradient(jnp.log(error + FLOOR)), context_of(loop)
        expected = jax.lax.stop_gradient(expect(params, queue, context))
        progress = jnp.where(queue.count >= SIZE, expected - log_error, 0.0)

        # The regression includes this batch, whose ε are of the model before the step that the regression is part of.
        queue = push(queue, context, log_error, loop.valid, key)
        regression = jnp.square(expect(params, queue, queue.context) - queue.error)
        return CuriosityOutput(
            losses={
                "prediction": Loss(error, loop.valid),
                "log_error": mean_loss(regression, jnp.arange(SIZE) < queue.count),
            },
            error=credit(progress, loop.valid),
            metrics={
                "prediction_error": jnp.mean(error, where=loop.valid),
                "log_error": jnp.mean(log_error, where=loop.valid),
                "expected_log_error": jnp.mean(expected, where=loop.valid),
            },
            critic=queue,
        )

    return Measure(init, score, signed=True)


def expect(params: Params, queue: Queue, context: Float[Array, "*batch C"]) -> Float[Array, "*batch"]:
    """g. The errors of all transitions fall at first, and a network alone would be late by hundreds of steps."""
    mean = jnp.sum(queue.error) / jnp.clip(queue.count, 1, SIZE).astype(jnp.float32)
    return mean + params["error_model"](context)[..., 0]


def push(
    queue: Queue,
    context: Float[Array, "*batch C"],
    error: Float[Array, "*batch"],
    valid: Bool[Array, "*batch"],
    key: PRNGKeyArray,
) -> Queue:
    """The queue with the valid transitions of a batch in place of its oldest; with N of them, if there are more."""
    place, found = draw(key, valid.reshape(-1))
    slot = jnp.where(found, (queue.count + jnp.arange(SIZE)) % SIZE, SIZE)  # there is no slot N: dropped
    count = queue.count + jnp.sum(found)
    return Queue(
        context=queue.context.at[slot].set(context.reshape(-1, context.shape[-1])[place], mode="drop"),
        error=queue.error.at[slot].set(error.reshape(-1)[place], mode="drop"),
        count=jnp.where(count >= 2 * SIZE, count - SIZE, count),
    )

"""The world model's open loop, and the measure *prediction error*."""

from collections.abc import Sequence
from typing import NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, PRNGKeyArray

from curiax.agent.gru import GRU
from curiax.agent.networks import MLP, concatenate
from curiax.config import Config
from curiax.curiosity.base import Distance, Measure, Represented, Sizes, credit, shift, valid_pairs
from curiax.types import CuriosityOutput, Loss, Params


class OpenLoop(NamedTuple):
    """Open-loop beliefs and targets of every pair (t, i), i steps ahead of t."""

    before: Float[Array, "H T B D"]  # b_{t,i−1}
    action: Float[Array, "H T B E"]  # emb(a_{t+i−1})
    after: Float[Array, "H T B D"]  # b_{t,i}
    target: Float[Array, "H T B F"]  # w̄_{t+i}
    valid: Bool[Array, "H T B"]


def open_loop(core: GRU, represented: Represented, valid: Bool[Array, "T B"], horizon: int) -> OpenLoop:
    """b_{t,0} = x_t,  b_{t,i} = GRU_o(b_{t,i−1}, emb(a_{t+i−1}))."""
    actions, targets = ([shift(x, i) for i in range(horizon)] for x in (represented.action, represented.target))
    return loop_from(core, represented.state, actions, targets, valid_pairs(valid, horizon, represented.ended))


def loop_from(
    core: GRU,
    state: Float[Array, "*batch D"],
    actions: Sequence[Float[Array, "*batch E"]],
    targets: Sequence[Float[Array, "*batch F"]],
    valid: Bool[Array, "H *batch"],
) -> OpenLoop:
    """The open loop from x_t along H actions."""
    beliefs = [state]
    for action in actions:
        beliefs.append(core.step(beliefs[-1], action))
    return OpenLoop(
        before=jnp.stack(beliefs[:-1]),
        action=jnp.stack(actions),
        after=jnp.stack(beliefs[1:]),
        target=jnp.stack(targets),
        valid=valid,
    )


def context_of(loop: OpenLoop) -> Float[Array, "H *batch C"]:
    """(b_{t,i−1}, a_{t+i−1}), input of networks that must not shape the beliefs: stop-gradient."""
    return jax.lax.stop_gradient(concatenate(loop.before, loop.action))


def predict(config: Config) -> Measure:
    """Prediction error:  L(t, i) = distance(w̄_{t+i}, ψ(b_{t,i}))."""
    world = config.world

    def init(key: PRNGKeyArray, sizes: Sizes) -> tuple[Params, Params]:
        key_core, key_predictor = jax.random.split(key)
        return {
            "core": GRU(sizes.action, sizes.state, key_core),
            "predictor": MLP(sizes.state, world.hidden, sizes.target, key_predictor),
        }, ()

    def score(
        params: Params,
        critic: Params,
        represented: Represented,
        valid: Bool[Array, "T B"],
        distance: Distance,
        key: PRNGKeyArray,
    ) -> CuriosityOutput:
        loop = open_loop(params["core"], represented, valid, world.horizon)
        error = distance(loop.target, params["predictor"](loop.after))
        return CuriosityOutput(
            losses={"prediction": Loss(error, loop.valid)},
            error=credit(jax.lax.stop_gradient(error), loop.valid),
            metrics={"prediction_error": jnp.mean(error, where=loop.valid)},
        )

    return Measure(init, score)

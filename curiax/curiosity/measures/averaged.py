"""The measure *hindsight-averaged*: hindsight vectors from a running average of the generator.

Generator and critic play a game, and circle around its solution: the generator moves on within tens of updates, before
the critic has learned what z reveals (docs/scm.md). The average stands near the centre of these circles, as it does for
generative adversarial networks (Yazıcı et al., 2019).
"""

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import optax
from jaxtyping import Array, Bool, PRNGKeyArray

from curiax.config import Config
from curiax.curiosity.base import Distance, Measure, Represented, Sizes, credit
from curiax.curiosity.measures.critic import CriticState
from curiax.curiosity.measures.hindsight import explain, hindsight
from curiax.types import CuriosityOutput, Loss, Params

DECAY = 0.99  # of the average per update


class Averaged(NamedTuple):
    """The state that no gradient of the losses changes."""

    critic: CriticState
    generator: Params  # Ḡ


def averaged(config: Config) -> Measure:
    """Ḡ ← α Ḡ + (1 − α) G before every update,  z̄ = Ḡ([b, a, w̄, ε]),  reward distance(w̄, ψ([b', z̄])).

    G and the critic are trained as in `hindsight`. The reconstructor ψ and the beliefs learn to use z̄ as well as z.
    """
    measure, world = hindsight(config), config.world

    def init(key: PRNGKeyArray, sizes: Sizes) -> tuple[Params, Averaged]:
        params, critic = measure.init(key, sizes)
        # A copy: an array may not be given away twice.
        return params, Averaged(critic, jax.tree.map(jnp.array, params["generator"]))

    def score(
        params: Params,
        state: Averaged,
        represented: Represented,
        valid: Bool[Array, "T B"],
        distance: Distance,
        key: PRNGKeyArray,
    ) -> CuriosityOutput:
        output = measure.score(params, state.critic, represented, valid, distance, key)
        with_average = in_use(params, state)
        # The same noise ε: XLA merges the open loop with that of `measure.score`.
        loop, _, reconstructed = explain(world, with_average, represented, valid, jax.random.split(key)[0])
        error = distance(loop.target, reconstructed)
        loss = Loss(error, loop.valid, world.reconstruction_weight)
        return output._replace(
            losses=output.losses | {"averaged_reconstruction": loss},
            error=credit(jax.lax.stop_gradient(error), loop.valid),
            metrics=output.metrics | {"reconstruction_error": jnp.mean(error, where=loop.valid)},
            critic=Averaged(output.critic, with_average["generator"]),
        )

    return Measure(init, score)


def in_use(params: Params, state: Any) -> Params:
    """The parameters of a hindsight measure with the generator that rewards come from."""
    if not isinstance(state, Averaged):
        return params
    newest = jax.lax.stop_gradient(params["generator"])
    return params | {"generator": optax.incremental_update(newest, state.generator, 1 - DECAY)}


def critic_of(state: Any) -> CriticState:
    """The critic in the state of a hindsight measure."""
    return state.critic if isinstance(state, Averaged) else state

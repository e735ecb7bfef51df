"""The measure *disagreement*: pay for how much five forward models differ. With enough data they agree on noise too."""

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, PRNGKeyArray

from curiax.agent.gru import GRU
from curiax.agent.networks import MLP
from curiax.config import Config
from curiax.curiosity.base import Distance, Measure, Represented, Sizes, credit
from curiax.curiosity.measures.predict import open_loop
from curiax.types import CuriosityOutput, Loss, Params

NUM_MODELS = 5
SHARE = 0.8  # of the pairs of an update that each model learns from


def disagreement(config: Config) -> Measure:
    """Disagreement (Pathak et al., 2019):  L_k(t, i) = m_k(t, i) distance(w̄_{t+i}, ψ_k(b_{t,i})), m_k random, 0 or 1.

    Reward Var_k ψ_k(b_{t,i}), reduced over coordinates as the representation's distance is.
    """
    world = config.world

    def init(key: PRNGKeyArray, sizes: Sizes) -> tuple[Params, Params]:
        key_core, *keys = jax.random.split(key, 1 + NUM_MODELS)
        return {
            "core": GRU(sizes.action, sizes.state, key_core),
            "predictors": [MLP(sizes.state, world.hidden, sizes.target, key) for key in keys],
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
        outputs = jnp.stack([predictor(loop.after) for predictor in params["predictors"]])
        error = jnp.stack([distance(loop.target, output) for output in outputs])
        learned = jnp.broadcast_to(loop.valid, error.shape) & jax.random.bernoulli(key, SHARE, error.shape)
        spread = distance.reduce(jnp.var(distance.project(outputs), axis=0), axis=-1)
        return CuriosityOutput(
            losses={"prediction": Loss(error, learned)},
            error=credit(jax.lax.stop_gradient(spread), loop.valid),
            metrics={
                "prediction_error": jnp.mean(error, where=jnp.broadcast_to(loop.valid, error.shape)),
                "disagreement": jnp.mean(spread, where=loop.valid),
            },
        )

    return Measure(init, score)

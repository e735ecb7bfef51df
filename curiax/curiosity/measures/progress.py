"""The measure *progress*: pay for how much better the model predicts than a slow copy of it."""

import jax
import jax.numpy as jnp
import optax
from jaxtyping import Array, Bool, PRNGKeyArray

from curiax.config import Config
from curiax.curiosity.base import Distance, Measure, Represented, Sizes
from curiax.curiosity.measures.predict import predict
from curiax.types import CuriosityOutput, Params

DECAY = 0.99  # γ, of the copy per update


def progress(config: Config) -> Measure:
    """γ-progress (Kim et al., 2020):  θ̄ ← γ θ̄ + (1 − γ) θ  before every update, θ the forward model: core and ψ.

    Reward distance(w̄, ψ̄(b̄)) − distance(w̄, ψ(b)), signed. The model is trained as in `predict`.
    """
    measure = predict(config)

    def init(key: PRNGKeyArray, sizes: Sizes) -> tuple[Params, Params]:
        params, _ = measure.init(key, sizes)
        return params, jax.tree.map(jnp.array, params)  # a copy: an array may not be given away twice

    def score(
        params: Params,
        slow: Params,
        represented: Represented,
        valid: Bool[Array, "T B"],
        distance: Distance,
        key: PRNGKeyArray,
    ) -> CuriosityOutput:
        output = measure.score(params, (), represented, valid, distance, key)
        slow = optax.incremental_update(jax.lax.stop_gradient(params), slow, 1 - DECAY)
        before = measure.score(slow, (), represented, valid, distance, key).error
        return output._replace(error=before - output.error, critic=slow)

    return Measure(init, score, signed=True)

"""A measure of small networks on made-up trajectories, and a loop that trains it alone."""

import functools

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import optax

from curiax.config import Config, WorldConfig
from curiax.curiosity import MEASURES
from curiax.curiosity.base import Represented, Sizes, squared_distance
from curiax.curiosity.world_model import masked_mean, masked_means, weighted_sum

T, B = 4, 3
SIZES = Sizes(state=3, action=2, target=5)
CONFIG = Config(world=WorldConfig(horizon=2, hidden=(6,), latent=2))
KEY = jax.random.key(0)
VALID = jnp.ones((T, B), bool).at[1, 0].set(False)
PAIRS = 2 * T * B - 1 - B - 2  # valid pairs (t, i): a step is a reset, no pair leads beyond the end or over the reset
CREDITED = np.array([[1, 1, 1], [0, 2, 2], [1, 2, 2], [2, 2, 2]])  # pairs that end with each transition


def make_represented(seed=1) -> Represented:
    rng = np.random.default_rng(seed)
    return Represented(*(jnp.asarray(rng.standard_normal((T, B, n)), jnp.float32) for n in SIZES), {}, {})


def start(name):
    """Random parameters, and a state of zeros."""
    rng = np.random.default_rng(0)
    params, state = jax.eval_shape(lambda: MEASURES[name](CONFIG).init(KEY, SIZES))
    params = jax.tree.map(lambda leaf: jnp.asarray(0.5 * rng.standard_normal(leaf.shape), leaf.dtype), params)
    return params, jax.tree.map(lambda leaf: jnp.zeros(leaf.shape, leaf.dtype), state)


def constant(mlp, output):
    """The network that has this output whatever its input."""
    silent = jax.tree.map(jnp.zeros_like, mlp)
    last = silent.layers[-1].bias
    return eqx.tree_at(lambda mlp: mlp.layers[-1].bias, silent, jnp.broadcast_to(jnp.asarray(output), last.shape))


@functools.partial(jax.jit, static_argnums=0)
def score(name, params, state, represented, valid=VALID):
    return MEASURES[name](CONFIG).score(params, state, represented, valid, squared_distance, KEY)


def routes(name):
    """Output -> which of parameters, state and action it trains; outputs are the losses and the reward."""
    params, state = start(name)
    represented = make_represented()
    state = score(name, params, state, represented).critic  # one batch is remembered

    def outputs(params, inputs):
        output = score(name, params, state, represented._replace(**inputs))
        found = {loss: masked_mean(value) for loss, value in output.losses.items()}
        return found | {"reward": jnp.sum(output.error)}

    inputs = {part: getattr(represented, part) for part in ("state", "action", "target")}
    trained = {}
    for output, (of_params, of_inputs) in jax.jit(jax.jacrev(outputs, argnums=(0, 1)))(params, inputs).items():
        parts = (of_params | of_inputs).items()
        trained[output] = {part for part, tree in parts if any(np.any(leaf) for leaf in jax.tree.leaves(tree))}
    return trained


def total(params, measure, state, represented, key):
    """The weighted sum of the mean losses, and the output."""
    valid = jnp.ones(represented.state.shape[:2], bool)
    output = measure.score(params, state, represented, valid, squared_distance, key)
    return weighted_sum(output.losses, masked_means(output.losses)), output


def train(name, stream, num_updates, config, sizes, seed=0):
    """Parameters and state after Adam's steps on `stream(key)`, and the reward and prediction error of each step."""
    measure, optimizer = MEASURES[name](config), optax.adam(3e-3)
    params, state = measure.init(jax.random.key(seed), sizes)

    def update(carry, key):
        params, state, adam = carry
        key_stream, key_score = jax.random.split(key)
        grads, output = jax.grad(total, has_aux=True)(params, measure, state, stream(key_stream), key_score)
        with jax.numpy_dtype_promotion("standard"):
            updates, adam = optimizer.update(grads, adam)
        error = output.metrics.get("prediction_error", jnp.zeros(()))
        return (optax.apply_updates(params, updates), output.critic, adam), (jnp.mean(output.error), error)

    keys = jax.random.split(jax.random.key(seed + 1), num_updates)
    (params, state, _), seen = jax.jit(lambda carry: jax.lax.scan(update, carry, keys))(
        (params, state, optimizer.init(params))
    )
    return params, state, [np.asarray(x) for x in seen]

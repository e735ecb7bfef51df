"""Networks, as equinox modules that act on the last axis and leave all others alone."""

import math

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, PRNGKeyArray, Shaped


class Linear(eqx.Module):
    """x W + b. Kept as [in, out], so that any leading axes go into one matrix product."""

    weight: Float[Array, "i o"]
    bias: Float[Array, " o"]

    def __init__(self, num_in: int, num_out: int, key: PRNGKeyArray):
        self.weight = lecun_uniform(key, num_in, num_out)
        self.bias = jnp.zeros(num_out)

    def __call__(self, x: Float[Array, "*batch i"]) -> Float[Array, "*batch o"]:
        return add_bias(x @ self.weight, self.bias)


class LayerNorm(eqx.Module):
    scale: Float[Array, " d"]
    shift: Float[Array, " d"]

    def __init__(self, size: int):
        self.scale = jnp.ones(size)
        self.shift = jnp.zeros(size)

    def __call__(self, x: Float[Array, "*batch d"]) -> Float[Array, "*batch d"]:
        centred = x - jnp.mean(x, axis=-1, keepdims=True)
        variance = jnp.mean(jnp.square(centred), axis=-1, keepdims=True)
        scale = jnp.broadcast_to(self.scale, x.shape)
        return add_bias(centred * jax.lax.rsqrt(variance + 1e-5) * scale, self.shift)


class MLP(eqx.Module):
    """Hidden layers with ReLU, each optionally behind a LayerNorm, then a linear layer."""

    layers: tuple[Linear, ...]
    norms: tuple[LayerNorm, ...]

    def __init__(self, num_in: int, hidden: tuple[int, ...], num_out: int, key: PRNGKeyArray, layer_norm: bool = False):
        sizes = (num_in, *hidden, num_out)
        keys = jax.random.split(key, len(sizes) - 1)
        self.layers = tuple(Linear(i, o, k) for i, o, k in zip(sizes[:-1], sizes[1:], keys, strict=True))
        self.norms = tuple(LayerNorm(size) for size in hidden) if layer_norm else ()

    def __call__(self, x: Float[Array, "*batch i"]) -> Float[Array, "*batch o"]:
        return self.layers[-1](self.hidden(x))

    def hidden(self, x: Float[Array, "*batch i"]) -> Float[Array, "*batch h"]:
        """The input of the last layer."""
        for index in range(len(self.layers) - 1):
            x = self.activate(index, self.layers[index](x))
        return x

    def activate(self, index: int, x: Float[Array, "*batch h"]) -> Float[Array, "*batch h"]:
        """What follows hidden layer `index`."""
        return jax.nn.relu(self.norms[index](x) if self.norms else x)


class Channel(eqx.Module):
    """An MLP of [context, signals], and beside it a linear way for every signal, opened or shut by the context.

    y = MLP(x) + Σ_k softplus(gate_k(context)) ⊙ (signal_k W_k). The linear ways are learned at once, where an MLP would
    take long to find many small directions; the gates let a signal through in one context and not in another.
    """

    mlp: MLP
    gates: MLP
    ways: tuple[Float[Array, "i o"], ...]
    splits: tuple[int, ...] = eqx.field(static=True)  # where in the input each signal begins

    def __init__(
        self,
        num_context: int,
        num_signals: tuple[int, ...],
        hidden: tuple[int, ...],
        num_out: int,
        key: PRNGKeyArray,
        layer_norm: bool,
    ):
        key_mlp, key_gates, *keys = jax.random.split(key, 2 + len(num_signals))
        self.mlp = MLP(num_context + sum(num_signals), hidden, num_out, key_mlp, layer_norm)
        self.gates = MLP(num_context, hidden[:1], len(num_signals) * num_out, key_gates, layer_norm)
        self.ways = tuple(lecun_uniform(k, size, num_out) for k, size in zip(keys, num_signals, strict=True))
        self.splits = tuple(num_context + sum(num_signals[:k]) for k in range(len(num_signals)))

    def __call__(self, x: Float[Array, "*batch i"]) -> Float[Array, "*batch o"]:
        context, *signals = jnp.split(x, self.splits, axis=-1)
        gates = jnp.split(jax.nn.softplus(self.gates(context)), len(signals), axis=-1)
        passed = [gate * (signal @ way) for gate, signal, way in zip(gates, signals, self.ways, strict=True)]
        return sum(passed, self.mlp(x))


class VectorEncoder(eqx.Module):
    """ω for the maze and for vectors: flatten, MLP, linear."""

    mlp: MLP
    num_observation_axes: int = eqx.field(static=True)

    def __init__(self, observation_shape: tuple[int, ...], hidden: tuple[int, ...], size: int, key: PRNGKeyArray):
        num_in = 1
        for length in observation_shape:
            num_in *= length
        self.mlp = MLP(num_in, hidden, size, key)
        self.num_observation_axes = len(observation_shape)

    def __call__(self, obs: Shaped[Array, "*batch_obs"]) -> Float[Array, "*batch e"]:
        batch_shape = obs.shape[: obs.ndim - self.num_observation_axes]
        return self.mlp(obs.reshape(*batch_shape, -1).astype(jnp.float32))


def lecun_uniform(key: PRNGKeyArray, num_in: int, num_out: int) -> Float[Array, "i o"]:
    """Variance 1/in. Uniform rather than normal: it compiles faster, and there are many of these."""
    bound = math.sqrt(3 / max(num_in, 1))
    return jax.random.uniform(key, (num_in, num_out), minval=-bound, maxval=bound)


def add_bias(x: Float[Array, "*batch o"], bias: Float[Array, " o"]) -> Float[Array, "*batch o"]:
    return x + jnp.broadcast_to(bias, x.shape)  # spelled out: rank promotion is an error in the tests


def concatenate(*parts: Float[Array, "*batch _"]) -> Float[Array, "*batch d"]:
    return jnp.concatenate(parts, axis=-1)


def normalise(x: Float[Array, "*batch d"]) -> Float[Array, "*batch d"]:
    """x / ‖x‖, with a finite gradient at zero."""
    return x * jax.lax.rsqrt(jnp.sum(jnp.square(x), axis=-1, keepdims=True) + 1e-12)

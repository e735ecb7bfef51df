"""Networks, as equinox modules that act on the last axis and leave all others alone."""

import math

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, PRNGKeyArray, Shaped

from curiax.agent.kernels.convolve import convolve_and_pool, residual_block, standardise
from curiax.agent.kernels.convolve_cpu import on_cpu
from curiax.agent.streams import alone, each_its_own

OPEN = 1.0  # of a gate's logit at first
FIRST_SKIP = 0.01  # gain of a gated map at first: it grows only where it is of use
MANY_IMAGES = 64  # to be encoded in two halves on a CPU; fewer are not worth it


class Linear(eqx.Module):
    """x W + b. Kept as [in, out], so that any leading axes go into one matrix product."""

    weight: Float[Array, "i o"]
    bias: Float[Array, " o"]

    def __init__(self, num_in: int, num_out: int, key: PRNGKeyArray, gain: float = 1.0):
        self.weight = gain * lecun_uniform(key, num_in, num_out)
        self.bias = jnp.zeros(num_out)

    def __call__(self, x: Float[Array, "*batch i"]) -> Float[Array, "*batch o"]:
        return add_bias(x @ self.weight, self.bias)


class MLP(eqx.Module):
    """Hidden layers with ReLU, optionally normalised before it, then a linear layer.

    Hidden weights have variance 2/in (He et al., 2015). `last` scales the initial weights of the last layer. With
    `skip`, a linear map of the inputs from skip[0] to skip[1] is added to the outputs. If it is `gated`, it is
    multiplied by a sigmoid of a linear map of the last hidden layer.
    """

    layers: tuple[Linear, ...]
    linear: Linear | None
    gate: Linear | None
    layer_norm: bool = eqx.field(static=True)
    skip: tuple[int, int] | None = eqx.field(static=True)

    def __init__(
        self,
        num_in: int,
        hidden: tuple[int, ...],
        num_out: int,
        key: PRNGKeyArray,
        layer_norm: bool = False,
        last: float = 1.0,
        skip: tuple[int, int] | None = None,
        gated: bool = False,
    ):
        sizes = (num_in, *hidden, num_out)
        keys = jax.random.split(key, len(sizes) - 1)
        gains = [math.sqrt(2)] * len(hidden) + [last]
        self.layers = tuple(Linear(*sizes) for sizes in zip(sizes[:-1], sizes[1:], keys, gains, strict=True))
        self.layer_norm, self.skip = layer_norm, skip
        self.linear, self.gate = None, None
        if skip is not None:
            gain = FIRST_SKIP if gated else 1.0
            self.linear = Linear(skip[1] - skip[0], num_out, jax.random.fold_in(key, len(keys)), gain)
            self.gate = Linear(sizes[-2], num_out, key, gain=0.0) if gated else None

    def __call__(self, x: Float[Array, "*batch i"]) -> Float[Array, "*batch o"]:
        inputs = x
        for layer in self.layers[:-1]:
            x = layer(x)
            x = jax.nn.relu(layer_normalise(x) if self.layer_norm else x)
        output = self.layers[-1](x)
        if self.linear is None or self.skip is None:
            return output
        skipped = self.linear(inputs[..., self.skip[0] : self.skip[1]])
        return output + (skipped if self.gate is None else jax.nn.sigmoid(self.gate(x) + OPEN) * skipped)


def layer_normalise(x: Float[Array, "*batch d"]) -> Float[Array, "*batch d"]:
    """Mean 0 and variance 1 over the last axis (LayerNorm without scale and shift)."""
    centred = x - jnp.mean(x, axis=-1, keepdims=True)
    return centred * jax.lax.rsqrt(jnp.mean(jnp.square(centred), axis=-1, keepdims=True) + 1e-5)


class VectorEncoder(eqx.Module):
    """ω for the maze and for vectors: flatten, MLP, linear."""

    mlp: MLP
    num_observation_axes: int = eqx.field(static=True)
    scale: float = eqx.field(static=True)  # divides the observations

    def __init__(
        self,
        observation_shape: tuple[int, ...],
        hidden: tuple[int, ...],
        size: int,
        key: PRNGKeyArray,
        scale: float = 1.0,
        gain: float = 1.0,
        bias: float = 0.0,
    ):
        key_mlp, key_bias = jax.random.split(key) if bias else (key, key)
        self.mlp = MLP(math.prod(observation_shape), hidden, size, key_mlp, last=gain)
        if bias:  # equivalent to `bias` additional inputs that are always 1
            last = self.mlp.layers[-1]
            constant = gain * math.sqrt(bias) * lecun_uniform(key_bias, last.weight.shape[0], size)[0]
            self.mlp = eqx.tree_at(lambda mlp: mlp.layers[-1].bias, self.mlp, constant)
        self.num_observation_axes = len(observation_shape)
        self.scale = scale

    def __call__(self, obs: Shaped[Array, "*batch_obs"]) -> Float[Array, "*batch e"]:
        batch_shape = obs.shape[: obs.ndim - self.num_observation_axes]
        x = obs.reshape(*batch_shape, -1).astype(jnp.float32)
        return self.mlp(x if self.scale == 1 else x / self.scale)


class Convolution(eqx.Module):
    """The weights of one of 3×3; `ImageUnit` puts it to use together with what follows."""

    weight: Float[Array, "3 3 i o"]
    bias: Float[Array, " o"]

    def __init__(self, num_in: int, num_out: int, key: PRNGKeyArray):
        self.weight = lecun_uniform(key, 9 * num_in, num_out).reshape(3, 3, num_in, num_out)
        self.bias = jnp.zeros(num_out)


class GroupNorm(eqx.Module):
    """With one group: over all pixels and channels of an image, then a scale and a shift for each channel."""

    scale: Float[Array, " c"]
    shift: Float[Array, " c"]

    def __init__(self, channels: int):
        self.scale = jnp.ones(channels)
        self.shift = jnp.zeros(channels)

    def __call__(self, x: Float[Array, "n h w c"]) -> Float[Array, "n h w c"]:
        return add_bias(standardise(x) * jnp.broadcast_to(self.scale, x.shape), self.shift)


class ImageUnit(eqx.Module):
    """Convolution, max-pooling to half the size, two residual blocks, GroupNorm."""

    first: Convolution
    blocks: tuple[tuple[Convolution, Convolution], ...]
    norm: GroupNorm

    def __init__(self, num_in: int, num_out: int, key: PRNGKeyArray):
        key_first, *keys = jax.random.split(key, 5)
        self.first = Convolution(num_in, num_out, key_first)
        inner = [Convolution(num_out, num_out, k) for k in keys]
        self.blocks = ((inner[0], inner[1]), (inner[2], inner[3]))
        self.norm = GroupNorm(num_out)

    def __call__(self, x: Float[Array, "n h w i"]) -> Float[Array, "n h2 w2 o"]:
        x = convolve_and_pool(x, self.first.weight, self.first.bias)
        for one, two in self.blocks:
            x = residual_block(x, one.weight, one.bias, two.weight, two.bias)
        return self.norm(x)


class ImageEncoder(eqx.Module):
    """ω for images (Guo et al., 2022; the residual network of Espeholt et al., 2018): units, ReLU, flatten, linear.

    Images keep their own dtype until here: grey values of one byte are a quarter of the memory. With patches, a linear
    layer makes a pixel of each, and the units have so much less to do.
    """

    patches: Linear | None
    units: tuple[ImageUnit, ...]
    head: MLP
    observation_shape: tuple[int, ...] = eqx.field(static=True)
    scale: float = eqx.field(static=True)  # divides the observations
    patch: int = eqx.field(static=True)  # side of a patch

    def __init__(
        self,
        observation_shape: tuple[int, ...],  # [H, W] or [H, W, C]
        channels: tuple[int, ...],
        hidden: tuple[int, ...],
        size: int,
        key: PRNGKeyArray,
        scale: float = 1.0,
        patch: int = 1,
    ):
        height, width, num_in = (*observation_shape, 1)[:3]
        key_head, *keys = jax.random.split(key, 1 + len(channels))
        self.patches = None
        if patch > 1:
            self.patches = Linear(patch**2 * num_in, channels[0], jax.random.fold_in(key, patch))
            height, width, num_in = -(-height // patch), -(-width // patch), channels[0]
        sizes = zip((num_in, *channels[:-1]), channels, keys, strict=True)
        self.units = tuple(ImageUnit(i, o, k) for i, o, k in sizes)
        for _ in channels:
            height, width = (height + 1) // 2, (width + 1) // 2
        self.head = MLP(height * width * channels[-1], hidden, size, key_head)
        self.observation_shape, self.scale, self.patch = observation_shape, scale, patch

    def __call__(self, obs: Shaped[Array, "*batch_obs"]) -> Float[Array, "*batch e"]:
        """The last of the batch axes are the streams: every device encodes the images of its own."""
        num_batch_axes = obs.ndim - len(self.observation_shape)
        encode = each_its_own(ImageEncoder.encode, num_batch_axes - 1) if num_batch_axes else ImageEncoder.encode
        return encode(self, obs)

    def encode(self, obs: Shaped[Array, "*batch_obs"]) -> Float[Array, "*batch e"]:
        batch_shape = obs.shape[: obs.ndim - len(self.observation_shape)]
        images = obs.reshape(-1, *(*self.observation_shape, 1)[:3])
        # XLA for CPUs runs a loop over images on one core, and two such loops at the same time.
        in_halves = images.shape[0] >= MANY_IMAGES and on_cpu() and alone()
        middle = images.shape[0] // 2 if in_halves else 0
        features = [self.features(half) for half in (images[:middle], images[middle:]) if half.shape[0]]
        return self.head(jnp.concatenate(features).reshape(*batch_shape, -1))

    def features(self, images: Shaped[Array, "n h w c"]) -> Float[Array, "n h2 w2 o"]:
        if self.patches is None:
            x = images.astype(jnp.float32) / self.scale
        else:
            x = jax.nn.relu(self.patches(cut(images, self.patch).astype(jnp.float32) / self.scale))
        for unit in self.units:
            x = unit(x)
        return jax.nn.relu(x)


def cut(x: Shaped[Array, "n h w c"], patch: int) -> Shaped[Array, "n h2 w2 d"]:
    """Squares of `patch` × `patch` pixels, each as one vector; zeros where the last ones reach over the edge."""
    n, height, width, channels = x.shape
    x = jnp.pad(x, ((0, 0), (0, -height % patch), (0, -width % patch), (0, 0)))
    rows, columns = x.shape[1] // patch, x.shape[2] // patch
    squares = x.reshape(n, rows, patch, columns, patch, channels).transpose(0, 1, 3, 2, 4, 5)
    return squares.reshape(n, rows, columns, -1)


def lecun_uniform(key: PRNGKeyArray, num_in: int, num_out: int) -> Float[Array, "i o"]:
    """Variance 1/in. Uniform rather than normal: it compiles faster, and there are many of these."""
    bound = math.sqrt(3 / max(num_in, 1))
    return jax.random.uniform(key, (num_in, num_out), minval=-bound, maxval=bound)


def embed_action(table: Float[Array, "n e"], action: Shaped[Array, "*batch_action"]) -> Float[Array, "*batch e"]:
    """The row of an action that is a number; of a vector its product with the table, the row again if it is one-hot."""
    return table[action] if jnp.issubdtype(action.dtype, jnp.integer) else action @ table


def add_bias(x: Float[Array, "*batch o"], bias: Float[Array, " o"]) -> Float[Array, "*batch o"]:
    return x + jnp.broadcast_to(bias, x.shape)  # spelled out: rank promotion is an error in the tests


def concatenate(*parts: Float[Array, "*batch _"]) -> Float[Array, "*batch d"]:
    return jnp.concatenate(parts, axis=-1)


def normalise(x: Float[Array, "*batch d"]) -> Float[Array, "*batch d"]:
    """x / ‖x‖, with a finite gradient at zero."""
    return x * jax.lax.rsqrt(jnp.sum(jnp.square(x), axis=-1, keepdims=True) + 1e-12)

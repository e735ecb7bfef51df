"""The operations of the image encoder. CPUs use versions with faster gradients, `convolve_cpu`."""

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from curiax.agent.kernels import convolve_cpu
from curiax.agent.kernels.convolve_cpu import on_cpu


def convolve_and_pool(
    x: Float[Array, "n h w i"], weight: Float[Array, "3 3 i o"], bias: Float[Array, " o"]
) -> Float[Array, "n h2 w2 o"]:
    """3×3 convolution, then 3×3 max-pooling with stride 2."""
    if on_cpu():
        return convolve_cpu.convolve_and_pool(x, weight, bias)
    return max_pool(convolve(x, weight, bias))


def residual_block(
    x: Float[Array, "n h w c"],
    one: Float[Array, "3 3 c c"],
    one_bias: Float[Array, " c"],
    two: Float[Array, "3 3 c c"],
    two_bias: Float[Array, " c"],
) -> Float[Array, "n h w c"]:
    """x + two(relu(one(relu(x)))), where one and two are convolutions."""
    if on_cpu():
        return convolve_cpu.residual_block(x, one, one_bias, two, two_bias)
    return x + convolve(jax.nn.relu(convolve(jax.nn.relu(x), one, one_bias)), two, two_bias)


def standardise(x: Float[Array, "n h w c"]) -> Float[Array, "n h w c"]:
    """Normalises each image to mean 0 and variance 1 over its pixels and channels."""
    if on_cpu():
        return convolve_cpu.standardise(x)
    centred = x - jnp.mean(x, axis=(1, 2, 3), keepdims=True)
    return centred * jax.lax.rsqrt(jnp.mean(jnp.square(centred), axis=(1, 2, 3), keepdims=True) + 1e-5)


def convolve(
    x: Float[Array, "n h w i"], weight: Float[Array, "3 3 i o"], bias: Float[Array, " o"]
) -> Float[Array, "n h w o"]:
    """3×3 convolution, zero-padded to keep the size."""
    y = jax.lax.conv_general_dilated(x, weight, (1, 1), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC"))
    return y + jnp.broadcast_to(bias, y.shape)


def max_pool(x: Float[Array, "n h w c"]) -> Float[Array, "n h2 w2 c"]:
    """3×3 max-pooling with stride 2, around the pixels 0, 2, … of each side."""
    padding = ((0, 0), *((1, side % 2) for side in x.shape[1:3]), (0, 0))
    return jax.lax.reduce_window(x, -jnp.inf, jax.lax.max, (1, 3, 3, 1), (1, 2, 2, 1), padding)

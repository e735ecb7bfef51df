"""Convolution and max-pooling whose gradients are fast on a CPU, where XLA's own take several times as long."""

import math
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

PIXELS = 2**12  # of images whose part in the gradient of a kernel is found at a time: they stay in the cache


@jax.custom_vjp
def convolve(x: Float[Array, "n h w i"], weight: Float[Array, "3 3 i o"]) -> Float[Array, "n h w o"]:
    """3×3, the image zero-padded to keep its size."""
    layout = ("NHWC", "HWIO", "NHWC")
    return jax.lax.conv_general_dilated(x, weight, (1, 1), "SAME", dimension_numbers=layout)


def _convolve_forward(x: Array, weight: Array) -> tuple[Array, tuple[Array, Array]]:
    return convolve(x, weight), (x, weight)


def _convolve_backward(saved: tuple[Array, Array], grad: Array) -> tuple[Array, Array]:
    """To the image, a convolution with the kernel turned round; to the kernel, a few images at a time."""
    x, weight = saved
    to_x = convolve(grad, jnp.flip(weight, (0, 1)).swapaxes(2, 3))
    most = 2 ** int(math.log2(max(PIXELS // math.prod(x.shape[1:3]), 1)))
    num_images = math.gcd(x.shape[0], most)

    def add(total: Array, part: tuple[Array, Array]) -> tuple[Array, None]:
        return total + kernel_gradient(*part), None

    parts = (x.reshape(-1, num_images, *x.shape[1:]), grad.reshape(-1, num_images, *grad.shape[1:]))
    return to_x, jax.lax.scan(add, jnp.zeros_like(weight), parts)[0]


convolve.defvjp(_convolve_forward, _convolve_backward)


def kernel_gradient(x: Float[Array, "n h w i"], grad: Float[Array, "n h w o"]) -> Float[Array, "3 3 i o"]:
    """One matrix product for all nine places in the kernel: rows of x, shifted, times columns of grad, shifted.

    A product of sizes 3·in and 3·out fills the machine's registers; nine of sizes in and out do not.
    """
    _, height, width, num_in = x.shape
    padded_x = jnp.pad(x, ((0, 0), (1, 1), (0, 0), (0, 0)))
    padded_grad = jnp.pad(grad, ((0, 0), (0, 0), (1, 1), (0, 0)))
    rows = jnp.concatenate([padded_x[:, i : i + height] for i in range(3)], axis=-1)
    columns = jnp.concatenate([padded_grad[:, :, 2 - j : 2 - j + width] for j in range(3)], axis=-1)
    product = rows.reshape(-1, 3 * num_in).T @ columns.reshape(-1, 3 * grad.shape[-1])
    return product.reshape(3, num_in, 3, -1).transpose(0, 2, 1, 3)


@partial(jax.custom_vjp, nondiff_argnums=(1,))
def max_pool(x: Float[Array, "n h w c"], axis: int) -> Float[Array, "n h2 w2 c"]:
    """Of three neighbours along one axis, stride 2: every even place and the odd ones before and after it."""
    even, odd = _even_odd(x, axis)
    return jnp.maximum(jnp.maximum(_shift(odd, axis, 1, -jnp.inf), even), odd)


def _max_pool_forward(x: Array, axis: int) -> tuple[Array, tuple[Array, Array]]:
    y: Any = max_pool(x, axis)
    return y, (x, y)


def _max_pool_backward(axis: int, saved: tuple[Array, Array], grad: Array) -> tuple[Array]:
    """All of it to the largest of the three; of equal ones, to the first."""
    x, y = saved
    even, odd = _even_odd(x, axis)
    before = _shift(odd, axis, 1, -jnp.inf) == y
    here = (even == y) & ~before
    nothing = jnp.zeros_like(grad)
    to_even = jnp.where(here, grad, nothing)
    to_odd = jnp.where(before | here, nothing, grad) + _shift(jnp.where(before, grad, nothing), axis, -1, 0.0)
    both = jnp.stack([to_even, to_odd], axis + 1).reshape(*grad.shape[:axis], -1, *grad.shape[axis + 1 :])
    return (jax.lax.slice_in_dim(both, 0, x.shape[axis], axis=axis),)


max_pool.defvjp(_max_pool_forward, _max_pool_backward)


def _even_odd(x: Array, axis: int) -> tuple[Array, Array]:
    """The places 0, 2, … and 1, 3, … along an axis; an odd length is made even."""
    padding = [(0, 0)] * x.ndim
    padding[axis] = (0, x.shape[axis] % 2)
    pairs = jnp.pad(x, padding, constant_values=-jnp.inf).reshape(*x.shape[:axis], -1, 2, *x.shape[axis + 1 :])
    return jax.lax.index_in_dim(pairs, 0, axis + 1, False), jax.lax.index_in_dim(pairs, 1, axis + 1, False)


def _shift(x: Array, axis: int, steps: int, value: float) -> Array:
    padding = [(0, 0, 0)] * x.ndim
    padding[axis] = (steps, -steps, 0)
    return jax.lax.pad(x, jnp.asarray(value, x.dtype), padding)

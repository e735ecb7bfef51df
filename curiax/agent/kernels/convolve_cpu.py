"""The operations of the image encoder for CPUs, where XLA's own gradients take several times as long.

Most of that time is not arithmetic but memory touched for the first time, images that leave the cache before they are
used again, and values that XLA recomputes in every consumer.
"""

import math
from collections.abc import Callable
from itertools import product
from typing import Any

import jax
import jax.numpy as jnp
from jax.experimental.xla_metadata import set_xla_metadata
from jaxtyping import Array, Float, UInt8

PIXELS = 2**12  # per chunk of images in a kernel gradient: a chunk stays in the cache
POOLED_PIXELS = 2**13  # per chunk of images in convolve-and-pool; 32 frames of the laptop preset are one chunk
NOWHERE = 9  # not a place in a window; those are 0 to 8, row + 3 · column
PLACES = ((1, 2), (NOWHERE, 0))  # of an even and an odd line, in its own window and in the next


def on_cpu() -> bool:
    return jax.default_backend() == "cpu"


def apart(function: Callable[..., Any]) -> Callable[..., Any]:
    """The function as a call that XLA does not inline: on CPUs it would recompute the result in every consumer."""

    @jax.jit
    def inner(*args: Array) -> Any:
        with set_xla_metadata(inlineable=None):  # only `inner` itself stays a call
            return function(*args)

    def outer(*args: Array) -> Any:
        with set_xla_metadata(inlineable="false"):
            return inner(*args)

    return outer


@jax.custom_vjp
def convolve_and_pool(
    x: Float[Array, "n h w i"], weight: Float[Array, "3 3 i o"], bias: Float[Array, " o"]
) -> Float[Array, "n h2 w2 o"]:
    """`max_pool` of a convolution with bias; the bias is added after pooling, which is the same."""
    return _convolve_and_pool_forward(x, weight, bias)[0]


def _convolve_and_pool_forward(x: Array, weight: Array, bias: Array) -> tuple[Array, tuple[Array, Array, Array]]:
    """In chunks of images. Of the convolution only the places of the maxima are saved, one byte each."""
    pool = apart(lambda y: max_pool(y, bias))

    def part(_: None, images: Array) -> tuple[None, tuple[Array, Array]]:
        return None, pool(convolve(images, weight))

    _, (pooled, places) = jax.lax.scan(part, None, _parts(x, _num_at_once(x, POOLED_PIXELS)))
    return _whole(pooled), (x, weight, _whole(places))


def _convolve_and_pool_backward(saved: tuple[Array, Array, Array], grad: Array) -> tuple[Array, Array, Array]:
    x, weight, places = saved
    _, height, width, _ = x.shape
    unpool_all = apart(lambda places, grad: unpool(places, grad)[:, :height, :width])

    def part(total: Array, images: tuple[Array, Array, Array]) -> tuple[Array, Array]:
        to_y = unpool_all(*images[1:])
        return total + kernel_gradient(images[0], to_y), convolve(to_y, _turned(weight))

    num_images = _num_at_once(x, POOLED_PIXELS)
    images = (_parts(x, num_images), _parts(places, num_images), _parts(grad, num_images))
    to_weight, to_x = jax.lax.scan(part, jnp.zeros_like(weight), images)
    return _whole(to_x), to_weight, jnp.sum(grad, axis=(0, 1, 2))


convolve_and_pool.defvjp(_convolve_and_pool_forward, _convolve_and_pool_backward)


@jax.custom_vjp
def residual_block(
    x: Float[Array, "n h w c"],
    one: Float[Array, "3 3 c c"],
    one_bias: Float[Array, " c"],
    two: Float[Array, "3 3 c c"],
    two_bias: Float[Array, " c"],
) -> Float[Array, "n h w c"]:
    """x + two(relu(one(relu(x)))), where one and two are convolutions."""
    return _residual_block_forward(x, one, one_bias, two, two_bias)[0]


def _residual_block_forward(
    x: Array, one: Array, one_bias: Array, two: Array, two_bias: Array
) -> tuple[Array, tuple[Array, Array, Array, Array]]:
    """Saves the inputs of both convolutions, which also show where the ReLUs were active."""
    before_one = _relu(x, jnp.zeros_like(one_bias))
    before_two = _relu(convolve(before_one, one), one_bias)
    return _add(x, convolve(before_two, two), two_bias), (before_one, before_two, one, two)


def _residual_block_backward(saved: tuple[Array, Array, Array, Array], grad: Array) -> tuple[Array, ...]:
    before_one, before_two, one, two = saved
    to_one = _where_positive(before_two, convolve(grad, _turned(two)))
    to_x = _add_where_positive(grad, before_one, convolve(to_one, _turned(one)))
    to_biases = [jnp.sum(to_y, axis=(0, 1, 2)) for to_y in (to_one, grad)]
    return to_x, kernel_gradient(before_one, to_one), to_biases[0], kernel_gradient(before_two, grad), to_biases[1]


residual_block.defvjp(_residual_block_forward, _residual_block_backward)


@apart
def _relu(x: Float[Array, "n h w c"], bias: Float[Array, " c"]) -> Float[Array, "n h w c"]:
    return jnp.maximum(x + jnp.broadcast_to(bias, x.shape), 0.0)


@apart
def _add(x: Float[Array, "n h w c"], y: Float[Array, "n h w c"], bias: Float[Array, " c"]) -> Float[Array, "n h w c"]:
    return x + y + jnp.broadcast_to(bias, x.shape)


@apart
def _where_positive(x: Float[Array, "n h w c"], grad: Float[Array, "n h w c"]) -> Float[Array, "n h w c"]:
    return jnp.where(x > 0, grad, 0.0)


@apart
def _add_where_positive(
    y: Float[Array, "n h w c"], x: Float[Array, "n h w c"], grad: Float[Array, "n h w c"]
) -> Float[Array, "n h w c"]:
    return y + jnp.where(x > 0, grad, 0.0)


@jax.custom_vjp
def standardise(x: Float[Array, "n h w c"]) -> Float[Array, "n h w c"]:
    """Normalises each image to mean 0 and variance 1 over its pixels and channels."""
    return _standardise_forward(x)[0]


def _standardise_forward(x: Array) -> tuple[Array, tuple[Array, Array]]:
    mean = _mean(x)
    factor = jax.lax.rsqrt(_mean(jnp.square(x - mean)) + 1e-5)
    y = _centre_and_scale(x, mean, factor)
    return y, (y, factor)


def _standardise_backward(saved: tuple[Array, Array], grad: Array) -> tuple[Array]:
    """Removes the gradient's components along the constant image and along y: neither changes y (up to ε)."""
    y, factor = saved
    return (factor * (grad - _mean(grad) - y * _mean(grad * y)),)


standardise.defvjp(_standardise_forward, _standardise_backward)


@apart
def _centre_and_scale(
    x: Float[Array, "n h w c"], mean: Float[Array, "n 1 1 1"], factor: Float[Array, "n 1 1 1"]
) -> Float[Array, "n h w c"]:
    return (x - mean) * factor


def _mean(x: Float[Array, "n h w c"]) -> Float[Array, "n 1 1 1"]:
    return jnp.mean(x, axis=(1, 2, 3), keepdims=True)


def convolve(x: Float[Array, "n h w i"], weight: Float[Array, "3 3 i o"]) -> Float[Array, "n h w o"]:
    """3×3 convolution, zero-padded to keep the size."""
    if x.shape[-1] == 1:
        return _convolve_one_channel(x, weight)
    layout = ("NHWC", "HWIO", "NHWC")
    return jax.lax.conv_general_dilated(x, weight, (1, 1), "SAME", dimension_numbers=layout)


@apart
def _convolve_one_channel(x: Float[Array, "n h w 1"], weight: Float[Array, "3 3 1 o"]) -> Float[Array, "n h w o"]:
    """A plain sum of shifted images: with one channel, XLA's convolution takes a dozen times as long."""
    shape = (*x.shape[:3], weight.shape[-1])
    weights = weight.reshape(9, -1)
    return sum(
        (jnp.broadcast_to(image, shape) * jnp.broadcast_to(weights[k], shape) for k, image in enumerate(_shifted(x))),
        jnp.zeros(shape, x.dtype),
    )


def kernel_gradient(x: Float[Array, "n h w i"], grad: Float[Array, "n h w o"]) -> Float[Array, "3 3 i o"]:
    """Gradient of a convolution's kernel, in chunks of images. Chunks are sliced in place; a scan would copy them."""
    num_images = _num_at_once(x, PIXELS)
    of_few = _kernel_gradient_one_channel if x.shape[-1] == 1 else _kernel_gradient

    def add(index: Array, total: Array) -> Array:
        cut = (jax.lax.dynamic_slice_in_dim(array, index * num_images, num_images) for array in (x, grad))
        return total + of_few(*cut)

    total = jnp.zeros((3, 3, x.shape[-1], grad.shape[-1]), x.dtype)
    return jax.lax.fori_loop(0, x.shape[0] // num_images, add, total)


def _kernel_gradient(x: Float[Array, "n h w i"], grad: Float[Array, "n h w o"]) -> Float[Array, "3 3 i o"]:
    """One matrix product for all nine places in the kernel: x shifted by rows times grad shifted by columns.

    A product of sizes 3·in and 3·out fills the registers; nine products of sizes in and out do not.
    """
    _, height, width, num_in = x.shape
    padded_x = jnp.pad(x, ((0, 0), (1, 1), (0, 0), (0, 0)))
    padded_grad = jnp.pad(grad, ((0, 0), (0, 0), (1, 1), (0, 0)))
    rows = jnp.concatenate([padded_x[:, i : i + height] for i in range(3)], axis=-1)
    columns = jnp.concatenate([padded_grad[:, :, 2 - j : 2 - j + width] for j in range(3)], axis=-1)
    all_places = rows.reshape(-1, 3 * num_in).T @ columns.reshape(-1, 3 * grad.shape[-1])
    return all_places.reshape(3, num_in, 3, -1).transpose(0, 2, 1, 3)


def _kernel_gradient_one_channel(x: Float[Array, "n h w 1"], grad: Float[Array, "n h w o"]) -> Float[Array, "3 3 1 o"]:
    images = jnp.stack(_shifted(x)).reshape(9, -1)
    return (images @ grad.reshape(-1, grad.shape[-1])).reshape(3, 3, 1, -1)


def _shifted(x: Float[Array, "n h w c"]) -> list[Float[Array, "n h w c"]]:
    """The image shifted for each of the nine places in a kernel."""
    _, height, width, _ = x.shape
    padded = jnp.pad(x, ((0, 0), (1, 1), (1, 1), (0, 0)))
    return [padded[:, i : i + height, j : j + width] for i, j in product(range(3), range(3))]


def _turned(weight: Float[Array, "3 3 i o"]) -> Float[Array, "3 3 o i"]:
    """The flipped kernel, whose convolution propagates a gradient to the image."""
    return jnp.flip(weight, (0, 1)).swapaxes(2, 3)


def max_pool(
    x: Float[Array, "n h w c"], bias: Float[Array, " c"]
) -> tuple[Float[Array, "n h2 w2 c"], UInt8[Array, "n h2 w2 c"]]:
    """3×3 max-pooling with stride 2, plus a bias; and each maximum's place in its window, the first of equal ones."""
    places = jnp.zeros(x.shape, jnp.int32)
    for axis, step in ((1, 1), (2, 3)):
        x, places = _largest_of_three(x, places, axis, step)
    return x + jnp.broadcast_to(bias, x.shape), places.astype(jnp.uint8)


def _largest_of_three(x: Array, places: Array, axis: int, step: int) -> tuple[Array, Array]:
    """Maxima of three neighbours along one axis, around even indices. A place grows by `step` per neighbour passed."""
    before, here, after = _three(x, axis, -jnp.inf)
    first, second, third = _three(places, axis, 0.0)
    y = jnp.maximum(jnp.maximum(before, here), after)
    return y, jnp.where(before == y, first, jnp.where(here == y, second + step, third + 2 * step))


def _three(x: Array, axis: int, value: float) -> tuple[Array, Array, Array]:
    """The elements before, at and after the indices 0, 2, … along an axis, padded with `value`."""
    padding = [(0, 0, 0)] * x.ndim
    padding[axis] = (0, x.shape[axis] % 2, 0)
    constant = jnp.asarray(value, x.dtype)
    pairs = jax.lax.pad(x, constant, padding).reshape(*x.shape[:axis], -1, 2, *x.shape[axis + 1 :])
    even, odd = (jax.lax.index_in_dim(pairs, k, axis + 1, keepdims=False) for k in (0, 1))
    padding[axis] = (1, -1, 0)
    return jax.lax.pad(odd, constant, padding), even, odd


def unpool(places: UInt8[Array, "n h2 w2 c"], grad: Float[Array, "n h2 w2 c"]) -> Float[Array, "n h w c"]:
    """Gradient of `max_pool`: grad at the places of the maxima. Sides of the result are even; callers cut odd ones.

    Every pixel checks whether it was the maximum of its own window and of the next ones below and to the right: no
    branches, and nothing to interleave.
    """
    n, height, width, channels = grad.shape
    shape = (n, height, 2, width, 2, channels)
    end = ((0, 0), (0, 1), (0, 1), (0, 0))
    places, grad = jnp.pad(places, end, constant_values=255), jnp.pad(grad, end)
    total = jnp.zeros(shape, grad.dtype)
    for i, j in product((0, 1), (0, 1)):
        asked = [[row + 3 * column for column in PLACES[j]] for row in PLACES[i]]
        place = jnp.broadcast_to(jnp.array(asked, jnp.uint8).reshape(1, 1, 2, 1, 2, 1), shape)
        largest, value = (_spread(array[:, i : i + height, j : j + width], shape) for array in (places, grad))
        total += jnp.where(largest == place, value, 0.0)
    return total.reshape(n, 2 * height, 2 * width, channels)


def _spread(x: Array, shape: tuple[int, ...]) -> Array:
    return jnp.broadcast_to(x[:, :, None, :, None], shape)


def _num_at_once(x: Float[Array, "n h w c"], pixels: int) -> int:
    """Images per chunk of about `pixels` pixels: a power of two that divides the number of images."""
    most = 2 ** int(math.log2(max(pixels // math.prod(x.shape[1:3]), 1)))
    return math.gcd(x.shape[0], most)


def _parts(x: Array, num_images: int) -> Array:
    return x.reshape(-1, num_images, *x.shape[1:])


def _whole(parts: Array) -> Array:
    return parts.reshape(-1, *parts.shape[2:])

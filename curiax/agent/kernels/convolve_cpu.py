"""The parts of an image network for a CPU, where XLA's own gradients of them take several times as long.

What costs most there is not arithmetic: it is memory touched for the first time, images that leave the cache before
they are used again, and values that XLA computes anew in everything that uses them.
"""

import math
from collections.abc import Callable
from itertools import product
from typing import Any

import jax
import jax.numpy as jnp
from jax.experimental.xla_metadata import set_xla_metadata
from jaxtyping import Array, Float, UInt8

PIXELS = 2**12  # of images whose part in the gradient of a kernel is found at a time: they stay in the cache
POOLED_PIXELS = 2**13  # of images that are convolved and pooled at a time; 32 frames of a laptop are one part
NOWHERE = 9  # no place in a window; those are 0 to 8, the row plus three times the column
PLACES = ((1, 2), (NOWHERE, 0))  # of an even and of an odd line: in the window around it, and in the next


def on_cpu() -> bool:
    return jax.default_backend() == "cpu"


def apart(function: Callable[..., Any]) -> Callable[..., Any]:
    """Computed once and by itself: XLA for CPUs would do it again in everything that uses it, often slowly."""

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
    """`max_pool` of a convolution and its bias, which may as well be added after it."""
    return _convolve_and_pool_forward(x, weight, bias)[0]


def _convolve_and_pool_forward(x: Array, weight: Array, bias: Array) -> tuple[Array, tuple[Array, Array, Array]]:
    """A few images at a time. All that is kept of their convolution is where the largest were, a byte for each."""
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
    """Kept are the inputs of both convolutions: they also tell where ReLU let something through."""
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
    """Every image to mean 0 and variance 1, over all its pixels and channels."""
    return _standardise_forward(x)[0]


def _standardise_forward(x: Array) -> tuple[Array, tuple[Array, Array]]:
    mean = _mean(x)
    factor = jax.lax.rsqrt(_mean(jnp.square(x - mean)) + 1e-5)
    y = _centre_and_scale(x, mean, factor)
    return y, (y, factor)


def _standardise_backward(saved: tuple[Array, Array], grad: Array) -> tuple[Array]:
    """Without its part along the constant image and, but for ε, its part along y: neither moves y."""
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
    """3×3, the image zero-padded to keep its size."""
    if x.shape[-1] == 1:
        return _convolve_one_channel(x, weight)
    layout = ("NHWC", "HWIO", "NHWC")
    return jax.lax.conv_general_dilated(x, weight, (1, 1), "SAME", dimension_numbers=layout)


@apart
def _convolve_one_channel(x: Float[Array, "n h w 1"], weight: Float[Array, "3 3 1 o"]) -> Float[Array, "n h w o"]:
    """A plain sum: XLA's convolution is made for many channels, and takes a dozen times as long."""
    shape = (*x.shape[:3], weight.shape[-1])
    weights = weight.reshape(9, -1)
    return sum(
        (jnp.broadcast_to(image, shape) * jnp.broadcast_to(weights[k], shape) for k, image in enumerate(_shifted(x))),
        jnp.zeros(shape, x.dtype),
    )


def kernel_gradient(x: Float[Array, "n h w i"], grad: Float[Array, "n h w o"]) -> Float[Array, "3 3 i o"]:
    """Of a convolution of x, a few images at a time. They are cut out where they are: a scan would copy them all."""
    num_images = _num_at_once(x, PIXELS)
    of_few = _kernel_gradient_one_channel if x.shape[-1] == 1 else _kernel_gradient

    def add(index: Array, total: Array) -> Array:
        cut = (jax.lax.dynamic_slice_in_dim(array, index * num_images, num_images) for array in (x, grad))
        return total + of_few(*cut)

    total = jnp.zeros((3, 3, x.shape[-1], grad.shape[-1]), x.dtype)
    return jax.lax.fori_loop(0, x.shape[0] // num_images, add, total)


def _kernel_gradient(x: Float[Array, "n h w i"], grad: Float[Array, "n h w o"]) -> Float[Array, "3 3 i o"]:
    """One matrix product for all nine places in the kernel: rows of x, shifted, times columns of grad, shifted.

    A product of sizes 3·in and 3·out fills the machine's registers; nine of sizes in and out do not.
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
    """The image as each place in a kernel sees it."""
    _, height, width, _ = x.shape
    padded = jnp.pad(x, ((0, 0), (1, 1), (1, 1), (0, 0)))
    return [padded[:, i : i + height, j : j + width] for i, j in product(range(3), range(3))]


def _turned(weight: Float[Array, "3 3 i o"]) -> Float[Array, "3 3 o i"]:
    """The kernel whose convolution takes a gradient back to the image."""
    return jnp.flip(weight, (0, 1)).swapaxes(2, 3)


def max_pool(
    x: Float[Array, "n h w c"], bias: Float[Array, " c"]
) -> tuple[Float[Array, "n h2 w2 c"], UInt8[Array, "n h2 w2 c"]]:
    """Of 3×3 neighbours around every second pixel the largest, plus a bias; and its place. Of equal ones, the first."""
    places = jnp.zeros(x.shape, jnp.int32)
    for axis, step in ((1, 1), (2, 3)):
        x, places = _largest_of_three(x, places, axis, step)
    return x + jnp.broadcast_to(bias, x.shape), places.astype(jnp.uint8)


def _largest_of_three(x: Array, places: Array, axis: int, step: int) -> tuple[Array, Array]:
    """Along one axis, around every even place; `step` is added to a place for each one that was passed over."""
    before, here, after = _three(x, axis, -jnp.inf)
    first, second, third = _three(places, axis, 0.0)
    y = jnp.maximum(jnp.maximum(before, here), after)
    return y, jnp.where(before == y, first, jnp.where(here == y, second + step, third + 2 * step))


def _three(x: Array, axis: int, value: float) -> tuple[Array, Array, Array]:
    """Before, at and after the places 0, 2, … along an axis; beyond its ends there is `value`."""
    padding = [(0, 0, 0)] * x.ndim
    padding[axis] = (0, x.shape[axis] % 2, 0)
    constant = jnp.asarray(value, x.dtype)
    pairs = jax.lax.pad(x, constant, padding).reshape(*x.shape[:axis], -1, 2, *x.shape[axis + 1 :])
    even, odd = (jax.lax.index_in_dim(pairs, k, axis + 1, keepdims=False) for k in (0, 1))
    padding[axis] = (1, -1, 0)
    return jax.lax.pad(odd, constant, padding), even, odd


def unpool(places: UInt8[Array, "n h2 w2 c"], grad: Float[Array, "n h2 w2 c"]) -> Float[Array, "n h w c"]:
    """Gradients of `max_pool` to where the largest were. Sides are even: of an odd one, the last line is too many.

    Every pixel asks the window around it and the next ones down and to the right whether it was their largest: no
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
    """Of images with about so many pixels together: a power of two that divides their number."""
    most = 2 ** int(math.log2(max(pixels // math.prod(x.shape[1:3]), 1)))
    return math.gcd(x.shape[0], most)


def _parts(x: Array, num_images: int) -> Array:
    return x.reshape(-1, num_images, *x.shape[1:])


def _whole(parts: Array) -> Array:
    return parts.reshape(-1, *parts.shape[2:])

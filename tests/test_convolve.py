"""Gradients written for speed are those that XLA finds."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from curiax.agent.convolve import convolve, kernel_gradient, max_pool

rng = np.random.default_rng(0)


def normal(*shape):
    return jnp.asarray(rng.normal(size=shape), jnp.float32)


def plain(x, weight):
    return jax.lax.conv_general_dilated(x, weight, (1, 1), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC"))


@pytest.mark.parametrize("num_images", [1, 6, 8])
def test_the_gradient_of_a_convolution_is_that_of_xla(num_images):
    x, weight, direction = normal(num_images, 5, 7, 2), normal(3, 3, 2, 4), normal(num_images, 5, 7, 4)
    gradients = [
        jax.jit(jax.grad(lambda x, w, f=f: jnp.sum(direction * f(x, w)), argnums=(0, 1)))(x, weight)
        for f in (convolve, plain)
    ]
    jax.tree.map(lambda a, b: np.testing.assert_allclose(a, b, rtol=1e-4, atol=1e-4), *gradients)


def test_a_kernels_gradient_golden():
    # One image of one pixel row 1 2 3, a gradient on the middle pixel: the kernel's middle row saw exactly these.
    x, grad = jnp.array([1.0, 2.0, 3.0]).reshape(1, 1, 3, 1), jnp.array([0.0, 1.0, 0.0]).reshape(1, 1, 3, 1)
    np.testing.assert_array_equal(kernel_gradient(x, grad)[:, :, 0, 0], [[0, 0, 0], [1, 2, 3], [0, 0, 0]])


@pytest.mark.parametrize("shape", [(2, 6, 7, 3), (1, 9, 4, 2)])
def test_the_gradient_of_pooling_is_that_of_xla(shape):
    def xla(x):
        window = ((0, 0), *((1, length % 2) for length in shape[1:3]), (0, 0))
        return jax.lax.reduce_window(x, -jnp.inf, jax.lax.max, (1, 3, 3, 1), (1, 2, 2, 1), window)

    x = normal(*shape)
    direction = normal(*xla(x).shape)
    ours = jax.jit(jax.grad(lambda x: jnp.sum(direction * max_pool(max_pool(x, 1), 2))))(x)
    np.testing.assert_allclose(ours, jax.jit(jax.grad(lambda x: jnp.sum(direction * xla(x))))(x), rtol=1e-6)


def test_of_equal_neighbours_the_first_gets_the_gradient_and_none_is_lost():
    gradient = jax.jit(jax.grad(lambda x: jnp.sum(max_pool(x, 1))))(jnp.ones((1, 5, 1, 1)))
    np.testing.assert_array_equal(gradient.ravel(), [1, 1, 0, 1, 0])  # windows (0, 1), (1, 2, 3), (3, 4)

"""Gradients written for a CPU are those that XLA finds, by which other devices learn."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from curiax.agent.kernels import convolve as plain
from curiax.agent.kernels import convolve_cpu as module
from curiax.agent.kernels.convolve_cpu import (
    convolve,
    convolve_and_pool,
    kernel_gradient,
    max_pool,
    residual_block,
    standardise,
    unpool,
)

rng = np.random.default_rng(0)


def normal(*shape):
    return jnp.asarray(rng.normal(size=shape), jnp.float32)


def plain_convolve(x, weight):
    return plain.convolve(x, weight, jnp.zeros(weight.shape[-1]))


@pytest.fixture
def elsewhere(monkeypatch):
    """The plain form is what other devices use."""
    monkeypatch.setattr(plain, "on_cpu", lambda: False)


def assert_same(fast, plain, *args):
    """Values, and gradients in a random direction."""
    direction = normal(*plain(*args).shape)

    def found(function):
        gradient = jax.grad(lambda *args: jnp.sum(direction * function(*args)), argnums=tuple(range(len(args))))
        return jax.jit(lambda *args: (function(*args), gradient(*args)))(*args)

    jax.tree.map(lambda a, b: np.testing.assert_allclose(a, b, rtol=1e-4, atol=1e-4), found(fast), found(plain))


@pytest.fixture(params=[1, 2**12])
def few_pixels(request, monkeypatch):
    """At a time: one image, or all of them."""
    monkeypatch.setattr(module, "PIXELS", request.param)
    monkeypatch.setattr(module, "POOLED_PIXELS", request.param)


@pytest.mark.parametrize("shape", [(1, 6, 7, 2), (6, 9, 4, 1), (8, 5, 5, 3)])
def test_the_gradient_of_a_pooled_convolution_is_that_of_xla(shape, few_pixels, elsewhere):
    assert_same(convolve_and_pool, plain.convolve_and_pool, normal(*shape), normal(3, 3, shape[-1], 4), normal(4))


@pytest.mark.parametrize("num_images", [1, 6])
def test_the_gradient_of_a_residual_block_is_that_of_xla(num_images, few_pixels, elsewhere):
    weights = (normal(3, 3, 4, 4), normal(4), normal(3, 3, 4, 4), normal(4))
    assert_same(residual_block, plain.residual_block, normal(num_images, 5, 7, 4), *weights)


def test_the_gradient_of_standardised_images_is_that_of_xla(elsewhere):
    assert_same(standardise, plain.standardise, 3 * normal(4, 5, 6, 2) + 7)


@pytest.mark.parametrize("num_in", [1, 2])
def test_a_kernels_gradient_is_that_of_xla(num_in, few_pixels):
    x, weight, direction = normal(6, 5, 7, num_in), normal(3, 3, num_in, 4), normal(6, 5, 7, 4)
    expected = jax.grad(lambda weight: jnp.sum(direction * plain_convolve(x, weight)))(weight)
    np.testing.assert_allclose(jax.jit(kernel_gradient)(x, direction), expected, rtol=1e-4, atol=1e-4)


def test_a_kernels_gradient_golden():
    # One image of one pixel row 1 2 3, a gradient on the middle pixel: the kernel's middle row saw exactly these.
    x, grad = jnp.array([1.0, 2.0, 3.0]).reshape(1, 1, 3, 1), jnp.array([0.0, 1.0, 0.0]).reshape(1, 1, 3, 1)
    np.testing.assert_array_equal(kernel_gradient(x, grad)[:, :, 0, 0], [[0, 0, 0], [1, 2, 3], [0, 0, 0]])


@pytest.mark.parametrize("channels", [1, 2])
def test_convolution_golden(channels):
    # Ones everywhere: every pixel becomes the sum of its neighbourhood within the image, in all channels.
    image = jnp.broadcast_to(jnp.arange(6, dtype=jnp.float32).reshape(1, 2, 3, 1), (1, 2, 3, channels))
    convolved = convolve(image, jnp.ones((3, 3, channels, 1)))[0, :, :, 0]
    np.testing.assert_allclose(convolved, channels * np.array([[8, 15, 12], [8, 15, 12]]))


@pytest.mark.parametrize("shape", [(2, 6, 7, 3), (1, 9, 4, 2)])
def test_max_pool_and_its_gradient_are_those_of_xla_for_even_and_odd_lengths(shape):
    x = normal(*shape)
    pooled, places = max_pool(x, jnp.zeros(shape[-1]))
    np.testing.assert_array_equal(pooled, plain.max_pool(x))
    direction = normal(*pooled.shape)
    gradient = jax.grad(lambda x: jnp.sum(direction * plain.max_pool(x)))(x)
    ours = unpool(places, direction)
    np.testing.assert_allclose(ours[:, : shape[1], : shape[2]], gradient, rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(ours.sum(), direction.sum(), rtol=1e-4)  # nothing goes to the line too many


def test_the_gradient_of_max_pool_goes_to_the_largest_neighbour():
    x = jnp.array([1.0, 5.0, 2.0, 3.0]).reshape(1, 4, 1, 1)  # windows (1, 5) and (5, 2, 3)
    pooled, places = max_pool(x, jnp.full(1, 7.0))
    np.testing.assert_array_equal(pooled.ravel(), [12.0, 12.0])
    np.testing.assert_array_equal(unpool(places, jnp.ones_like(pooled))[0, :, 0, 0], [0.0, 2.0, 0.0, 0.0])


def test_of_equal_neighbours_the_first_gets_the_gradient_and_none_is_lost():
    pooled, places = max_pool(jnp.ones((1, 5, 1, 1)), jnp.zeros(1))
    gradient = unpool(places, jnp.ones_like(pooled))
    np.testing.assert_array_equal(gradient[0, :, 0, 0], [1, 1, 0, 1, 0, 0])  # windows (0, 1), (1, 2, 3), (3, 4)
    np.testing.assert_array_equal(gradient[0, :, 1], np.zeros((6, 1)))

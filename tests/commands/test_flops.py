"""Floating-point operations counted by hand: a product of [M, K] and [K, N] has 2·M·N·K."""

import jax
import jax.numpy as jnp

from curiax.commands.benchmarks.flops import matmul_flops

X, Y, Z = jnp.ones((2, 3)), jnp.ones((3, 5)), jnp.ones((3, 5))
PRODUCT = 2 * 2 * 3 * 5


def test_a_matrix_product():
    assert matmul_flops(jnp.matmul, X, Y) == PRODUCT


def test_a_batch_of_products():
    assert matmul_flops(jnp.matmul, jnp.ones((7, 2, 3)), jnp.ones((7, 3, 5))) == 7 * PRODUCT


def test_a_product_with_a_vector_and_one_of_vectors():
    assert matmul_flops(jnp.matmul, jnp.ones(3), Y) == 2 * 3 * 5
    assert matmul_flops(jnp.dot, jnp.ones(3), jnp.ones(3)) == 2 * 3


def test_a_convolution_is_a_product_for_every_pixel():
    image, kernel = jnp.ones((2, 8, 8, 3)), jnp.ones((3, 3, 3, 5))
    layout = ("NHWC", "HWIO", "NHWC")
    count = matmul_flops(
        lambda x: jax.lax.conv_general_dilated(x, kernel, (1, 1), "SAME", dimension_numbers=layout), image
    )
    assert count == 2 * (2 * 8 * 8) * 5 * (3 * 3 * 3)


def test_elementwise_work_is_not_counted():
    assert matmul_flops(lambda x: jnp.tanh(x) * x + jnp.sum(x), X) == 0


def test_a_loop_counts_as_often_as_it_runs():
    square = jnp.ones((4, 4))

    def loop(x):
        return jax.lax.scan(lambda x, _: (x @ square, None), x, None, length=7)[0]

    assert matmul_flops(loop, square) == 7 * 2 * 4**3


def test_loops_in_loops_multiply():
    square = jnp.ones((4, 4))

    def inner(x, _):
        return jax.lax.fori_loop(0, 3, lambda _, x: x @ square, x), None

    assert matmul_flops(lambda x: jax.lax.scan(inner, x, None, length=5)[0], square) == 15 * 2 * 4**3


def test_a_product_that_stands_twice_is_counted_once():
    assert matmul_flops(lambda x, y: x @ y + jnp.tanh(x @ y), X, Y) == PRODUCT


def test_what_follows_from_a_product_that_stands_twice_is_counted_once():
    weight = jnp.ones((5, 4))

    def layer(x, y):
        return jnp.tanh(x @ y) @ weight

    assert matmul_flops(lambda x, y: layer(x, y) - 2 * layer(x, y), X, Y) == PRODUCT + 2 * 2 * 5 * 4


def test_products_of_other_operands_are_counted_each():
    assert matmul_flops(lambda x, y, z: x @ y + x @ z, X, Y, Z) == 2 * PRODUCT


def test_an_unused_product_is_not_counted():
    def function(x, y, z):
        _ = jnp.tanh(x @ z)
        return x @ y

    assert matmul_flops(function, X, Y, Z) == PRODUCT


def test_an_unused_result_of_an_inner_function_is_not_counted():
    both = jax.jit(lambda x, y, z: (x @ y, x @ z))
    assert matmul_flops(lambda x, y, z: both(x, y, z)[0], X, Y, Z) == PRODUCT
    assert matmul_flops(lambda x, y, z: both(x, y, z), X, Y, Z) == 2 * PRODUCT


def test_an_unused_result_of_a_loop_is_not_counted():
    square = jnp.ones((4, 4))

    def loop(x):
        return jax.lax.scan(lambda x, _: (x @ square, x @ x), x, None, length=7)

    assert matmul_flops(lambda x: loop(x)[0], square) == 7 * 2 * 4**3
    assert matmul_flops(loop, square) == 2 * 7 * 2 * 4**3


def test_the_gradient_of_a_linear_layer():
    # y = x W; ∂W = xᵀ ∂y and ∂x = ∂y Wᵀ cost as much as the product itself.
    def loss(x, weight):
        return jnp.sum(jnp.square(x @ weight))

    assert matmul_flops(jax.grad(loss, argnums=1), X, Y) == 2 * PRODUCT
    assert matmul_flops(jax.grad(loss, argnums=(0, 1)), X, Y) == 3 * PRODUCT
    # The gradient of a sum does not need y, so x W is not computed.
    assert matmul_flops(jax.grad(lambda x, weight: jnp.sum(x @ weight), argnums=1), X, Y) == PRODUCT


def test_a_gradient_through_a_loop_is_three_times_the_loop():
    def loss(weight, x):
        return jnp.sum(jax.lax.scan(lambda x, _: (jnp.tanh(x @ weight), None), x, None, length=7)[0])

    gradient = jax.grad(loss, argnums=(0, 1))
    assert matmul_flops(gradient, jnp.ones((4, 4)), jnp.ones((2, 4))) == 3 * 7 * 2 * 2 * 4 * 4

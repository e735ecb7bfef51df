"""A CPU gets what is made for it, any other device XLA's own operations."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.extend.core import jaxprs_in_params

from curiax.agent import networks
from curiax.agent.kernels import convolve
from curiax.agent.networks import ImageEncoder


def operations(encoder, obs):
    """Of the gradient. A new function: JAX remembers what it has made of an old one."""
    return primitives(jax.make_jaxpr(lambda encoder: gradient_of(encoder, obs))(encoder).jaxpr)


def primitives(jaxpr):
    """The names of all operations, those of inner functions too."""
    for equation in jaxpr.eqns:
        yield equation.primitive.name
        for inner in jaxprs_in_params(equation.params):
            yield from primitives(inner)


def gradient_of(encoder, obs):
    return jax.jit(jax.grad(lambda encoder: jnp.sum(jnp.square(encoder(obs)))))(encoder)


@pytest.fixture
def images():
    encoder = ImageEncoder((9, 12), (4,), (), 16, jax.random.key(0), scale=255.0)
    return encoder, jnp.asarray(np.random.default_rng(0).integers(0, 256, (3, 2, 9, 12)), jnp.uint8)


def elsewhere(monkeypatch):
    for module in (convolve, networks):
        monkeypatch.setattr(module, "on_cpu", lambda: False)


def test_an_encoder_has_no_loop_over_images_but_on_a_cpu(images, monkeypatch):
    loops = {"scan", "while"}
    assert loops & set(operations(*images))
    elsewhere(monkeypatch)
    names = set(operations(*images))
    assert "conv_general_dilated" in names and not loops & names


def test_an_encoder_learns_the_same_on_every_device(images, monkeypatch):
    here = gradient_of(*images)
    elsewhere(monkeypatch)
    jax.tree.map(lambda a, b: np.testing.assert_allclose(a, b, rtol=1e-3, atol=1e-4), here, gradient_of(*images))


def test_max_pool_golden():
    # Around the places 0, 2 and 4 of a line 1 5 2 3 4: the largest of (1, 5), (5, 2, 3) and (3, 4).
    pooled = convolve.max_pool(jnp.array([1.0, 5.0, 2.0, 3.0, 4.0]).reshape(1, 5, 1, 1))
    np.testing.assert_array_equal(pooled.ravel(), [5.0, 5.0, 4.0])

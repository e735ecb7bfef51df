"""The reconstruction loss in units of the targets' variance."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from curiax.curiosity.base import Measure, Represented, cosine_distance, squared_distance
from curiax.curiosity.measures.relative import SMALLEST, relative, target_variance
from curiax.types import CuriosityOutput, Loss

VALID = jnp.array([[True, True], [True, False]])
TARGET = jnp.array([[[0.0, 1.0], [2.0, 1.0]], [[4.0, 4.0], [100.0, 100.0]]])
VARIANCE = (8 / 3 + 2) / 2  # of 0, 2, 4 and of 1, 1, 4, mean over the two coordinates


def fixed(represented: Represented) -> CuriosityOutput:
    loss = Loss(jnp.ones((1, 2, 2)), VALID[None], 4.0)
    return CuriosityOutput(
        losses={"reconstruction": loss, "invariance": loss._replace(weight=1.0)},
        error=jnp.sum(represented.target, axis=-1),
        metrics={},
        critic=(),
    )


def scored(target, distance=squared_distance) -> CuriosityOutput:
    measure = Measure(lambda *_: ((), ()), lambda params, critic, represented, *_: fixed(represented))
    represented = Represented(state=target, action=target, target=target, losses={}, metrics={})
    return relative(measure).score((), (), represented, VALID, distance, jax.random.key(0))


def test_the_variance_is_that_of_valid_targets():
    np.testing.assert_allclose(target_variance(squared_distance, TARGET, VALID), VARIANCE, rtol=1e-6)
    everywhere = jnp.broadcast_to(TARGET[:1], TARGET.shape)
    assert 0 < target_variance(cosine_distance, everywhere, VALID) < 1


def test_only_the_weight_of_the_reconstruction_loss_changes():
    output = scored(TARGET)
    np.testing.assert_allclose(output.losses["reconstruction"].weight, 4 / VARIANCE, rtol=1e-6)
    assert output.losses["invariance"].weight == 1.0
    np.testing.assert_array_equal(output.error, jnp.sum(TARGET, axis=-1))  # what is paid


@pytest.mark.parametrize("factor", [0.1, 30.0])
def test_the_weighted_loss_does_not_depend_on_the_size_of_the_targets(factor):
    """Errors of targets that are larger by a factor are larger by its square."""
    plain, large = scored(TARGET).losses["reconstruction"], scored(factor * TARGET).losses["reconstruction"]
    np.testing.assert_allclose(large.weight * factor**2, plain.weight, rtol=1e-5)


def test_targets_that_never_change_have_a_finite_weight():
    assert scored(jnp.ones_like(TARGET)).losses["reconstruction"].weight == pytest.approx(4 / SMALLEST)

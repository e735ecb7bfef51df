"""γ-progress: the slow copy, and the difference that is paid."""

import jax
import jax.numpy as jnp
import numpy as np

from curiax.curiosity.measures.progress import DECAY
from curiax.curiosity.world_model import masked_mean
from tests.support.small_measure import CREDITED, SIZES, B, T, constant, make_represented, score, start


def test_reward_and_copy_golden():
    # Targets 2. The model predicts 1, with error 1; the copy predicts 0, and then 1 − γ.
    params, _ = start("progress")
    model, copy = (params | {"predictor": constant(params["predictor"], x)} for x in (1.0, 0.0))
    output = score("progress", model, copy, make_represented()._replace(target=jnp.full((T, B, SIZES.target), 2.0)))
    np.testing.assert_allclose(output.error, CREDITED * ((1 + DECAY) ** 2 - 1), rtol=1e-5)
    np.testing.assert_allclose(output.critic["predictor"].layers[-1].bias, 1 - DECAY, rtol=1e-5)


def test_a_model_that_stands_still_makes_no_progress():
    params, _ = start("progress")
    output = score("progress", params, params, make_represented())
    np.testing.assert_allclose(output.error, 0.0, atol=1e-5)
    jax.tree.map(lambda x, y: np.testing.assert_allclose(x, y, rtol=1e-5), output.critic, params)


def test_a_model_that_gets_worse_costs():
    params, _ = start("progress")
    represented = make_represented()._replace(target=jnp.zeros((T, B, SIZES.target)))
    copy = params | {"predictor": constant(params["predictor"], 0.0)}
    model = params | {"predictor": constant(params["predictor"], 5.0)}
    assert np.all(np.asarray(score("progress", model, copy, represented).error)[CREDITED > 0] < 0)


def test_the_model_learns_as_it_does_without_a_copy():
    params, copy = start("progress")
    represented = make_represented()
    output, alone = score("progress", params, copy, represented), score("predict", params, (), represented)
    found, expected = (masked_mean(each.losses["prediction"]) for each in (output, alone))
    np.testing.assert_allclose(found, expected, rtol=1e-6)
    np.testing.assert_allclose(output.metrics["prediction_error"], alone.metrics["prediction_error"], rtol=1e-6)

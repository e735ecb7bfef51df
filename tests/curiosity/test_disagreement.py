"""Disagreement of five forward models: its variance, its loss, and its masks."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from curiax.curiosity.base import cosine_distance, squared_distance, valid_pairs
from curiax.curiosity.measures import disagreement as module
from curiax.curiosity.world_model import masked_mean
from tests.support.small_measure import CONFIG, CREDITED, KEY, PAIRS, VALID, constant, make_represented, score, start


def test_reward_golden():
    # Predictions 1, 2, 3, 4, 5 in every coordinate: their variance is 2.
    params, _ = start("disagreement")
    predictors = [constant(mlp, float(k)) for k, mlp in enumerate(params["predictors"], 1)]
    output = score("disagreement", params | {"predictors": predictors}, (), make_represented())
    np.testing.assert_allclose(output.error, CREDITED * 2.0, rtol=1e-6)


def test_models_that_agree_are_paid_nothing_and_without_masks_learn_as_one_does(monkeypatch):
    monkeypatch.setattr(module, "SHARE", 1.0)
    params, _ = start("disagreement")
    params |= {"predictors": params["predictors"][:1] * module.NUM_MODELS}
    one = {"core": params["core"], "predictor": params["predictors"][0]}
    represented = make_represented()
    measure = module.disagreement(CONFIG)
    output = jax.jit(lambda: measure.score(params, (), represented, VALID, squared_distance, KEY))()
    alone = score("predict", one, (), represented)
    assert np.max(output.error) < 1e-10
    found, expected = (masked_mean(each.losses["prediction"]) for each in (output, alone))
    np.testing.assert_allclose(found, expected, rtol=1e-5)


@pytest.mark.parametrize("distance", [squared_distance, cosine_distance])
def test_the_mean_error_is_the_error_of_the_mean_and_the_disagreement(distance):
    # Σ_k ‖y − f_k‖²/K = ‖y − f̄‖² + Var_k f_k, in the coordinates that the representation compares
    params, _ = start("disagreement")
    represented = make_represented()

    @jax.jit
    def both():
        output = module.disagreement(CONFIG).score(params, (), represented, VALID, distance, KEY)
        loop = module.open_loop(params["core"], represented, VALID, CONFIG.world.horizon)
        outputs = jnp.stack([distance.project(mlp(loop.after)) for mlp in params["predictors"]])
        return output, distance.project(loop.target), jnp.mean(outputs, axis=0), loop.valid

    output, target, mean, valid = both()
    of_mean = np.mean(distance.reduce(jnp.square(target - mean), axis=-1), where=valid)
    total = of_mean + output.metrics["disagreement"]
    np.testing.assert_allclose(output.metrics["prediction_error"], total, rtol=1e-4)


def test_each_model_learns_from_a_share_of_its_own():
    params, _ = start("disagreement")
    mask = np.asarray(score("disagreement", params, (), make_represented()).losses["prediction"].mask)
    valid = valid_pairs(VALID, CONFIG.world.horizon)
    assert not mask[:, ~np.asarray(valid)].any()
    assert len({model.tobytes() for model in mask}) == module.NUM_MODELS
    assert 0.6 < mask.sum() / (module.NUM_MODELS * PAIRS) < 0.95

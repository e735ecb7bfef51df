"""The worked example of docs/extending.md, run as it stands."""

import contextlib
import io
import math
import re
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from curiax.config import LAPTOP
from curiax.curiosity import MEASURES, METHODS, REPRESENTATIONS
from curiax.curiosity.base import Represented, Sizes, squared_distance
from curiax.curiosity.measures.predict import predict

PAGE = Path(__file__).parents[2] / "docs" / "extending.md"


@pytest.fixture(scope="module")
def page():
    """What the page's code defines and prints."""
    blocks = re.findall(r"^```python\n(.*?)^```", PAGE.read_text(), flags=re.M | re.S)
    names, output = {}, io.StringIO()
    known = dict(REPRESENTATIONS), dict(MEASURES), dict(METHODS)
    try:
        with contextlib.redirect_stdout(output):
            for block in blocks:
                exec(compile(block, str(PAGE), "exec"), names)
    finally:
        for table, before in zip((REPRESENTATIONS, MEASURES, METHODS), known, strict=True):
            table.clear()
            table.update(before)
    return names, output.getvalue()


@pytest.mark.slow
def test_the_example_trains(page):
    names, printed = page
    updates, slowness, error, _ = map(float, printed.split())
    assert updates == 50 and math.isfinite(slowness) and math.isfinite(error)
    row = names["row"]
    assert row.metrics["loss/prediction"] == pytest.approx(row.metrics["prediction_error"], rel=1e-4)
    assert row.metrics["intrinsic_reward"] > 0 and row.metrics["deviation"] > 0


@pytest.mark.slow
def test_the_example_trains_its_features_and_the_page_leaves_the_tables_alone(page):
    names, _ = page
    features, model = names["row"].state.params.curiosity
    assert set(features) == {"encoder"} and set(model) == {"core", "predictor"}
    assert "slow" not in REPRESENTATIONS and "heavy" not in MEASURES
    assert "mine" not in METHODS


@pytest.mark.slow
def test_the_measure_pays_the_logarithm_of_the_prediction_error(page):
    measure, plain = page[0]["heavy_tailed"](LAPTOP), predict(LAPTOP)
    rng = np.random.default_rng(0)
    state, action, target = (jnp.asarray(rng.normal(size=(4, 2, n)), jnp.float32) for n in (3, 2, 5))
    valid = jnp.ones((4, 2), bool)

    @jax.jit
    def errors(key):
        params, _ = plain.init(key, Sizes(3, 2, 5))  # its predictor has no LayerNorm
        represented = Represented(state, action, target, {}, {})
        return [each.score(params, (), represented, valid, squared_distance, key).error for each in (measure, plain)]

    heavy, error = errors(jax.random.key(0))
    np.testing.assert_allclose(heavy, np.log1p(error), rtol=1e-5)

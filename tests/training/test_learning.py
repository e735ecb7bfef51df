"""A short training run shows what hindsight is for. The settled result is in results/maze."""

import dataclasses

import numpy as np
import pytest

from curiax.config import LAPTOP
from curiax.training.train import train


def last_rows(method):
    """Means over the last 77,000 of 282,000 environment steps."""
    config = dataclasses.replace(LAPTOP, env="maze/on-demand", curiosity=method, env_steps=281_600)
    rows = [row.metrics for row in train(config)][-3:]
    return {name: np.mean([row[name] for row in rows]) for name in ("noise_dwell", "error_on_noise")}


@pytest.mark.slow
def test_hindsight_watches_the_noise_less_than_byol_explore_and_explains_most_of_it(optimised):
    explore, hindsight = last_rows("byol-explore"), last_rows("byol-hindsight")
    assert hindsight["noise_dwell"] < 0.75 < explore["noise_dwell"]
    assert hindsight["error_on_noise"] < 0.5 * explore["error_on_noise"]

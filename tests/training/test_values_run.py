"""A run with a value of each stream of reward: trained, saved, gone on with, evaluated."""

import dataclasses
import itertools
import json

import numpy as np
import pytest

from curiax.commands.cli import main
from curiax.training import evaluate
from curiax.training.run.directory import Run
from curiax.training.train import train
from tests.support.tiny import TINY, leaves

pytestmark = pytest.mark.slow

CONFIG = dataclasses.replace(
    TINY,
    curiosity="byol-explore",
    reward="mixed",
    value="separate",
    vmpo=dataclasses.replace(TINY.vmpo, intrinsic_discount=0.9, intrinsic_episodic=False),
)
COLUMNS = (
    *("loss/value_extrinsic", "loss/value_intrinsic"),
    *("value_scale", "value_scale_extrinsic", "value_scale_intrinsic"),
)


@pytest.fixture(scope="module")
def rows():
    return list(itertools.islice(train(CONFIG), 4))


@pytest.fixture(scope="module")
def directory(rows, tmp_path_factory):
    """A run after the second of four rows."""
    run = Run(tmp_path_factory.mktemp("values") / "run", CONFIG)
    for row in rows[:2]:
        run.log(row.num_updates, row.metrics, seconds=1.0)
        run.save(row.state)
    run.close()
    return run.directory


def test_every_row_has_loss_and_scale_of_each_stream(rows):
    for row in rows:
        assert all(np.isfinite(row.metrics[name]) for name in COLUMNS)
        assert "loss/value" not in row.metrics


def test_a_run_that_goes_on_from_its_directory_is_bit_identical_to_one_that_never_stopped(rows, directory):
    config, state = evaluate.load(directory)
    assert config == CONFIG and leaves(state) == leaves(rows[1].state)
    resumed = list(itertools.islice(train(config, state), 2))
    assert [row.metrics["loss/value_intrinsic"] for row in resumed] == [
        row.metrics["loss/value_intrinsic"] for row in rows[2:]
    ]
    assert leaves(resumed[-1].state) == leaves(rows[-1].state)


def test_its_policy_can_be_evaluated(directory, tmp_path):
    assert main(["evaluate", str(directory), "--json", str(tmp_path / "result.json")]) == 0
    assert json.loads((tmp_path / "result.json").read_text())["update"] == 4

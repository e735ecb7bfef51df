"""Training gives the same numbers on any number of devices."""

import os
import subprocess
import sys

import jax
import numpy as np
import pytest

from curiax.errors import UserError
from curiax.training.devices import from_process_0, gather, local, make_mesh, shard_state
from curiax.training.job import JobOptions
from curiax.training.processes import joined
from curiax.training.train import initial_state
from tests.support.terminal import ROOT
from tests.support.tiny import TINY, leaves

DEVICES = (2, 4, 8)
NUM_UPDATES = 50


@pytest.fixture(scope="module")
def numbers(tmp_path_factory):
    """Losses and parameters of every update, on 1, 2, 4 and 8 devices."""
    out = tmp_path_factory.mktemp("devices") / "numbers.npz"
    command = [sys.executable, str(ROOT / "tests/support/many_devices.py"), str(out), str(NUM_UPDATES)]
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=3000, check=False)
    assert done.returncode == 0, done.stderr
    return dict(np.load(out))


def same(numbers, num_devices, name):
    """Whether an array agrees with that of one device, to 1e-4 of its norm; 1e-6 is rounding of what should be zero."""
    one = np.float64(numbers[f"1/{name}"])
    return np.linalg.norm(numbers[f"{num_devices}/{name}"] - one) < 1e-4 * np.linalg.norm(one) + 1e-6


def names(numbers, start):
    return [name.removeprefix(f"1/{start}/") for name in numbers if name.startswith(f"1/{start}/")]


@pytest.mark.slow
@pytest.mark.parametrize("num_devices", DEVICES)
def test_every_loss_of_50_updates_is_the_same_on_any_number_of_devices(numbers, num_devices):
    losses = [name for name in names(numbers, 1) if name.startswith("loss/")]
    assert {"loss/policy", "loss/value", "loss/invariance", "loss/reconstruction"} <= set(losses)
    for name in losses:
        one, many = (
            np.array([numbers[f"{n}/{update}/{name}"] for update in range(1, NUM_UPDATES + 1)])
            for n in (1, num_devices)
        )
        # The contrastive value is a difference of logarithms, and passes through zero.
        np.testing.assert_allclose(many, one, rtol=1e-4, atol=1e-5, err_msg=name)


@pytest.mark.slow
@pytest.mark.parametrize("num_devices", DEVICES)
def test_parameters_after_50_updates_agree_to_1e_4(numbers, num_devices):
    params = [name for name in names(numbers, NUM_UPDATES) if name.startswith("params")]
    assert len(params) > 30
    for name in params:
        assert same(numbers, num_devices, f"{NUM_UPDATES}/{name}"), name


@pytest.mark.slow
def test_with_a_value_of_each_stream_of_reward_losses_and_parameters_agree_too(numbers):
    found = names(numbers, "streams")
    assert {"loss/value_extrinsic", "loss/value_intrinsic"} <= set(found) and len(found) > 40
    for name in found:
        assert same(numbers, 2, f"streams/{name}"), name


@pytest.mark.slow
@pytest.mark.parametrize("method", ["lpm", "critic"])
def test_what_a_measure_remembers_is_the_same_on_any_number_of_devices(numbers, method):
    found = names(numbers, method)
    assert {"lpm": "loss/log_error", "critic": "loss/error_after"}[method] in found
    assert any(np.any(numbers[f"1/{method}/{name}"]) for name in found if ".target" in name or ".error" in name)
    for name in found:
        assert same(numbers, 2, f"{method}/{name}"), name


@pytest.mark.slow
def test_streams_are_sharded_over_the_devices(numbers):
    assert [int(numbers[f"{n}/shards"]) for n in (1, *DEVICES)] == [1, *DEVICES]


@pytest.mark.slow
def test_a_batch_that_does_not_divide_is_refused(numbers):
    assert str(numbers["refused"]) == "--batch-size 8: must be a multiple of the number of devices, 3"


@pytest.mark.slow
@pytest.mark.parametrize("num_devices", DEVICES)
def test_every_device_encodes_the_images_of_its_own_streams_and_the_gradient_is_the_same(numbers, num_devices):
    leaves = [name for name in numbers if name.startswith("1/images")]
    assert len(leaves) > 5
    for name in leaves:
        assert same(numbers, num_devices, name.removeprefix("1/")), name
    assert not numbers[f"{num_devices}/sent"]


def test_more_devices_than_there_are_are_refused():
    with pytest.raises(UserError, match="--devices 2: there are 1"):
        make_mesh(2, 32)


@pytest.mark.slow
def test_a_cpu_is_split_into_as_many_devices_as_are_asked_for():
    program = """
from curiax.config import LAPTOP
from curiax.training.processes import joined
from curiax.training.job import JobOptions

with joined(JobOptions(devices=4), LAPTOP) as mesh:
    print(mesh.size)
"""
    done = subprocess.run([sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout == "4\n"


def test_one_device_needs_no_mesh():
    assert make_mesh(1, 32) is None
    with joined(JobOptions(), TINY) as mesh:
        assert mesh is None


def test_without_a_mesh_states_stay_as_they_are():
    state = initial_state(TINY)
    assert shard_state(None, state) is state and gather(None, state) is state and local(None, state) is state


def test_a_broadcast_from_process_0_keeps_every_bit():
    odd = np.array([-0.0, np.nan, 5e-324, -np.inf, 1 / 3])
    tree = {"a": odd, "b": (np.array(True), np.zeros((0, 3), np.float32)), "c": np.arange(6, dtype=np.int16)}
    sent = from_process_0(tree)
    assert jax.tree.map(lambda x: (x.dtype, x.shape, x.tobytes()), sent) == jax.tree.map(
        lambda x: (x.dtype, x.shape, x.tobytes()), tree
    )


def test_a_sharded_state_is_the_same_state():
    mesh = jax.sharding.Mesh(np.array(jax.devices()[:1]), ("batch",))
    state = initial_state(TINY)
    assert leaves(shard_state(mesh, state)) == leaves(state)

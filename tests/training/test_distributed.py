"""Many devices and many processes give what one gives; a job that loses a process ends, and goes on when asked."""

import os
import random
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from curiax import envs
from curiax.curiosity.measures.critic import contrastive_value, energies, make_critic
from curiax.errors import UserError
from curiax.training.distributed import agree, from_process_0, gather, joined, local, make_mesh, share, spread, why
from curiax.training.job import JobOptions
from curiax.training.run.directory import read_maps, read_metrics
from curiax.training.train import initial_state
from curiax.training.witness import GO_ON
from tests.support.host_maze import HOST
from tests.support.terminal import ROOT
from tests.support.tiny import TINY, leaves

sys.path.append(str(ROOT / "benchmarks"))
from faults import check_going_on, choose, hit, newest, same_numbers, seconds_to_line, words
from jobs import SMALL, finish, job, metrics_but_seconds, wait_for_rows

DEVICES = (2, 4, 8)
NUM_UPDATES = 50
LENGTH = 100  # updates of a job
PATIENCE = 900  # seconds; a busy machine compiles slowly
FAST = {"XLA_FLAGS": "--xla_cpu_multi_thread_eigen=false --xla_backend_optimization_level=0"}  # compiles fast
UNUSED = "params.critic.mlp.layers[1].bias"  # see below


@pytest.fixture(scope="module")
def numbers(tmp_path_factory):
    """Losses and parameters of every update, on 1, 2, 4 and 8 devices."""
    out = tmp_path_factory.mktemp("devices") / "numbers.npz"
    command = [sys.executable, str(ROOT / "tests/support/many_devices.py"), str(out), str(NUM_UPDATES)]
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=3000, check=False)
    assert done.returncode == 0, done.stderr
    return dict(np.load(out))


def difference(numbers, num_devices, name):
    """Relative to the size of what one device gives."""
    one = np.float64(numbers[f"1/{name}"])
    return np.linalg.norm(numbers[f"{num_devices}/{name}"] - one) / np.linalg.norm(one)


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
    assert UNUSED in params and len(params) > 30
    for name in params:
        if name != UNUSED:
            assert difference(numbers, num_devices, f"{NUM_UPDATES}/{name}") < 1e-4, name


def test_the_one_parameter_that_may_differ_more_has_no_effect_and_so_no_gradient_but_rounding():
    """The last bias adds the same to all energies of a context, and the softmax takes it away again. Adam then makes
    a step of full length of whatever rounding leaves, which depends on the order of additions."""
    key_critic, key_context, key_z = jax.random.split(jax.random.key(0), 3)
    critic = make_critic("concat", 3, 4, (8,), key_critic)
    context, z = jax.random.normal(key_context, (6, 3)), jax.random.normal(key_z, (6, 4))

    def value(bias):
        shifted = eqx.tree_at(lambda critic: critic.mlp.layers[-1].bias, critic, bias)
        return contrastive_value(energies(shifted, context, z), jnp.ones(6, bool), 0.5)

    bias = critic.mlp.layers[-1].bias
    np.testing.assert_allclose(value(bias), value(bias + 1), atol=1e-5)
    assert np.abs(jax.grad(lambda bias: value(bias).sum())(bias)).max() < 1e-5


@pytest.mark.slow
def test_streams_are_split_over_the_devices(numbers):
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
        assert difference(numbers, num_devices, name.removeprefix("1/")) < 1e-4, name
    assert not numbers[f"{num_devices}/sent"]


def test_more_devices_than_there_are_are_refused():
    with pytest.raises(UserError, match="--devices 2: there are 1"):
        make_mesh(2, 32)


def test_a_cpu_poses_as_as_many_devices_as_are_asked_for():
    program = """
from curiax.config import LAPTOP
from curiax.training.distributed import joined
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


def test_alone_nothing_is_sent_and_everything_is_ones_own():
    state = initial_state(TINY)
    assert spread(None, state) is state and gather(None, state) is state and local(None, state) is state
    assert agree(15) == 15 and share(32) == 32


def test_what_process_0_sends_keeps_every_bit():
    odd = np.array([-0.0, np.nan, 5e-324, -np.inf, 1 / 3])
    tree = {"a": odd, "b": (np.array(True), np.zeros((0, 3), np.float32)), "c": np.arange(6, dtype=np.int16)}
    sent = from_process_0(tree)
    assert jax.tree.map(lambda x: (x.dtype, x.shape, x.tobytes()), sent) == jax.tree.map(
        lambda x: (x.dtype, x.shape, x.tobytes()), tree
    )


def test_a_lost_process_is_told_from_a_mistake_of_the_user_and_from_one_of_the_program(capsys):
    assert why(UserError("one line")) == "one line"
    broken = [ValueError("UNKNOWN: Gloo AllGather failed: Connection reset"), jax.errors.JaxRuntimeError("UNAVAILABLE")]
    assert [why(error).endswith(GO_ON) for error in broken] == [True, True]
    assert capsys.readouterr().err == ""
    assert why(KeyError("x")) == "KeyError: 'x'" and "KeyError: 'x'" in capsys.readouterr().err


def test_a_state_laid_out_on_a_mesh_is_the_same_state():
    mesh = jax.sharding.Mesh(np.array(jax.devices()[:1]), ("batch",))
    state = initial_state(TINY)
    assert leaves(spread(mesh, state)) == leaves(state)


# Real processes, over 127.0.0.1. Each test goes on from where another left the run: starting a process takes seconds.


@pytest.fixture(scope="module")
def reference(tmp_path_factory):
    """A run of two processes that nothing disturbed."""
    directory = tmp_path_factory.mktemp("jobs") / "reference"
    with job(words(directory, LENGTH, "rnd"), 2, environment=FAST) as members:
        finish(members, PATIENCE)
        assert "curiax:" not in "".join(line.text for member in members for line in member.err)
        assert any("over the last quarter" in line.text for line in members[0].out)
        assert not [line for line in members[1].out if "Gloo" not in line.text]  # process 0 speaks for all
    return directory


def lengthened(reference: Path, directory: Path) -> Path:
    """Config and checkpoints of the reference, but no metrics: to be trained further."""
    shutil.copytree(reference / "checkpoints", directory / "checkpoints")
    shutil.copy(reference / "config.json", directory)
    return directory


@pytest.mark.slow
def test_a_job_whose_process_is_killed_says_so_and_the_same_command_goes_on_to_the_same_bits(reference, tmp_path):
    asked = words(tmp_path, LENGTH, "rnd")
    with job(asked, 2, environment=FAST) as members:
        wait_for_rows(tmp_path, 4, members, PATIENCE)
        found = hit(members, tmp_path, victim=1, number=signal.SIGKILL)
    assert "goes on from the newest checkpoint" in found["line"]  # how soon, benchmarks/faults.py measures
    with job(asked, 2, environment=FAST) as members:
        finish(members, PATIENCE)
        check_going_on(members, found)
    assert found["checkpoint"] >= 10
    assert metrics_but_seconds(tmp_path) == metrics_but_seconds(reference)
    assert same_numbers(tmp_path, reference)


@pytest.mark.slow
def test_a_full_disk_ends_the_job_and_four_processes_go_on_until_one_is_stopped(reference, tmp_path):
    lengthened(reference, tmp_path)
    asked = words(tmp_path, 100_000, "rnd")
    small_disk = [shutil.which("prlimit") or "prlimit", "--fsize=12000"]  # bytes; every checkpoint has larger files
    with job(asked, 2, environment=FAST, before=small_disk) as members:
        for member in members:
            assert seconds_to_line(member, 0.0) > 0 and member.process.returncode == 2
        line = f"checkpoint {LENGTH + 10} cannot be written, earlier ones are kept"
        assert line in members[0].said().text and f"curiax: process 0: {line}" in members[1].said().text
    assert newest(tmp_path) == LENGTH
    with job([*asked, "--peer-timeout", "15"], 4, environment=FAST) as members:
        wait_for_rows(tmp_path, 6, members, PATIENCE)
        found = hit(members, tmp_path, victim=2, number=signal.SIGSTOP)
        assert any(f"going on from update {LENGTH}" in line.text for line in members[0].out)
    assert "goes on from the newest checkpoint" in found["line"]
    rows = list(read_metrics(tmp_path / "metrics.csv"))
    assert [row["update"] - LENGTH for row in rows[:6]] == [5, 10, 15, 20, 25, 30]
    assert newest(tmp_path) >= LENGTH + 20  # a checkpoint follows its row: that of 30 may be cut off


@pytest.mark.slow
def test_two_processes_step_their_own_environments_on_the_host_and_a_signal_to_one_stops_both(tmp_path, monkeypatch):
    asked = ["host/on-demand", "--curiosity", "rnd", "--run-dir", str(tmp_path), *SMALL, "--batch-size", "4"]
    asked += ["--log-every", "2", "--env-steps", "1000000"]
    with job(asked, 2, environment=FAST, program=str(ROOT / "tests/support/host_worker.py")) as members:
        wait_for_rows(tmp_path, 3, members, PATIENCE)
        members[1].process.send_signal(signal.SIGTERM)
        assert [member.wait(PATIENCE) for member in members] == [143, 143]
        assert any("the same command goes on from here" in line.text for line in members[0].out)
    monkeypatch.setitem(envs.HOSTS, "host", HOST)  # here too: it says how large a map is
    visits = read_maps(tmp_path)[:, 0].sum(axis=(1, 2))
    assert visits[0] == 2 * 4 * 4  # of both processes: updates, steps, streams; no episode has ended yet
    assert newest(tmp_path) == 2 * len(visits)


def test_the_soak_hits_both_processes_with_both_signals_in_both_phases():
    rng = random.Random(0)
    chosen = [choose(rng) for _ in range(20)]
    assert {(one.victim, one.number) for one in chosen} == {
        (victim, number) for victim in (0, 1) for number in (signal.SIGKILL, signal.SIGSTOP)
    }
    assert {one.phase for one in chosen} == {"start", "training"}

"""A full disk: one line, exit code 2, and nothing lost that was saved."""

import contextlib
import resource
import shutil
import subprocess
import sys

import jax.numpy as jnp
import pytest

from curiax.errors import UserError
from curiax.training.run.directory import Run
from curiax.training.run.metrics import read_metrics
from curiax.training.train import initial_state
from tests.support.programs import train_args
from tests.support.tiny import TINY, leaves


@pytest.fixture(scope="module")
def initial():
    return initial_state(TINY)


@contextlib.contextmanager
def largest_file(size):
    """Inside the block no file can grow beyond some bytes; the error is like that of a full disk."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


def train(directory, initial):
    """What a short run writes: a row, a checkpoint, its end."""
    run = Run(directory, TINY)
    try:
        run.log(4, {f"loss/{number}": 0.5 for number in range(40)}, 1.0)
        run.save(initial._replace(num_updates=jnp.int32(4)))
        run.finish({"update": 4})
    finally:
        run.close()


@pytest.mark.parametrize(
    ("size", "line"),
    [
        (0, "/run: cannot be written (File too large)"),  # the mark
        (100, "/run: cannot be written (File too large)"),  # config.json
        (2000, "checkpoint 4 cannot be written, earlier ones are kept (File too large)"),
        (12_000, "checkpoint 4 cannot be written, earlier ones are kept (File too large)"),
    ],
)
def test_what_cannot_be_written_is_one_line_and_the_same_command_goes_on(tmp_path, initial, capfd, size, line):
    with largest_file(size), pytest.raises(UserError) as caught:
        train(tmp_path / "run", initial)
    assert str(caught.value).endswith(line) and "\n" not in str(caught.value)
    assert capfd.readouterr() == ("", "")  # Orbax and tensorstore would print hundreds of lines
    train(tmp_path / "run", initial)
    run = Run(tmp_path / "run", TINY)
    assert leaves(run.restore(initial)) == leaves(initial._replace(num_updates=jnp.int32(4)))
    assert not run.notes
    run.close()


def test_a_row_that_does_not_fit_is_one_line_and_the_rows_before_it_are_kept(tmp_path):
    run = Run(tmp_path, TINY)
    run.log(2, {"loss": 1.0}, 1.0)
    size = (tmp_path / "metrics.csv").stat().st_size
    with largest_file(size + 3), pytest.raises(UserError, match=r"row 4 cannot be written \(File too large\)"):
        run.log(4, {"loss": 1.0}, 2.0)
    with largest_file(size + 3):
        run.close()
    assert [row["update"] for row in read_metrics(tmp_path / "metrics.csv")] == [2]
    run = Run(tmp_path, TINY)
    run.log(4, {"loss": 1.0}, 2.0)
    run.close()
    assert [row["update"] for row in read_metrics(tmp_path / "metrics.csv")] == [2, 4]


def test_events_that_do_not_fit_are_one_line_and_do_not_hang(tmp_path):
    run = Run(tmp_path, TINY)
    metrics = {f"loss/{number}": 1.0 for number in range(30)}  # events need more room than the row
    with largest_file(900), pytest.raises(UserError, match=r"row 2 cannot be written \(File too large\)"):
        run.log(2, metrics, 1.0)
    run.close()


@pytest.fixture
def small_disk(tmp_path):
    """Mounts a file system of some size."""
    place = tmp_path / "disk"
    place.mkdir()

    def mount(size):
        words = ["mount", "-t", "tmpfs", "-o", f"size={size}", "none", str(place)]
        if shutil.which("mount") is None or subprocess.run(words, capture_output=True, check=False).returncode:
            pytest.skip("no right to mount a file system")
        return place

    yield mount
    subprocess.run(["umount", "-l", str(place)], capture_output=True, check=False)


@pytest.mark.slow
@pytest.mark.parametrize("size", ["8k", "24k", "48k"])
def test_training_on_a_full_disk_is_one_line_and_exit_code_2(small_disk, size):
    words = train_args(small_disk(size) / "run")
    done = subprocess.run([sys.executable, "-m", "curiax", *words], capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert done.stderr.startswith("curiax: ") and done.stderr.endswith("(No space left on device)\n")
    assert done.stderr.count("\n") == 1

"""`curiax` as a user runs it: killed, interrupted, mistaken, watched."""

import contextlib
import dataclasses
import functools
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import time

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from curiax.commands.cli import main
from curiax.commands.program import progress_text
from curiax.training.learner import learner_losses
from curiax.training.run.checkpoints import checkpoint_manager, restore_checkpoint
from curiax.training.run.directory import Run, read_config
from curiax.training.run.metrics import read_metrics
from curiax.training.train import initial_state
from tests.support.files import contents
from tests.support.programs import PATIENCE, metrics_but_seconds, num_rows, train_args, wait_until
from tests.support.terminal import ROOT, leave, read, terminal
from tests.support.tiny import TINY, leaves, poison

NUM_KILLS = 4


@contextlib.contextmanager
def training(directory):
    """`curiax train` in a process of its own; none is left behind."""
    command = [sys.executable, "-m", "curiax", *train_args(directory)]
    process = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    try:
        yield process
    finally:
        process.kill()
        process.communicate()


def finish(directory):
    """Trains to the end and gives what was printed."""
    with training(directory) as process:
        out, err = process.communicate(timeout=PATIENCE)
    assert process.returncode == 0, err
    return out


@functools.cache
def template():
    return initial_state(TINY)


def last_state(directory):
    manager = checkpoint_manager(directory)
    state = restore_checkpoint(manager, manager.latest_step(), template())
    manager.close()
    return state


def assert_same_run(directory, reference):
    assert metrics_but_seconds(directory) == metrics_but_seconds(reference)
    assert leaves(last_state(directory)) == leaves(last_state(reference))
    assert (directory / "DONE").read_text() == (reference / "DONE").read_text()


@pytest.fixture(scope="module")
def watched(tmp_path_factory):
    """A run that nothing disturbed, and what it drew on a terminal of 80 columns."""
    directory = tmp_path_factory.mktemp("reference") / "run"
    with terminal(sys.executable, "-m", "curiax", *train_args(directory), columns=80) as pty:
        deadline = time.monotonic() + PATIENCE
        while pty.process.poll() is None and time.monotonic() < deadline:
            read(pty, 0.1)
        assert leave(pty) == 0
    return directory, re.sub(r"\x1b\[[?\d;]*[a-zA-Z]", "", pty.output.decode()).replace("\n", "\r").split("\r")


@pytest.fixture(scope="module")
def reference(watched):
    return watched[0]


@pytest.fixture
def copy(reference, tmp_path):
    return shutil.copytree(reference, tmp_path / "run")


@pytest.mark.slow
def test_an_undisturbed_run_writes_every_row_and_says_it_is_done(reference):
    assert read_config(reference) == TINY
    assert [row["update"] for row in read_metrics(reference / "metrics.csv")] == list(range(2, 102, 2))
    assert int(last_state(reference).num_updates) == TINY.num_updates == 100
    assert (reference / "DONE").exists()


@pytest.mark.slow
def test_a_run_killed_at_random_moments_and_resumed_is_bit_identical(reference, tmp_path):
    rng = random.Random(0)
    directory = tmp_path / "run"
    for kill in range(NUM_KILLS):
        with training(directory) as process:
            if kill == 0:  # somewhere between the first file and the first row
                wait_until(directory.exists, process)
                time.sleep(rng.uniform(0, 2))
            else:  # somewhere in the updates, rows and checkpoints that follow
                target = num_rows(directory) + rng.randint(1, 4)
                wait_until(lambda target=target: num_rows(directory) >= target, process)
                time.sleep(rng.uniform(0, 0.1))
            assert process.poll() is None, "it ended before it was killed"
            process.kill()
    assert 0 < num_rows(directory) < num_rows(reference)
    assert not (directory / "DONE").exists()
    assert "going on from update" in finish(directory)
    assert_same_run(directory, reference)


@pytest.mark.slow
@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_a_signal_saves_says_how_to_go_on_and_the_resumed_run_is_bit_identical(
    reference, tmp_path, number, code, capsys
):
    directory = tmp_path / "run"
    with training(directory) as process:
        wait_until(lambda: num_rows(directory) >= 3, process)
        assert main(train_args(directory)) == 2  # one process at a time
        process.send_signal(number)
        out, err = process.communicate(timeout=PATIENCE)
    assert (process.returncode, err) == (code, "")
    assert "another process is training here" in capsys.readouterr().err
    update = int(last_state(directory).num_updates)
    assert update == 2 * num_rows(directory) < 100  # nothing is lost
    assert out.splitlines()[-1] == f"saved at update {update}; the same command goes on from here"
    assert f"going on from update {update} of 100" in finish(directory)
    assert_same_run(directory, reference)


@pytest.mark.slow
def test_ctrl_c_before_training_begins_stops_at_once_without_a_traceback(tmp_path):
    with training(tmp_path / "run") as process:
        wait_until((tmp_path / "run/config.json").exists, process)
        time.sleep(0.2)  # in this phase JAX swallows a KeyboardInterrupt
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=PATIENCE)
    assert (process.returncode, err) == (130, "")
    assert out.splitlines()[-1] == "saved at update 0; the same command goes on from here"
    assert num_rows(tmp_path / "run") == 0


@pytest.mark.slow
def test_a_terminal_shows_steps_speed_noise_dwell_and_time_left_on_one_line(watched):
    _, drawn = watched
    line = r"━*[╸╺]?━* ?0\.00/0\.00 M steps  [\d,]+ steps/s  (trackers \d\.\d\d  )?noise dwell \d\.\d\d \d\d:\d\d"
    assert any(re.fullmatch(line, text.rstrip()) for text in drawn), drawn
    assert max(len(text) for text in drawn if "steps/s" in text) <= 80


def test_the_progress_line_shows_trackers_once_an_episode_has_ended():
    metrics = {"noise_dwell": 0.25, "trackers": float("nan")}
    assert progress_text(TINY, 50, metrics, 12345.6) == "0.00/0.00 M steps  12,346 steps/s  noise dwell 0.25"
    assert "trackers 1.50  noise dwell" in progress_text(TINY, 50, metrics | {"trackers": 1.5}, 1.0)
    assert "… steps/s" in progress_text(TINY, 2, metrics, float("nan"))


@pytest.mark.slow
def test_a_finished_run_is_left_as_it_is(copy, capsys):
    before = contents(copy)
    assert main(train_args(copy)) == 0
    assert "already done: 0.00 M steps in" in capsys.readouterr().out
    assert contents(copy) == before


@pytest.mark.slow
def test_a_run_killed_between_its_last_checkpoint_and_done_ends_well(copy, reference, capsys):
    (copy / "DONE").unlink()
    assert main(train_args(copy)) == 0
    assert_same_run(copy, reference)


@pytest.mark.slow
def test_a_truncated_checkpoint_is_said_and_the_run_is_still_bit_identical(copy, reference, capfd):
    (copy / "DONE").unlink()
    for file in (copy / "checkpoints/100/default").rglob("*"):
        if file.is_file():
            os.truncate(file, file.stat().st_size // 2)
    assert main(train_args(copy)) == 0
    out, err = capfd.readouterr()
    assert "checkpoint 100 is damaged, going back to checkpoint 96" in out and err == ""
    assert_same_run(copy, reference)


@pytest.mark.slow
def test_a_loss_that_is_not_a_number_stops_the_run_by_name_and_keeps_everything(copy, capsys):
    run = Run(copy, TINY)
    state = last_state(copy)
    params = state.params._replace(curiosity=poison(state.params.curiosity, "reconstructor"))
    run.save(state._replace(params=params, num_updates=jnp.int32(104)))
    run.close()
    before = contents(copy / "checkpoints"), (copy / "metrics.csv").read_bytes()
    assert main(train_args(copy, config=dataclasses.replace(TINY, env_steps=1600))) == 2
    err = capsys.readouterr().err
    assert err == "curiax: loss/reconstruction is not finite after update 106; the last good checkpoint is kept\n"
    assert (contents(copy / "checkpoints"), (copy / "metrics.csv").read_bytes()) == before


def diverging(config, curiosity, params, state, *rest):
    """The learner's losses, of which the reconstruction is not a number from the seventh update on."""
    losses, scored = learner_losses(config, curiosity, params, state, *rest)
    factor, loss = jnp.where(state.num_updates < 6, 1.0, jnp.nan), losses["reconstruction"]
    return losses | {"reconstruction": loss._replace(value=factor * loss.value)}, scored


@pytest.mark.slow
def test_a_run_that_diverges_stops_in_one_line_and_its_last_checkpoint_is_good(tmp_path, capsys, monkeypatch):
    monkeypatch.setattr("curiax.training.learner.learner_losses", diverging)
    args = train_args(tmp_path / "run")
    assert main(args) == 2
    err = capsys.readouterr().err
    update = int(re.fullmatch(r"curiax: [a-z]+/[a-z]+ is not finite after update (\d+); the last good .*\n", err)[1])
    assert num_rows(tmp_path / "run") == update // 2 - 1  # every row before, none after
    state = last_state(tmp_path / "run")
    assert int(state.num_updates) == (update - 1) // 4 * 4
    assert all(np.isfinite(leaf).all() for leaf in jax.tree.leaves((state.params, state.optimizer, state.popart)))
    assert not (tmp_path / "run/DONE").exists()
    assert main(args) == 2  # going on from there leads to the same end
    assert capsys.readouterr().err == err


def test_a_mistake_ends_the_process_with_code_2_and_no_traceback(tmp_path):
    command = [sys.executable, "-m", "curiax", "train", "maze/nowhere", "--run-dir", str(tmp_path / "run")]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=PATIENCE, check=False)
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (2, "", 1)
    assert done.stderr.startswith("curiax: environment maze/nowhere: unknown.")

"""Studies on a Ray cluster: a real one, with a machine killed in the middle; and what is said where there is none."""

import contextlib
import os
import re
import signal
import socket
import subprocess
import sys
import time

import pytest

from curiax.commands.cli import main
from curiax.errors import UserError
from curiax.studies.runner import launch_ray
from curiax.studies.runner.launch import MAX_LOSSES, State, launch, one_thread
from curiax.studies.runner.launch_ray import connect, fits, reach
from curiax.studies.runner.options import Launcher
from curiax.training.run.files import lock
from curiax.training.run.outputs import claim
from curiax.training.signals import Stop
from tests.support.programs import num_rows, processes, task
from tests.support.small_study import FIELDS, METHOD, PATIENCE, assert_same_run, words
from tests.support.terminal import ROOT

LONGER = ["--env-steps", "16000"]  # long enough to be interrupted twice


@pytest.fixture(scope="module")
def cluster():
    """The process of a cluster, and its address."""
    command = [sys.executable, str(ROOT / "tests/support/ray_cluster.py")]
    options = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.DEVNULL, "text": True}
    with subprocess.Popen(command, **options) as process:
        try:
            address = process.stdout.readline().strip()
            assert re.fullmatch(r"127\.0\.0\.1:\d+", address)
            yield process, address
        finally:
            process.stdin.close()
            process.wait(timeout=PATIENCE)


@contextlib.contextmanager
def studying(directory, address):
    options = [*LONGER, "--launcher", "ray", "--address", address]
    command = [sys.executable, "-m", "curiax", *words(directory, *options)]
    process = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    try:
        yield process
    finally:
        process.kill()
        process.communicate()


def wait_until(condition, process):
    deadline = time.monotonic() + PATIENCE
    while not condition():
        assert process.poll() is None, process.communicate()
        assert time.monotonic() < deadline
        time.sleep(0.2)


def trainer(run):
    """The process that trains it."""
    (pid,) = set(processes(str(run))) & set(processes("curiax.studies.runner.worker None"))
    return pid


@pytest.mark.slow
def test_a_study_goes_on_after_ctrl_c_and_outlives_a_machine_to_the_same_bits(cluster, tmp_path):
    keeper, address = cluster
    study = tmp_path / "maze"
    runs = [study / METHOD / seed for seed in "01"]
    with studying(study, address) as process:
        wait_until(lambda: all(num_rows(run) >= 5 for run in runs), process)
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=PATIENCE)
    assert (process.returncode, err) == (130, "")
    assert "stopped, 0 of 2 runs done; the same command goes on from here" in out
    assert f"{METHOD}/0: stopped" in out, out
    assert not any((run / "FAILED").exists() for run in runs)
    before = [num_rows(run) for run in runs]
    assert all(f"saved at update {rows:,}" in log(run) for run, rows in zip(runs, before, strict=True))

    with studying(study, address) as process:
        wait_until(lambda: all(num_rows(run) > rows + 5 for run, rows in zip(runs, before, strict=True)), process)
        keeper.stdin.write(f"kill {trainer(runs[0])}\n")
        keeper.stdin.flush()
        assert keeper.stdout.readline() == "killed\n"
        out, err = process.communicate(timeout=PATIENCE)
    assert (process.returncode, err) == (0, "")
    lost = re.findall(rf"^{METHOD}/(\d): lost: .+", out, re.M)  # with its node, or with the worker that goes with it
    assert set(lost) == {"0"}, out
    assert len(re.findall(r"going on from update", log(runs[0]))) == 2  # after the Ctrl-C, and on the other machine
    assert all((run / "DONE").exists() and num_rows(run) == 2000 for run in runs)
    assert (study / "scores.csv").read_text().count("\n") == 3

    alone = tmp_path / "alone"
    command = [sys.executable, "-m", "curiax", "train", "maze/on-demand", "--curiosity", "byol-explore", *FIELDS]
    options = [*LONGER, "--run-dir", str(alone)]
    subprocess.run(command + options, cwd=ROOT, env=one_thread(os.environ), stdout=subprocess.DEVNULL, check=True)
    assert_same_run(runs[0], alone)


def log(run):
    return run.with_name(f"{run.name}.log").read_text()


def test_a_door_that_is_closed_is_one_line_at_once():
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))
        address = f"127.0.0.1:{closed.getsockname()[1]}"
        with pytest.raises(UserError, match=rf"^--address {address}: cannot be reached \(Connection refused\)$"):
            reach(address)


def test_something_that_is_not_ray_is_given_up(monkeypatch):
    monkeypatch.setattr(launch_ray, "CONNECT_SECONDS", 2.0)
    with socket.create_server(("127.0.0.1", 0)) as other:
        address = f"127.0.0.1:{other.getsockname()[1]}"
        with pytest.raises(UserError, match=rf"^--address {address}: no Ray cluster answered within 2 s$"):
            reach(address)


def test_without_ray_the_extra_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(UserError, match=re.escape("--launcher ray needs, is not installed: pip install '.[ray]'")):
        connect("local")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--address", "auto"], "--address, --cpus and --gpus: only with --launcher ray"),
        (["--launcher", "ray", "--cpus", "0"], "--cpus 0: must be at least 1"),
        (["--launcher", "ray", "--gpus", "-1"], "--gpus -1.0: must be at least 0"),
        (["--launcher", "ray", "--address", "ray://h:1"], "run the study on a machine of the cluster"),
    ],
)
def test_wrong_options_are_one_line(options, message, tmp_path, capsys):
    assert main(words(tmp_path / "study", *options)) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert message in line and not (tmp_path / "study").exists()


def test_a_study_of_one_process_has_no_launcher(capsys):
    assert main(["study", "scm", "--launcher", "ray"]) == 2
    assert capsys.readouterr().err == "curiax: --launcher: the study scm is one process\n"


def test_a_machine_has_room_for_what_its_scarcest_resource_allows():
    offered = {"CPU": 8.0, "GPU": 1.0}
    assert fits(offered, Launcher("ray")) == 8
    assert fits(offered, Launcher("ray", cpus=3)) == 2
    assert fits(offered, Launcher("ray", gpus=0.5)) == 2
    assert fits({"CPU": 8.0}, Launcher("ray", gpus=1.0)) == 0


class Unlucky:
    """A place that loses every run."""

    where, num_jobs, room = "nowhere", 1, 1

    def __init__(self):
        self.num_begun = 0

    def begin(self, task):
        self.num_begun += 1

    def look(self, run, asked):
        return State("lost", "node died")

    def ask(self, run): ...

    def kill(self, run): ...


def test_a_run_that_is_lost_again_and_again_fails_at_last(tmp_path, monkeypatch):
    monkeypatch.setattr("curiax.studies.runner.launch.POLL_INTERVAL", 0.0)
    place = Unlucky()
    *states, end = [each["run"] for each in launch([task(tmp_path / "run")], place, Stop())]
    assert place.num_begun == MAX_LOSSES + 1 and {state.kind for state in states} == {"lost"}
    assert end == State("failed", f"lost {MAX_LOSSES + 1} times, the last time: node died")
    assert (tmp_path / "run/FAILED").read_text() == end.reason + "\n"


def test_a_lost_run_is_said_to_be_lost_while_its_process_still_holds_it(tmp_path, monkeypatch):
    monkeypatch.setattr("curiax.studies.runner.launch.POLL_INTERVAL", 0.0)
    directory = tmp_path / "run"
    states = launch([task(directory)], Unlucky(), Stop())
    assert next(states)["run"].kind == "lost"
    claim(directory, "run")
    held = lock(directory)
    assert [next(states)["run"].kind for _ in range(3)] == ["lost"] * 3
    states.close()
    held.release()


def test_a_run_that_is_lost_after_it_was_asked_to_stop_has_stopped(tmp_path):
    stop, place = Stop(), Waiting()
    states = launch([task(tmp_path / "run")], place, stop)
    assert next(states)["run"].kind == "running"
    stop.signal = signal.SIGINT
    assert [each["run"].kind for each in states] == ["stopped"]
    assert place.asked == 1 and not (tmp_path / "run/FAILED").exists()


class Waiting(Unlucky):
    """A place that loses a run as soon as it is asked to stop."""

    asked = 0

    def look(self, run, asked):
        return State("lost", "node died") if asked else State("running")

    def ask(self, run):
        self.asked += 1

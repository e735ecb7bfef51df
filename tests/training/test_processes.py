"""Several processes train one run; a job that loses a process ends, and the same command continues it."""

import random
import shutil
import signal
import sys
from pathlib import Path

import jax
import pytest

from curiax import envs
from curiax.errors import DEBUG, UserError
from curiax.training.processes import agree, local_batch_size, why
from curiax.training.run.directory import read_maps
from curiax.training.run.metrics import read_metrics
from curiax.training.witness import GO_ON
from tests.support.host_maze import HOST
from tests.support.terminal import ROOT

sys.path.append(str(ROOT / "benchmarks"))
from faults import check_going_on, choose, hit, newest, same_numbers, seconds_to_line, words
from jobs import SMALL, finish, job, metrics_but_seconds, wait_for_rows

LENGTH = 100  # updates of a job
PATIENCE = 900  # seconds; a busy machine compiles slowly


def test_one_process_agrees_with_itself_and_steps_the_whole_batch():
    assert agree(15) == 15 and local_batch_size(32) == 32


def test_a_lost_process_is_told_from_a_mistake_of_the_user_and_from_one_of_the_program(capsys, monkeypatch):
    assert why(UserError("one line")) == ("one line", 2)
    broken = [ValueError("UNKNOWN: Gloo AllGather failed: Connection reset"), jax.errors.JaxRuntimeError("UNAVAILABLE")]
    assert [why(error)[0].endswith(GO_ON) for error in broken] == [True, True]
    assert why(KeyboardInterrupt(signal.SIGTERM)) == ("interrupted", 143)
    line, code = why(KeyError("x"))
    assert line.startswith("internal error: KeyError: 'x'; --debug shows") and code == 1
    assert capsys.readouterr().err == ""
    monkeypatch.setenv(DEBUG, "1")
    why(KeyError("x"))
    assert "KeyError: 'x'" in capsys.readouterr().err


# Real processes, over 127.0.0.1. Tests share runs: starting a process takes seconds.


@pytest.fixture(scope="module")
def reference(tmp_path_factory):
    """A run of two processes that nothing disturbed."""
    directory = tmp_path_factory.mktemp("jobs") / "reference"
    with job(words(directory, LENGTH, "rnd"), 2) as members:
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
    with job(asked, 2) as members:
        wait_for_rows(tmp_path, 4, members, PATIENCE)
        found = hit(members, tmp_path, victim=1, number=signal.SIGKILL)
    assert "goes on from the newest checkpoint" in found["line"]  # how soon, benchmarks/faults.py measures
    with job(asked, 2) as members:
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
    with job(asked, 2, before=small_disk) as members:
        for member in members:
            assert seconds_to_line(member, 0.0) > 0 and member.process.returncode == 2
        line = f"checkpoint {LENGTH + 10} cannot be written, earlier ones are kept"
        assert line in members[0].said().text and f"curiax: process 0: {line}" in members[1].said().text
    assert newest(tmp_path) == LENGTH
    with job([*asked, "--peer-timeout", "15"], 4) as members:
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
    with job(asked, 2, program=str(ROOT / "tests/support/host_worker.py")) as members:
        wait_for_rows(tmp_path, 3, members, PATIENCE)
        members[1].process.send_signal(signal.SIGTERM)
        assert [member.wait(PATIENCE) for member in members] == [143, 143]
        assert any("the same command goes on from here" in line.text for line in members[0].out)
    monkeypatch.setitem(envs.HOSTS, "host", HOST)  # here too: it says how large a map is
    visits = read_maps(tmp_path, envs.profile_of("maze/on-demand").map.wall.shape)[:, 0].sum(axis=(1, 2))
    assert visits[0] == 2 * 4 * 4  # of both processes: updates, steps, streams; no episode has ended yet
    assert newest(tmp_path) == 2 * len(visits)


@pytest.mark.slow
def test_a_second_signal_ends_every_process_at_once_with_one_line_each(tmp_path):
    with job(words(tmp_path, 100_000, "rnd"), 2) as members:
        wait_for_rows(tmp_path, 2, members, PATIENCE)
        for member in members:  # stopped first, so that both signals are there before anything is saved
            member.process.send_signal(signal.SIGSTOP)
            member.process.send_signal(signal.SIGTERM)
            member.process.send_signal(signal.SIGINT)
            member.process.send_signal(signal.SIGCONT)
        codes = [member.wait(PATIENCE) for member in members]
        errors = [[line.text for line in member.err if "curiax" in line.text] for member in members]
    assert set(codes) <= {130, 143, 2} and codes != [2, 2]  # 2: the other process was first
    assert all(len(lines) == 1 and "interrupted" in lines[0] for lines in errors)


def test_the_soak_hits_both_processes_with_both_signals_in_both_phases():
    rng = random.Random(0)
    chosen = [choose(rng) for _ in range(20)]
    assert {(one.victim, one.number) for one in chosen} == {
        (victim, number) for victim in (0, 1) for number in (signal.SIGKILL, signal.SIGSTOP)
    }
    assert {one.phase for one in chosen} == {"start", "training"}

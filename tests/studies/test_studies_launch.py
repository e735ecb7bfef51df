"""Processes of a study: pinned, stopped with it, and none in the way of another."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from curiax.studies.runner.launch import available_cores, launch, reason
from curiax.training.run.files import is_locked, lock
from curiax.training.run.outputs import claim
from curiax.training.signals import Stop
from tests.support.programs import processes, task, train_args, wait_for
from tests.support.terminal import ROOT

PATIENCE = 300  # seconds; a busy machine is slow to start a program


def last(states):
    *_, end = states
    return {name: state.kind for name, state in end.items()}


def test_a_process_that_fails_leaves_its_reason_and_the_others_go_on(tmp_path):
    (tmp_path / "file").touch()
    tasks = [
        task(tmp_path / "bad", "trian"),
        task(tmp_path / "file", "--help"),  # no place for a directory
        task(tmp_path / "file" / "below", "--help"),
        task(tmp_path / "good", "--help"),
    ]
    *_, states = launch(tasks[:1] + tasks[2:], available_cores()[:1], Stop())
    assert {name: state.kind for name, state in states.items()} == {"bad": "failed", "below": "failed", "good": "done"}
    assert states["bad"].reason.startswith("curiax trian: unknown. Did you mean train?")
    assert (tmp_path / "bad/FAILED").read_text() == states["bad"].reason + "\n"
    assert "Not a directory" in states["below"].reason or "File exists" in states["below"].reason
    assert "curiax train ENV" in (tmp_path / "good.log").read_text()
    assert last(launch(tasks[1:2], available_cores()[:1], Stop())) == {"file": "failed"}


def test_a_failure_is_forgotten_when_the_run_is_started_again(tmp_path):
    (tmp_path / "run").mkdir()
    (tmp_path / "run/FAILED").write_text("no disk\n")
    assert last(launch([task(tmp_path / "run", "--help")], [available_cores()[0]], Stop())) == {"run": "done"}
    assert not (tmp_path / "run/FAILED").exists()


def test_a_run_that_another_process_holds_is_waited_for_while_the_others_go_on(tmp_path):
    claim(tmp_path / "first", "run")
    assert not is_locked(tmp_path / "first")
    other = lock(tmp_path / "first")
    assert is_locked(tmp_path / "first")
    kinds = []
    for states in launch(
        [task(tmp_path / name, "--help") for name in ("first", "second")], [available_cores()[0]], Stop()
    ):
        kinds.append((states["first"].kind, states["second"].kind))
        if kinds[-1] == ("held", "done"):
            other.release()
    assert kinds[0] == ("held", "running") and ("held", "done") in kinds and kinds[-1] == ("done", "done")


def test_after_a_signal_nothing_new_is_started_and_what_runs_is_asked_to_stop(tmp_path):
    stop = Stop()
    tasks = [task(tmp_path / name, *train_args(tmp_path / name)) for name in ("first", "second")]
    for states in launch(tasks, [available_cores()[0]], stop):
        if states["first"].kind == "running":
            stop.signal = signal.SIGTERM
    assert {name: state.kind for name, state in states.items()} == {"first": "stopped", "second": "waiting"}
    assert not (tmp_path / "second").exists() and not (tmp_path / "first/FAILED").exists()


@pytest.mark.skipif(not hasattr(os, "sched_getaffinity"), reason="this system does not pin")
def test_a_process_has_one_core_and_one_thread_for_arithmetic_and_ends_with_a_generator_that_is_closed(
    tmp_path, monkeypatch
):
    monkeypatch.setenv("XLA_FLAGS", "--xla_cpu_enable_fast_math=false")
    core = available_cores()[-1]
    states = launch([task(tmp_path / "run", *train_args(tmp_path / "run"))], [core], Stop())
    next(states)
    wait_for((tmp_path / "run/config.json").exists)  # JAX is up
    (pid,) = processes(str(tmp_path / "run"))
    threads = [int(path.name) for path in Path(f"/proc/{pid}/task").iterdir()]
    assert len(threads) > 1 and all(os.sched_getaffinity(thread) == {core} for thread in threads)
    environment = Path(f"/proc/{pid}/environ").read_bytes().decode().split("\0")
    assert "XLA_FLAGS=--xla_cpu_enable_fast_math=false --xla_cpu_multi_thread_eigen=false" in environment
    assert os.getsid(pid) != os.getsid(0)  # a Ctrl-C in the terminal is not its own
    states.close()
    assert processes(str(tmp_path / "run")) == []


@pytest.mark.skipif(not Path("/proc").exists(), reason="no /proc to look into")
def test_a_process_stops_when_its_parent_is_killed(tmp_path):
    code = (
        "from pathlib import Path\n"
        "from curiax.training.signals import Stop\n"
        "from curiax.studies.runner.launch import *\n"
        f"task = Task('run', Path({str(tmp_path / 'run')!r}), {train_args(tmp_path / 'run')!r})\n"
        "list(launch([task], available_cores()[:1], Stop()))"
    )
    parent = subprocess.Popen([sys.executable, "-c", code], cwd=ROOT)
    try:
        wait_for((tmp_path / "run/config.json").exists)
        (child,) = [pid for pid in processes(str(tmp_path / "run")) if pid != parent.pid]
    finally:
        parent.kill()
        parent.wait()
    wait_for(lambda: child not in processes(str(tmp_path / "run")))
    assert "saved at update" in (tmp_path / "run.log").read_text()


@pytest.mark.parametrize(
    ("code", "said", "text"),
    [
        (2, "maze  …\ncuriax: run: no space left\nsome library's last words\n", "run: no space left"),
        (1, "Traceback:\n  File\nValueError: boom\n\n", "ValueError: boom"),
        (1, "", "ended with code 1"),
        (-9, "0.1 M steps\n", "ended by SIGKILL"),
        (143, "saved at update 4\n", "ended by SIGTERM"),
    ],
)
def test_the_reason_of_a_failure_is_one_line(code, said, text):
    assert reason(code, said) == text

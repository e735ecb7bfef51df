"""Processes, one per core. A failed one is noted and does not stop the others."""

import contextlib
import fcntl
import os
import signal
import subprocess
import sys
import time
from collections.abc import Generator, Sequence
from pathlib import Path
from typing import Literal, NamedTuple

from curiax.program import Stop
from curiax.runs import write_atomically

POLL_INTERVAL = 0.5  # seconds


class Task(NamedTuple):
    """A run to be trained, by a process of its own."""

    name: str
    directory: Path
    words: list[str]  # after `curiax`

    @property
    def log(self) -> Path:
        """What the process says; beside the run's directory, for there it would look like someone else's file."""
        return self.directory.with_name(f"{self.directory.name}.log")


class State(NamedTuple):
    kind: Literal["waiting", "held", "running", "stopped", "done", "failed"]  # held: by a process that is not ours
    reason: str = ""


class Child(NamedTuple):
    task: Task
    core: int
    process: subprocess.Popen
    log_start: int  # size of the log when the process began


def available_cores() -> list[int]:
    if hasattr(os, "sched_getaffinity"):
        return sorted(os.sched_getaffinity(0))
    return list(range(os.cpu_count() or 1))


def launch(tasks: Sequence[Task], cores: Sequence[int], stop: Stop) -> Generator[dict[str, State]]:
    """Works through the tasks, one process per core at a time, and yields the state of each twice a second.

    After a signal nothing new is started, and the processes are asked to save and stop.
    """
    states = {task.name: State("waiting") for task in tasks}
    waiting, free = list(tasks), list(cores)
    children: list[Child] = []
    asked = False
    try:
        while children or (waiting and not stop.signal):
            if stop.signal and not asked:
                asked = True
                for child in children:
                    child.process.terminate()
            for task in waiting:
                states[task.name] = State("held") if held(task.directory) else State("waiting")
            ready = [task for task in waiting if states[task.name].kind == "waiting" and not stop.signal]
            for task, core in zip(ready, list(free), strict=False):
                waiting.remove(task)
                begun = begin(task, core)
                if isinstance(begun, State):
                    states[task.name] = begun
                else:
                    states[task.name] = State("running")
                    children.append(begun)
                    free.remove(core)
            yield dict(states)
            time.sleep(POLL_INTERVAL)
            for child in [child for child in children if child.process.poll() is not None]:
                children.remove(child)
                free.append(child.core)
                states[child.task.name] = ended(child, asked)
        yield dict(states)
    finally:
        for child in children:  # a second Ctrl-C, or an error here
            child.process.kill()
            child.process.wait()


def begin(task: Task, core: int) -> Child | State:
    """Starts the process; a directory that cannot be written is the task's failure."""
    flags = os.environ.get("XLA_FLAGS", "") + " --xla_cpu_multi_thread_eigen=false"
    command = [sys.executable, "-m", "curiax.studies.worker", str(core), str(os.getpid()), *task.words]
    try:
        task.log.parent.mkdir(parents=True, exist_ok=True)
        (task.directory / "FAILED").unlink(missing_ok=True)
        with task.log.open("ab") as log:
            process = subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                env=os.environ | {"XLA_FLAGS": flags.strip(), "PYTHONUNBUFFERED": "1"},
                start_new_session=True,  # a Ctrl-C is the study's to pass on
            )
            return Child(task, core, process, log.tell())
    except OSError as error:
        return failed(task, f"{error.filename}: {error.strerror}")


def ended(child: Child, asked: bool) -> State:
    """What became of a process that has ended."""
    code = child.process.returncode
    if code == 0:
        return State("done")
    if asked and code in (128 + signal.SIGTERM, -signal.SIGTERM):
        return State("stopped")
    with child.task.log.open("rb") as log:
        log.seek(child.log_start)
        said = log.read().decode(errors="replace")
    return failed(child.task, reason(code, said))


def reason(code: int, said: str) -> str:
    """One line on a process that ended badly."""
    number = -code if code < 0 else code - 128
    if number in set(signal.Signals):
        return f"ended by {signal.Signals(number).name}"
    lines = [line for line in said.splitlines() if line.strip()]
    clear = [line.removeprefix("curiax: ") for line in lines if line.startswith("curiax: ")]
    return (clear or lines or [f"ended with code {code}"])[-1]


def failed(task: Task, why: str) -> State:
    """Leaves the reason in the run's directory, for the report."""
    with contextlib.suppress(OSError):
        task.directory.mkdir(parents=True, exist_ok=True)
        write_atomically(task.directory / "FAILED", why + "\n")
    return State("failed", why)


def held(directory: Path) -> bool:
    """Is another process training there, such as one whose study was killed a moment ago and that is still saving?"""
    try:
        with (directory / "lock").open("r+") as file:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    except OSError:  # no lock: nobody was ever there
        return False
    return False

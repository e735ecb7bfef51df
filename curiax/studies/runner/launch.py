"""Runs at several places at a time. A failed one is noted and does not stop the others.

`launch` is the same wherever the runs are: a `Place` begins them, looks at them and stops them. Here is this machine, a
process on each core; `launch_ray` has the machines of a cluster.
"""

import contextlib
import fcntl
import os
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Generator, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, NamedTuple, Protocol, runtime_checkable

from curiax.training.run.files import write_atomically
from curiax.training.signals import Stop

POLL_INTERVAL = 0.5  # seconds
MAX_LOSSES = 10  # of one run; after that it is not the machines' fault


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
    """Held: by a process that is not ours. Lost: with its machine, and to be begun again from its checkpoint."""

    kind: Literal["waiting", "held", "running", "lost", "stopped", "done", "failed"]
    reason: str = ""
    machine: str = ""  # where it runs, unless that is here


@runtime_checkable
class Place(Protocol):
    """Where runs are. What `begin` gives stands for a run in the other three."""

    where: str  # in words
    num_jobs: int  # to have under way at a time; some may wait in a queue of the place's own
    room: int  # of these, as many as run at a time

    def begin(self, task: Task) -> Any: ...

    def look(self, run: Any, asked: bool) -> State:
        """How it is; waiting or running, or how it ended, which is said once. Was it asked to stop?"""
        ...

    def ask(self, run: Any) -> None:
        """To save and stop."""
        ...

    def kill(self, run: Any) -> None: ...


class Child(NamedTuple):
    task: Task
    core: int | None  # it is pinned to
    process: subprocess.Popen
    log_start: int  # size of the log when the process began


def available_cores() -> list[int]:
    if hasattr(os, "sched_getaffinity"):
        return sorted(os.sched_getaffinity(0))
    return list(range(os.cpu_count() or 1))


def launch(tasks: Sequence[Task], place: Place | Sequence[int], stop: Stop) -> Generator[dict[str, State]]:
    """Works through the tasks, as many at a time as the place takes, and yields the state of each twice a second.

    After a signal nothing new is started, and the runs are asked to save and stop. The place may be a list of cores.
    """
    place = Cores(place) if isinstance(place, Sequence) else place
    states = {task.name: State("waiting") for task in tasks}
    runs: dict[str, Any] = {}  # under way
    losses: Counter[str] = Counter()
    asked = False

    def look(task: Task) -> None:
        state = place.look(runs[task.name], asked)
        if state.kind == "lost" and asked:  # it was to end, and however it did, it goes on from its checkpoint
            state = State("stopped")
        if state.kind == "lost":
            losses[task.name] += 1
            if losses[task.name] > MAX_LOSSES:
                state = failed(task, f"lost {losses[task.name]} times, the last time: {state.reason}")
        if state.kind not in ("waiting", "running"):
            del runs[task.name]
        if state.kind != "waiting":  # in a queue, a lost run is still shown as lost
            states[task.name] = state

    try:
        while True:
            if stop.signal and not asked:
                asked = True
                for run in runs.values():
                    place.ask(run)
            for task in [task for task in tasks if task.name in runs]:
                look(task)
            for task in [] if stop.signal else idle(tasks, states, runs):
                if held(task.directory):
                    if states[task.name].kind != "lost":  # its process may be a moment behind its machine
                        states[task.name] = State("held")
                elif len(runs) < place.num_jobs:
                    runs[task.name] = place.begin(task)
                    look(task)
                elif states[task.name].kind == "held":
                    states[task.name] = State("waiting")
            yield dict(states)
            if not runs and (stop.signal or not idle(tasks, states, runs)):
                return
            time.sleep(POLL_INTERVAL)
    finally:
        for run in runs.values():  # a second Ctrl-C, or an error here
            place.kill(run)


def idle(tasks: Sequence[Task], states: Mapping[str, State], runs: Mapping[str, Any]) -> list[Task]:
    """What is still to be begun."""
    unfinished = [task for task in tasks if states[task.name].kind in ("waiting", "held", "lost")]
    return [task for task in unfinished if task.name not in runs]


class Cores:
    """Of this machine: a process on each. One that is named twice is shared by two."""

    def __init__(self, cores: Sequence[int]):
        self.num_jobs = self.room = len(cores)
        self._free = list(cores)
        used = sorted(set(cores))
        self.where = f"on {'core' if len(used) == 1 else 'cores'} {', '.join(map(str, used))}"

    def begin(self, task: Task) -> Child | State:
        core = self._free.pop(0)
        begun = begin(task, core, one_thread(os.environ))
        if isinstance(begun, State):
            self._free.append(core)
        return begun

    def look(self, run: Child | State, asked: bool) -> State:
        if isinstance(run, State):
            return run
        if run.process.poll() is None:
            return State("running")
        self._release(run)
        return ended(run, asked)

    def _release(self, run: Child) -> None:
        if run.core is not None:
            self._free.append(run.core)

    def ask(self, run: Child | State) -> None:
        if isinstance(run, Child):
            run.process.terminate()

    def kill(self, run: Child | State) -> None:
        if isinstance(run, Child):
            run.process.kill()
            run.process.wait()
            self._release(run)


def one_thread(environment: Mapping[str, str]) -> dict[str, str]:
    """The environment, with one thread for arithmetic: a run that has one core is slower with more."""
    flags = environment.get("XLA_FLAGS", "") + " --xla_cpu_multi_thread_eigen=false"
    return {**environment, "XLA_FLAGS": flags.strip()}


def begin(task: Task, core: int | None, environment: Mapping[str, str]) -> Child | State:
    """Starts the process, pinned to a core or not; a directory that cannot be written is the task's failure."""
    command = [sys.executable, "-m", "curiax.studies.runner.worker", str(core), str(os.getpid()), *task.words]
    try:
        task.log.parent.mkdir(parents=True, exist_ok=True)
        (task.directory / "FAILED").unlink(missing_ok=True)
        with task.log.open("ab") as log:
            process = subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                env={**environment, "PYTHONUNBUFFERED": "1"},
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

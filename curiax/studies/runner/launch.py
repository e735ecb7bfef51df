"""Trains several runs at a time. A run that fails does not stop the others.

A `Place` starts runs, looks at them and stops them. `Cores` is this machine, with a process per core; `launch_ray` has
the machines of a cluster.
"""

import contextlib
import os
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Generator, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, NamedTuple, Protocol, runtime_checkable

from curiax.errors import UserError
from curiax.training.run.files import is_locked, write_atomically
from curiax.training.run.outputs import claim, is_ours
from curiax.training.signals import Stop

POLL_INTERVAL = 0.5  # seconds
MAX_LOSSES = 10  # of one run; after that it has failed


class Task(NamedTuple):
    """A run to train in a process of its own."""

    name: str
    directory: Path
    words: list[str]  # arguments of `curiax`

    @property
    def log(self) -> Path:
        """The output of the process. It is beside the run's directory, which holds files of the run only."""
        return self.directory.with_name(f"{self.directory.name}.log")


class State(NamedTuple):
    """Held: locked by another process. Lost: with its machine; it will be resumed from its checkpoint."""

    kind: Literal["waiting", "held", "running", "lost", "stopped", "done", "failed"]
    reason: str = ""
    machine: str = ""  # where it runs; "" for this machine


@runtime_checkable
class Place(Protocol):
    """Where runs are trained. The other methods take what `begin` returns."""

    where: str  # description
    num_jobs: int  # runs that are begun at a time; some may wait in a queue of the place
    room: int  # runs that train at a time

    def begin(self, task: Task) -> Any: ...

    def look(self, run: Any, asked: bool) -> State:
        """The state of a run; the final one is returned once. `asked`: it was asked to stop."""
        ...

    def ask(self, run: Any) -> None:
        """Asks a run to save and stop."""
        ...

    def kill(self, run: Any) -> None: ...


class Child(NamedTuple):
    task: Task
    core: int | None  # that it is pinned to
    process: subprocess.Popen
    log_start: int  # size of the log when the process began


def available_cores() -> list[int]:
    if hasattr(os, "sched_getaffinity"):
        return sorted(os.sched_getaffinity(0))
    return list(range(os.cpu_count() or 1))


def launch(tasks: Sequence[Task], place: Place | Sequence[int], stop: Stop) -> Generator[dict[str, State]]:
    """Runs the tasks, as many at a time as the place takes, and yields the state of each twice a second.

    After a signal no task is started, and the runs are asked to save and stop. The place may be a list of cores.
    """
    place = Cores(place) if isinstance(place, Sequence) else place
    states = {task.name: State("waiting") for task in tasks}
    runs: dict[str, Any] = {}  # begun and not ended
    losses: Counter[str] = Counter()
    asked = False

    def look(task: Task) -> None:
        state = place.look(runs[task.name], asked)
        if state.kind == "lost" and asked:  # it should end anyway, and has its checkpoint
            state = State("stopped")
        if state.kind == "lost":
            losses[task.name] += 1
            if losses[task.name] > MAX_LOSSES:
                state = failed(task, f"lost {losses[task.name]} times, the last time: {state.reason}")
        if state.kind not in ("waiting", "running"):
            del runs[task.name]
        if state.kind != "waiting":  # a lost run that waits in a queue is still shown as lost
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
                if is_ours(task.directory, "run") and is_locked(task.directory):
                    if states[task.name].kind != "lost":  # its process may end a little later than its machine
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
    """The tasks that are still to be begun."""
    unfinished = [task for task in tasks if states[task.name].kind in ("waiting", "held", "lost")]
    return [task for task in unfinished if task.name not in runs]


class Cores:
    """Cores of this machine, with a process on each. A core that is listed twice has two."""

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
    """The environment variables, with one thread for XLA: more threads would slow down a run on one core."""
    flags = environment.get("XLA_FLAGS", "") + " --xla_cpu_multi_thread_eigen=false"
    return {**environment, "XLA_FLAGS": flags.strip()}


def begin(task: Task, core: int | None, environment: Mapping[str, str]) -> Child | State:
    """Starts the process, pinned to `core` if it is given. The task has failed if its directory cannot be written."""
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
                start_new_session=True,  # Ctrl-C reaches the study only, which asks its runs to stop
            )
            return Child(task, core, process, log.tell())
    except OSError as error:
        return failed(task, f"{error.filename}: {error.strerror}")


def ended(child: Child, asked: bool) -> State:
    """The state of a run whose process has ended."""
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
    """One line on why a process failed."""
    number = -code if code < 0 else code - 128
    if number in set(signal.Signals):
        return f"ended by {signal.Signals(number).name}"
    lines = [line for line in said.splitlines() if line.strip()]
    clear = [line.removeprefix("curiax: ") for line in lines if line.startswith("curiax: ")]
    return (clear or lines or [f"ended with code {code}"])[-1]


def failed(task: Task, why: str) -> State:
    """Writes the reason into the run's directory, for the report."""
    with contextlib.suppress(OSError, UserError):  # the disk is full, or the directory is not ours
        claim(task.directory, "run")
        write_atomically(task.directory / "FAILED", why + "\n")
    return State("failed", why)

"""The runs of a study on a Ray cluster: every run is a Ray task with its resources.

On its machine a task starts the same process as the local launcher, and yields its first and its final state. A run
that is lost with its machine is resumed from its checkpoint on another one. All machines must see the study's
directory under the same path.
"""

import contextlib
import logging
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Generator, Iterator, Mapping
from pathlib import Path
from typing import Any

from curiax.errors import UserError, first_line, not_installed
from curiax.studies.runner.launch import Child, State, Task, begin, ended, failed, one_thread, reason
from curiax.studies.runner.options import Launcher

CONNECT_SECONDS = 60.0  # timeout
WAIT_INTERVAL = 0.2  # seconds
PASSED_ON = ("JAX_", "XLA_", "CURIAX_", "XDG_CACHE_HOME")  # environment variables that the machines get
# Settings of Ray, which it reads when it is imported. Values that the user has set are kept.
QUIET = {"RAY_USAGE_STATS_ENABLED": "0", "RAY_DEDUP_LOGS_SKIP_REGEX": "."}
LOOPBACK = {"RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER": "0"}  # otherwise Ray replaces 127.0.0.1 by an address of the network
LOST = (-signal.SIGKILL, -signal.SIGTERM, 128 + signal.SIGTERM)  # exit codes of a process that ends with its machine


@contextlib.contextmanager
def cluster(launcher: Launcher, num_jobs: int) -> Iterator["Cluster"]:
    """The cluster of --address or RAY_ADDRESS; else a new one on this machine, which ends with the study."""
    address = launcher.address or os.environ.get("RAY_ADDRESS") or "local"
    handler = signal.getsignal(signal.SIGTERM)
    ray = connect(address)
    signal.signal(signal.SIGTERM, handler)  # Ray has replaced it
    try:
        yield Cluster(ray, launcher, num_jobs)
    finally:
        ray.shutdown()


def connect(address: str) -> Any:
    """The module `ray`, connected. Raises a `UserError` after about a minute if the cluster does not answer."""
    host = address.rpartition(":")[0]
    here = address == "local" or host in ("127.0.0.1", "localhost")
    for name, value in (QUIET | (LOOPBACK if here else {})).items():
        os.environ.setdefault(name, value)
    try:
        import ray
    except ImportError:
        raise not_installed("Ray, which --launcher ray needs,", "ray") from None
    if address != "local":
        reach(address)
    options: dict[str, Any] = {"include_dashboard": False} if address == "local" else {}
    try:
        ray.init(address=address, log_to_driver=False, logging_level=logging.ERROR, **options)
    except Exception as error:  # Ray raises many types
        raise UserError(f"--address {address}: cannot be joined ({first_line(error)})") from None
    return ray


def reach(address: str) -> None:
    """Checks the cluster in a process with a timeout: Ray itself tries to connect for many minutes."""
    host, _, port = address.rpartition(":")
    command = [sys.executable, "-m", "ray.scripts.scripts", "health-check", "--address", address]
    try:
        if port.isdigit():  # a closed port is found at once
            socket.create_connection((host, int(port)), timeout=CONNECT_SECONDS / 4).close()
        subprocess.run(command, capture_output=True, check=True, timeout=CONNECT_SECONDS)
    except subprocess.TimeoutExpired:
        raise UserError(f"--address {address}: no Ray cluster answered within {CONNECT_SECONDS:.0f} s") from None
    except subprocess.CalledProcessError as error:
        said = error.stderr.decode(errors="replace").strip().splitlines()
        why = said[-1] if said else "no reason given"
        raise UserError(f"--address {address}: no Ray cluster there ({why})") from None
    except OSError as error:
        raise UserError(f"--address {address}: cannot be reached ({error.strerror or error})") from None


class Cluster:
    """A `Place` whose runs are generators of Ray, each with its latest state."""

    def __init__(self, ray: Any, launcher: Launcher, num_jobs: int):
        self._ray = ray
        self._asks = {"num_cpus": launcher.cpus, "num_gpus": launcher.gpus}
        self._environment = {name: value for name, value in os.environ.items() if name.startswith(PASSED_ON)}
        self._environment["PYTHONPATH"] = os.getcwd()  # modules of the user's may be there
        if launcher.cpus == 1:
            self._environment = one_thread(self._environment)
        fitting = [fits(node["Resources"], launcher) for node in ray.nodes() if node["Alive"]]
        self.num_jobs = num_jobs  # may be more than fit: Ray has a queue, and the cluster may grow
        self.room = max(min(sum(fitting), self.num_jobs), 1)
        machines = sum(map(bool, fitting))
        self.where = f"on {machines} {'machine' if machines == 1 else 'machines'} of a Ray cluster"
        if not machines:
            self.where += f" (now none has {launcher.cpus} CPUs and {launcher.gpus:g} GPUs: the runs wait for one)"

    def begin(self, task: Task) -> "Run":
        with contextlib.suppress(OSError):  # the task reports the error
            task.log.parent.mkdir(parents=True, exist_ok=True)
            task.log.touch()
        remote = self._ray.remote(train).options(max_retries=0, **self._asks)  # `launch` retries, and shows it
        return Run(task, remote.remote(task, self._environment))

    def look(self, run: "Run", asked: bool) -> State:
        errors = self._ray.exceptions
        try:
            while self._ray.wait([run.said], timeout=0)[0]:
                run.state = self._ray.get(next(run.said))
        except StopIteration:
            if run.state.kind in ("waiting", "running"):
                return State("lost", "its task ended without a word")
        except errors.TaskCancelledError:
            return State("stopped")
        except errors.RayTaskError as error:
            return failed(run.task, first_line(error.cause or error))
        except errors.RayError as error:
            return State("lost", first_line(error).partition(". ")[0])
        return run.state

    def ask(self, run: "Run") -> None:
        self._ray.cancel(run.said)

    def kill(self, run: "Run") -> None:
        self._ray.cancel(run.said, force=True)  # the process stops once its parent has ended


class Run:
    def __init__(self, task: Task, said: Any):
        self.task, self.said = task, said
        self.state = State("waiting")


def fits(offered: Mapping[str, float], launcher: Launcher) -> int:
    """The number of runs that fit on a machine."""
    asked = {"CPU": launcher.cpus, "GPU": launcher.gpus}
    return int(min(offered.get(name, 0.0) / amount for name, amount in asked.items() if amount))


def train(task: Task, environment: Mapping[str, str]) -> Generator[State]:
    """Runs the process on a machine of the cluster. Ray interrupts a task to ask it to stop."""
    signal.signal(signal.SIGINT, signal.default_int_handler)  # a cluster that a shell started with & ignores SIGINT
    machine = socket.gethostname()
    if not task.log.exists():
        yield State("failed", f"{machine} does not see {task.log}: a study's machines must share its directory")
        return
    package = str(Path(__file__).parents[3])  # this curiax, installed or not
    paths = os.pathsep.join(filter(None, [package, environment.get("PYTHONPATH"), os.environ.get("PYTHONPATH")]))
    begun = begin(task, None, {**os.environ, **environment, "PYTHONPATH": paths})
    if isinstance(begun, State):
        yield begun
        return
    asked = threading.Event()
    try:
        yield State("running", machine=machine)
        wait(begun, asked)
    finally:  # interrupted before or after `wait`
        if begun.process.poll() is None:
            ask_to_stop(begun, asked)
            wait(begun, asked)
    yield outcome(begun, asked.is_set())


def wait(child: Child, asked: threading.Event) -> None:
    """Waits until the process has ended. An interrupt asks it to stop."""
    while True:
        try:
            if child.process.poll() is not None:
                return
            time.sleep(WAIT_INTERVAL)
        except KeyboardInterrupt:
            ask_to_stop(child, asked)


def ask_to_stop(child: Child, asked: threading.Event) -> None:
    """Sends SIGTERM, once: Ray may repeat its interrupt, and a second SIGTERM would end the process before it saves."""
    if not asked.is_set():
        asked.set()
        child.process.terminate()


def outcome(child: Child, asked: bool) -> State:
    """The final state. A process that was terminated without being asked to stop is lost with its machine."""
    if not asked and child.process.returncode in LOST:
        return State("lost", reason(child.process.returncode, ""))
    return ended(child, asked)

"""A job of several processes on this machine, over 127.0.0.1: started, watched, ended. For faults, scale and tests."""

import contextlib
import os
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import IO, NamedTuple

ROOT = Path(__file__).parents[1]
PATIENCE = 60.0  # seconds from a kill to the last line

# The smallest networks that do everything.
SIZES = {"world.hidden": 8, "world.critic-hidden": 8, "world.latent": 4, "world.noise": 4}
SIZES |= {f"network.{name}": 8 for name in ("encoder-hidden", "feature-hidden", "embedding", "belief")}
SMALL = ["--unroll", "4", *(word for name, size in SIZES.items() for word in (f"--{name}", str(size)))]


class Line(NamedTuple):
    time: float
    text: str


class Member:
    """A process of a job and every line that it wrote, with the time."""

    def __init__(self, command: list[str], environment: dict[str, str]):
        self.out: list[Line] = []
        self.err: list[Line] = []
        pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True, "errors": "replace"}
        self.process = subprocess.Popen(command, cwd=ROOT, env=environment, **pipes)
        streams = ((self.process.stdout, self.out), (self.process.stderr, self.err))
        self._readers = [threading.Thread(target=read, args=pair, daemon=True) for pair in streams]
        for reader in self._readers:
            reader.start()

    def wait(self, timeout: float) -> int:
        """The exit code, when all its lines have been read."""
        code = self.process.wait(timeout)
        for reader in self._readers:
            reader.join(10)
        return code

    def said(self) -> Line | None:
        """The last line of ours on stderr. Where a disk is full, a thread of Orbax's may have begun it with its own."""
        found = (line for line in reversed(self.err) if "curiax: " in line.text)
        return next((line._replace(text=line.text[line.text.index("curiax: ") :]) for line in found), None)


def read(stream: IO[str], lines: list[Line]) -> None:
    with stream:
        for text in stream:
            lines.append(Line(time.monotonic(), text.rstrip("\n")))


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


@contextlib.contextmanager
def job(
    words: list[str],
    num_processes: int,
    cores: Sequence[int] = (),
    environment: dict[str, str] | None = None,
    before: Sequence[str] = (),
    program: str | None = None,
) -> Iterator[list[Member]]:
    """`curiax train WORDS` as so many processes, of which none is left behind. One process is no job: it is alone."""
    flags = os.environ.get("XLA_FLAGS", "") + " --xla_cpu_multi_thread_eigen=false"
    environment = os.environ | {"XLA_FLAGS": flags} | (environment or {})
    environment["PYTHONPATH"] = str(ROOT)
    address = f"127.0.0.1:{free_port()}"
    members = []
    try:
        for process in range(num_processes):
            start = ["-m", "curiax"] if program is None else [program]
            command = [*before, sys.executable, *start, "train", *words]
            if num_processes > 1:
                command += ["--coordinator", address]
                command += ["--num-processes", str(num_processes), "--process-id", str(process)]
            if cores:  # the process, its threads and what it starts
                command = ["taskset", "--cpu-list", str(cores[process % len(cores)]), *command]
            members.append(Member(command, environment))
        yield members
    finally:
        for member in members:
            member.process.kill()
        for member in members:
            member.wait(PATIENCE)


def num_rows(directory: Path) -> int:
    path = directory / "metrics.csv"
    return max(path.read_bytes().count(b"\n") - 1, 0) if path.exists() else 0


def wait_for_rows(directory: Path, count: int, members: list[Member], timeout: float) -> None:
    deadline = time.monotonic() + timeout
    while num_rows(directory) < count:
        for member in members:
            assert member.process.poll() is None, f"it ended: {[line.text for line in member.err]}"
        assert time.monotonic() < deadline, f"no row {count} in {directory} within {timeout} s"
        time.sleep(0.005)


def finish(members: list[Member], timeout: float) -> None:
    for member in members:
        code = member.wait(timeout)
        assert code == 0, f"exit code {code}: {[line.text for line in member.err]}"


def metrics_but_seconds(directory: Path) -> list[list[str]]:
    lines = [line.split(",") for line in (directory / "metrics.csv").read_text().splitlines()]
    assert lines[0][2] == "seconds"
    return [line[:2] + line[3:] for line in lines]

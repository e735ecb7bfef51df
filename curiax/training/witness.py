"""A small process beside each process of a job, which reads what it writes to stderr and survives it.

JAX's runtime ends a process whose job is lost by a crash on purpose, with a page of C++ addresses. The witness passes
on every line but those, and says at the end in one line what happened: also where the process was killed and could not
say anything. It is a script of its own and imports nothing of curiax, so that it starts at once.

python witness.py NAME < what the process of that name writes
"""

import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterable, Iterator

FAREWELL = "\0"  # the last byte of a process that ended as it meant to
REPORT = re.compile(r"[EF]\d{4} [\d:.]+ +\d+ (coordination_service|client\.h)")  # of JAX's runtime, on a lost job
OURS = "curiax: "
GO_ON = "the same command goes on from the newest checkpoint"


class Witness:
    """Takes over this process's stderr, until it is dismissed."""

    def __init__(self, name: str):
        self._stderr = os.dup(2)
        command = [sys.executable, "-I", "-S", __file__, name]
        self._process = subprocess.Popen(command, stdin=subprocess.PIPE, stderr=self._stderr)
        assert self._process.stdin is not None
        self._pipe = self._process.stdin
        os.dup2(self._pipe.fileno(), 2)

    def dismiss(self) -> None:
        """All is said; waits until it is also written."""
        sys.stderr.flush()
        self._pipe.write(FAREWELL.encode())
        self._pipe.close()
        os.dup2(self._stderr, 2)
        self._process.wait(timeout=10)


def account(lines: Iterable[str], name: str) -> Iterator[str]:
    """What a user is to read of these lines, and one more if the process did not end as it meant to."""
    report: list[str] = []
    for line in lines:
        said, farewell, _ = line.partition(FAREWELL)
        if (report or REPORT.match(line)) and not line.startswith(OURS):  # what follows a report belongs to it
            report.append(line)
        elif said:
            yield said
        if farewell:
            return
    if report:
        yield f"curiax: {name}: {loss(''.join(report))}, so the job ends; {GO_ON}\n"
    else:
        yield f"curiax: {name} was killed or crashed; {GO_ON}\n"


def loss(report: str) -> str:
    """Whom the runtime misses."""
    silent = re.search(r"stopped sending heartbeats\):\s*([\d,\s]*\d)", report)
    if silent:
        return f"process {' and '.join(silent[1].replace(',', ' ').split())} is silent"
    if "RegisterTask" in report:
        return "not all processes came to the coordinator within --start-timeout"
    if "Failed to send RPC to coordination service" in report:
        return "process 0, the coordinator, is gone or silent"
    return "a process is lost"


def main(name: str) -> None:
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):  # meant for the process, and sent to its group
        signal.signal(number, signal.SIG_IGN)
    sys.stdin.reconfigure(errors="replace")  # pyright: ignore[reportAttributeAccessIssue]
    for line in account(sys.stdin, name):
        sys.stderr.write(line)
        sys.stderr.flush()


if __name__ == "__main__":
    main(*sys.argv[1:])

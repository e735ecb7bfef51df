"""A small process that filters the stderr of one process of a job, and outlives it.

When a job is lost, JAX's runtime aborts the process and prints a page of C++ addresses. The witness drops those lines,
passes on all others, and prints one line that says what happened, also if the process was killed. It is a script that
imports nothing of curiax, so that it starts fast.

python witness.py NAME < the stderr of the process of that name
"""

import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterable, Iterator

FAREWELL = "\0"  # the last byte of a process that ends normally
REPORT = re.compile(r"[EF]\d{4} [\d:.]+ +\d+ (coordination_service|client\.h)")  # JAX's runtime reports a lost job
OURS = "curiax: "
INTERRUPTED = "interrupted"
GO_ON = "the same command goes on from the newest checkpoint"


class Witness:
    """Redirects the stderr of this process to a witness until `dismiss`."""

    def __init__(self, name: str):
        self._stderr = os.dup(2)
        command = [sys.executable, "-I", "-S", __file__, name]
        self._process = subprocess.Popen(command, stdin=subprocess.PIPE, stderr=self._stderr)
        assert self._process.stdin is not None
        self._pipe = self._process.stdin
        os.dup2(self._pipe.fileno(), 2)

    def dismiss(self) -> None:
        """Ends the witness, after it has written everything."""
        sys.stderr.flush()
        self._pipe.write(FAREWELL.encode())
        self._pipe.close()
        os.dup2(self._stderr, 2)
        self._process.wait(timeout=10)


def account(lines: Iterable[str], name: str) -> Iterator[str]:
    """The lines for the user, and one more if the process did not end normally."""
    report: list[str] = []
    interrupted = False  # the process said so before it ended, without a farewell
    for line in lines:
        said, farewell, _ = line.partition(FAREWELL)
        if (report or REPORT.match(line)) and not line.startswith(OURS):  # lines after a report belong to it
            report.append(line)
        elif said:
            yield said
        interrupted |= said.strip() == OURS + INTERRUPTED
        if farewell:
            return
    if interrupted:
        return
    if report:
        yield f"curiax: {name}: {loss(''.join(report))}, so the job ends; {GO_ON}\n"
    else:
        yield f"curiax: {name} was killed or crashed; {GO_ON}\n"


def loss(report: str) -> str:
    """Which process is lost, by the report of JAX's runtime."""
    silent = re.search(r"stopped sending heartbeats\):\s*([\d,\s]*\d)", report)
    if silent:
        return f"process {' and '.join(silent[1].replace(',', ' ').split())} is silent"
    if "RegisterTask" in report:
        return "not all processes came to the coordinator within --start-timeout"
    if "Failed to send RPC to coordination service" in report:
        return "process 0, the coordinator, is gone or silent"
    return "a process is lost"


def main(name: str) -> None:
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):  # sent to the whole group
        signal.signal(number, signal.SIG_IGN)
    sys.stdin.reconfigure(errors="replace")  # pyright: ignore[reportAttributeAccessIssue]
    for line in account(sys.stdin, name):
        sys.stderr.write(line)
        sys.stderr.flush()


if __name__ == "__main__":
    main(*sys.argv[1:])

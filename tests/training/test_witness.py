"""What a user reads of a process that ends: its own lines, and one more where it could not say why."""

import subprocess
import sys
import textwrap

import pytest

from curiax.training.witness import FAREWELL, GO_ON, account
from tests.support.terminal import ROOT

GONE = """\
E1116 10:12:51.757178   32518 coordination_service_agent.cc:289] Polled an error from coordination service (this can \
be an error from this or another task).
F1116 10:12:51.757225   32518 client.h:80] Terminating process because the JAX distributed service detected fatal \
errors. absl::Status: UNAVAILABLE: Failed to send RPC to coordination service. Either the leader task was preempted
:UNKNOWN:Error received from peer  {grpc_status:14, grpc_message:"Socket closed"}
*** Check failure stack trace: ***
    @     0x7f923a240634  absl::lts_20260107::log_internal::LogMessage::SendToLog()
"""
SILENT = """\
E1116 10:11:16.793107   31995 coordination_service.cc:1549] [18020867520730745752] Use error polling to propagate the \
following error to all tasks: UNAVAILABLE: The following tasks are unhealthy (stopped sending heartbeats):
1
The tasks have crashed. Check the task logs for an earlier error, or scheduler events to debug further.
"""
LATE = """\
F1116 11:16:37.285035   20128 client.h:80] Terminating process because the JAX distributed service detected fatal \
errors. absl::Status: DEADLINE_EXCEEDED: Deadline Exceeded

RPC: /xla.coordination.CoordinationService/RegisterTask
"""


def heard(text):
    return "".join(account(text.splitlines(keepends=True), "process 1"))


def test_a_process_that_was_interrupted_needs_no_more_either():
    assert heard("curiax: interrupted\n") == "curiax: interrupted\n"


def test_lines_pass_and_a_process_that_says_farewell_needs_no_more():
    assert heard(f"a warning\ncuriax: one line\n{FAREWELL}") == "a warning\ncuriax: one line\n"
    assert heard(f"no newline{FAREWELL}") == "no newline"


def test_a_sudden_end_is_told():
    assert heard("a warning\n") == f"a warning\ncuriax: process 1 was killed or crashed; {GO_ON}\n"


@pytest.mark.parametrize(
    ("report", "who"),
    [
        (GONE, "process 0, the coordinator, is gone or silent"),
        (SILENT, "process 1 is silent"),
        (LATE, "not all processes came to the coordinator within --start-timeout"),
    ],
)
def test_a_report_of_the_runtime_becomes_one_line_that_names_the_lost_process(report, who):
    assert heard("a warning\n" + report) == f"a warning\ncuriax: process 1: {who}, so the job ends; {GO_ON}\n"


def test_our_own_line_passes_though_a_report_came_before_it():
    assert heard(f"{SILENT}curiax: ours\n{FAREWELL}") == "curiax: ours\n"


@pytest.mark.parametrize(
    ("how", "code", "expected"),
    [
        ("witness.dismiss()", 0, "said\n"),
        ("os.abort()", -6, f"said\ncuriax: process 1 was killed or crashed; {GO_ON}\n"),
        ("os.kill(os.getpid(), 9)", -9, f"said\ncuriax: process 1 was killed or crashed; {GO_ON}\n"),
    ],
)
def test_a_witness_survives_its_process(how, code, expected):
    program = f"""
        import os, sys
        from curiax.training.witness import Witness
        witness = Witness("process 1")
        print("said", file=sys.stderr)
        {how}
    """
    command = [sys.executable, "-c", textwrap.dedent(program)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=300, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (code, "", expected)

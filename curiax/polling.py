"""Gloo's thread, which carries what processes on CPUs send each other, gives way to the arithmetic.

When something arrives for which no buffer is ready yet, because this process is still computing, that thread asks the
kernel again and again without a pause. On a core of its own a process then computes at half its speed just when the
others wait for it: two processes made 0.45 × the steps of one, and 1.4 × with the thread at the lowest priority.
"""

import contextlib
import os
import platform
from collections.abc import Iterator
from pathlib import Path

TASKS = Path("/proc/self/task")
EPOLL_WAIT = {"x86_64": ("232", "281"), "aarch64": ("22",)}  # numbers of the system calls


@contextlib.contextmanager
def patient_polling() -> Iterator[None]:
    """Threads started within that wait for sockets run when nothing else wants to. Only on Linux."""
    before = set(polling())
    yield
    for thread in set(polling()) - before:
        with contextlib.suppress(OSError):  # it has ended, or may not be asked
            os.sched_setscheduler(thread, os.SCHED_IDLE, os.sched_param(0))


def polling() -> list[int]:
    """The threads of this process that wait for sockets at this moment."""
    numbers = EPOLL_WAIT.get(platform.machine(), ())
    return [int(task.name) for task in TASKS.glob("*") if system_call(task) in numbers]


def system_call(task: Path) -> str:
    with contextlib.suppress(OSError, IndexError):
        return (task / "syscall").read_text().split()[0]
    return ""

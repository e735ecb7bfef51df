"""Gloo's thread, which carries what processes on CPUs send each other, gives way to the arithmetic.

When something arrives for which no buffer is ready yet, because this process is still computing, that thread asks the
kernel again and again without a pause. On a core of its own a process then computes at half its speed just when the
others wait for it: two processes made 0.4 × the steps of one, and with the thread at the lowest priority 1.5 ×.
"""

import contextlib
import os
import platform
import time
from pathlib import Path

LOOKS, INTERVAL = 100, 0.02  # seconds: the thread may have only begun, or be busy
TASKS = Path("/proc/self/task")
EPOLL_WAIT = {"x86_64": ("232", "281"), "aarch64": ("22",)}  # numbers of the system calls
GLOO = ["0x40", "0xa"]  # how Gloo asks: for 64 events at most, within 10 ms


def let_gloo_give_way() -> None:
    """On Linux; elsewhere, and where there is no Gloo, nothing changes."""
    for _ in range(LOOKS):
        found = [int(task.name) for task in TASKS.glob("*") if is_gloo(task)]
        for thread in found:
            with contextlib.suppress(OSError):  # it has ended, or may not be asked
                os.sched_setscheduler(thread, os.SCHED_IDLE, os.sched_param(0))
        if found:
            return
        time.sleep(INTERVAL)


def is_gloo(task: Path) -> bool:
    """Does this thread wait for sockets at this moment, in Gloo's way?"""
    with contextlib.suppress(OSError):
        number, *arguments = (task / "syscall").read_text().split()
        return number in EPOLL_WAIT.get(platform.machine(), ()) and arguments[2:4] == GLOO
    return False

"""Gloo's thread, which carries what processes on CPUs send each other, gives way to the arithmetic.

When something arrives for which no buffer is ready yet, because this process is still computing, that thread asks the
kernel again and again without a pause. On a core of its own a process then computes at half its speed just when the
others wait for it: two processes made 0.4 × the steps of one, and with the thread at the lowest priority 1.5 ×.
At that priority it gets no turn beside the programs of others that keep all cores busy. So it is watched, and has the
usual priority for a while when that happens.
"""

import contextlib
import os
import platform
import time
from pathlib import Path

LOOKS, INTERVAL = 100, 0.02  # seconds: the thread may have only begun, or be busy
WATCHED, RELIEF = 0.25, 20.0  # seconds at the lowest priority until it is looked at, and at the usual one
STARVED = 0.3  # a share of its core that this process does not get
TASKS = Path("/proc/self/task")
EPOLL_WAIT = {"x86_64": ("232", "281"), "aarch64": ("22",)}  # numbers of the system calls
GLOO = ["0x40", "0xa"]  # how Gloo asks: for 64 events at most, within 10 ms


def let_gloo_give_way() -> None:
    """On Linux; elsewhere, and where there is no Gloo, nothing changes. In a thread of its own: nobody waits."""
    for _ in range(LOOKS):
        if found := [task for task in TASKS.glob("*") if is_gloo(task)]:
            return watch(found[0])
        time.sleep(INTERVAL)


def is_gloo(task: Path) -> bool:
    """Does this thread wait for sockets at this moment, in Gloo's way?"""
    with contextlib.suppress(OSError):
        number, *arguments = (task / "syscall").read_text().split()
        return number in EPOLL_WAIT.get(platform.machine(), ()) and arguments[2:4] == GLOO
    return False


def watch(task: Path) -> None:
    """Until that thread ends. Where the system lets nobody take a low priority back, all stays as it is."""
    with contextlib.suppress(OSError):
        for policy in (os.SCHED_IDLE, os.SCHED_OTHER):
            os.sched_setscheduler(0, policy, os.sched_param(0))  # first this thread, to see if one may
        while True:
            os.sched_setscheduler(int(task.name), os.SCHED_IDLE, os.sched_param(0))
            while not starved(task):
                pass
            os.sched_setscheduler(int(task.name), os.SCHED_OTHER, os.sched_param(0))
            time.sleep(RELIEF)


def starved(task: Path) -> bool:
    """Did it want to run all the time, while this process did not: was it others who kept the cores?"""
    wanted, before = wants_to_run(task), time.process_time()
    time.sleep(WATCHED)
    return wanted and wants_to_run(task) and time.process_time() - before < STARVED * WATCHED


def wants_to_run(task: Path) -> bool:
    return (task / "stat").read_text().rpartition(")")[2].split()[0] == "R"

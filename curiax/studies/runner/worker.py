"""A child process of a study: the command line on one core. It stops when its parent ends, even if that was killed.

python -m curiax.studies.runner.worker CORE PARENT train …      (CORE may be None: any core)
"""

import os
import runpy
import signal
import sys
import threading
import time

WATCH_INTERVAL = 0.2  # seconds


def stop_with(parent: int) -> None:
    """Sends SIGTERM to this process once its parent has ended."""
    while os.getppid() == parent:
        time.sleep(WATCH_INTERVAL)
    os.kill(os.getpid(), signal.SIGTERM)


def main(core: str, parent: str, *words: str) -> None:
    if hasattr(os, "sched_setaffinity") and core != "None":
        # before JAX starts its threads, which inherit the affinity; NumPy has started some already
        for thread in os.listdir("/proc/self/task"):
            os.sched_setaffinity(int(thread), [int(core)])
    threading.Thread(target=stop_with, args=(int(parent),), daemon=True).start()
    sys.argv = ["curiax", *words]
    runpy.run_module("curiax", run_name="__main__", alter_sys=True)


if __name__ == "__main__":
    main(*sys.argv[1:])

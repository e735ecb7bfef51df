"""A child process of a study: the command line on one core. It stops when its parent ends, even if that was killed.

python -m curiax.studies.runner.worker CORE PARENT train …      (CORE may be None: any core)
"""

import os
import runpy
import signal
import sys
import threading
import time

from curiax.training.signals import stopping

WATCH_INTERVAL = 0.2  # seconds
PATIENCE = 60.0  # seconds; a compilation or one update of the paper's networks may take longer


def stop_with(parent: int) -> None:
    """Asks this process to stop once its parent has ended, and ends it if it has not saved and stopped in time."""
    while os.getppid() == parent:
        time.sleep(WATCH_INTERVAL)
    if not stopping.is_set():  # the parent may have asked already
        os.kill(os.getpid(), signal.SIGTERM)
    time.sleep(PATIENCE)
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

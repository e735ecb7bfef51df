"""A Ray cluster of this machine, on the loopback: a head without CPUs and two machines of one CPU each.

python ray_cluster.py: prints the cluster's address, then waits for lines. `kill PID` ends the machine on which that
process runs, and the process, as a power cut would; it prints `killed`. The end of the input ends the cluster.
"""

import contextlib
import os
import signal
import sys
import time
from pathlib import Path

SETTINGS = {
    "RAY_USAGE_STATS_ENABLED": "0",
    "RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER": "0",  # 127.0.0.1 is not traded for an address of the network
    "RAY_worker_niceness": "0",  # Ray would let its workers starve on a busy machine
}
os.environ |= SETTINGS

from ray.cluster_utils import Cluster  # noqa: E402 — reads the environment

ATTEMPTS = 5  # Ray gives a machine 30 s to come up, which on a busy one is not enough


def attempt(function, **options):
    for again in reversed(range(ATTEMPTS)):
        try:
            return function(**options, node_ip_address="127.0.0.1", object_store_memory=80 * 1024**2)
        except Exception:
            if not again:
                raise
            time.sleep(1)


def ancestors(pid):
    while pid > 1:
        yield pid
        status = Path(f"/proc/{pid}/status").read_text()
        pid = int(status.split("PPid:")[1].split()[0])


def kill(cluster, pid):
    above = set(ancestors(pid))
    (node,) = [
        node for node in cluster.worker_nodes if above & {each.process.pid for each in node.all_processes["raylet"]}
    ]
    cluster.remove_node(node, allow_graceful=False)
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, signal.SIGKILL)


def main():
    cluster = Cluster()
    attempt(cluster.add_node, num_cpus=0, include_dashboard=False)
    for _ in range(2):
        attempt(cluster.add_node, num_cpus=1)
    print(cluster.address, flush=True)
    try:
        for line in sys.stdin:
            kill(cluster, int(line.split()[1]))
            print("killed", flush=True)
    finally:
        cluster.shutdown()


if __name__ == "__main__":
    main()

"""Environment steps per second of one to four processes, each on a core of its own while there are cores.

    python benchmarks/scale.py --csv results/scale.csv

The laptop preset on maze/on-demand, but with 128 streams a process where it has 32 (`--batch`): with more processes the
batch grows too, so that each has the same share. `efficiency`
is the speed relative to one process, for each core in use: 1 is perfect. More processes than cores share them, and show
what the sending costs. The numbers of processes take turns, so that a slow minute does not fall on one; medians count.
The machine must do nothing else.
"""

import argparse
import csv
import os
import signal
import statistics
import tempfile
import time
from pathlib import Path

from jobs import job, wait_for_rows

from curiax.training.run.metrics import read_metrics

PATIENCE = 900.0  # seconds


def measure(num_processes: int, batch: int, cores: list[int], seconds: float, extra: list[str]) -> float:
    """Steps per second between the second row, when everything is compiled, and the last."""
    with tempfile.TemporaryDirectory() as temporary:
        directory = Path(temporary) / "run"
        words = ["maze/on-demand", "--run-dir", str(directory), "--env-steps", "1000000000"]
        words += ["--batch-size", str(batch * num_processes), *extra]
        with job(words, num_processes, cores) as members:
            wait_for_rows(directory, 2, members, PATIENCE)
            time.sleep(seconds)
            members[0].process.send_signal(signal.SIGTERM)
            for member in members:
                member.wait(PATIENCE)
        rows = list(read_metrics(directory / "metrics.csv"))[1:]
    return (rows[-1]["env_steps"] - rows[0]["env_steps"]) / (rows[-1]["seconds"] - rows[0]["seconds"])


def table(speeds: dict[int, list[float]], batch: int, num_cores: int) -> list[dict[str, float]]:
    one = statistics.median(speeds[1])
    rows = []
    for num_processes, values in speeds.items():
        speed = statistics.median(values)
        used = min(num_processes, num_cores)
        rows.append(
            {
                "processes": num_processes,
                "devices": num_processes,
                "steps_per_s": round(speed),
                "efficiency": round(speed / one / used, 3),
                "cores": used,
                "batch_size": batch * num_processes,
            }
        )
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--processes", type=int, nargs="+", default=[1, 2, 3, 4])
    parser.add_argument("--batch", type=int, default=128, help="streams of each process")
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=20.0, help="of each measurement")
    parser.add_argument("--csv", type=Path)
    parser.add_argument("words", nargs="*", help="more options of `curiax train`, after --")
    args = parser.parse_args()
    cores = sorted(os.sched_getaffinity(0))
    speeds: dict[int, list[float]] = {count: [] for count in sorted({1, *args.processes})}
    for _ in range(args.repeats):
        for count in speeds:
            speeds[count].append(measure(count, args.batch, cores, args.seconds, args.words))
            print(f"{count} processes: {speeds[count][-1]:,.0f} steps/s", flush=True)
    rows = table(speeds, args.batch, len(cores))
    for row in rows:
        print(row)
    if args.csv:
        with args.csv.open("w", newline="") as file:
            writer = csv.DictWriter(file, list(rows[0]), lineterminator="\n")
            writer.writeheader()
            writer.writerows(rows)
    if 2 in speeds and len(cores) > 1:
        gain = statistics.median(speeds[2]) / statistics.median(speeds[1])
        print(f"two processes on two cores: {gain:.2f} × one on one")


if __name__ == "__main__":
    main()

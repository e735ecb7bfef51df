"""A soak: a job of two processes is hit at random moments, by SIGKILL or SIGSTOP, and started again each time.

    python benchmarks/faults.py --json results/faults.json

Every hit must be followed by a clear line from the process that was not hit, within 60 s. The job must go on from its
newest checkpoint, and at the end its parameters and metrics must be those of a job left alone, bit for bit.
A process that was stopped is let go on afterwards, and must see for itself that its job is over.
"""

import argparse
import json
import random
import re
import signal
import tempfile
import time
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from jobs import SMALL, Member, finish, job, metrics_but_seconds, num_rows, wait_for_rows

NUM_PROCESSES = 2
BOUND = 60.0  # seconds from a hit to the line
PATIENCE = 900.0  # seconds; a busy machine compiles slowly


def words(directory: Path, num_updates: int, method: str) -> list[str]:
    often = ["--log-every", "5", "--checkpoint-every", "10"]
    size = ["--batch-size", "4", "--env-steps", str(16 * num_updates)]
    return ["maze/on-demand", "--curiosity", method, "--run-dir", str(directory), *SMALL, *size, *often]


class Choice(NamedTuple):
    """When to hit whom, and how."""

    phase: str
    rows: int  # to wait for in training
    seconds: float  # to wait after them, or after the start
    victim: int
    number: signal.Signals


def choose(rng: random.Random) -> Choice:
    """At the start: connecting, compiling, reading the checkpoint. In training: updates, rows, checkpoints."""
    phase = "start" if rng.random() < 0.25 else "training"
    seconds = rng.uniform(0, 15 if phase == "start" else 0.3)
    victim, number = rng.randrange(NUM_PROCESSES), rng.choice([signal.SIGKILL, signal.SIGSTOP])
    return Choice(phase, rng.randint(1, 6), seconds, victim, number)


def hit(members: list[Member], directory: Path, victim: int, number: signal.Signals) -> dict[str, Any]:
    """Sends the signal and times what follows; then lets a stopped process see for itself."""
    before, begun = newest(directory), time.monotonic()
    members[victim].process.send_signal(number)
    others = [member for process, member in enumerate(members) if process != victim]
    seconds = max(seconds_to_line(member, begun) for member in others)
    if number == signal.SIGSTOP:
        members[victim].process.send_signal(signal.SIGCONT)
        seconds_to_line(members[victim], time.monotonic())
    line = others[0].said()
    return {
        "signal": number.name,
        "process": victim,
        "checkpoint": before,
        "seconds": round(seconds, 2),
        "line": line.text if line else "",
    }


def hit_at(choice: Choice, members: list[Member], directory: Path) -> dict[str, Any]:
    if choice.phase == "training":
        wait_for_rows(directory, num_rows(directory) + choice.rows, members, PATIENCE)
    time.sleep(choice.seconds)
    return {"phase": choice.phase} | hit(members, directory, choice.victim, choice.number)


def seconds_to_line(member: Member, begun: float) -> float:
    """Until the process has ended with a line and a code that is not zero."""
    code = member.wait(BOUND + PATIENCE)
    line = member.said()
    assert code != 0 and line is not None, f"exit code {code}: {[line.text for line in member.err]}"
    return line.time - begun


def newest(directory: Path) -> int:
    """The number of the newest whole checkpoint; 0 if there is none."""
    found = (directory / "checkpoints").glob("*") if (directory / "checkpoints").exists() else ()
    return max((int(path.name) for path in found if path.name.isdigit()), default=0)


def went_on_from(members: list[Member]) -> int | None:
    """What process 0 said about where it begins."""
    text = "\n".join(line.text for line in members[0].out)
    match = re.search(r"going on from update ([\d,]+) of", text)
    return int(match[1].replace(",", "")) if match else None


def check_going_on(members: list[Member], hit: dict[str, Any]) -> None:
    """A checkpoint that was whole at the hit is not lost, and none is damaged."""
    text = "\n".join(line.text for line in members[0].out)
    assert "damaged" not in text, text
    if went := went_on_from(members):
        assert went >= hit["checkpoint"], f"{text}\n{hit}"


def same_numbers(directory: Path, reference: Path) -> bool:
    """Parameters, and everything else that a state holds, to the bit."""
    from curiax.training.run.checkpoints import checkpoint_manager

    states = []
    for path in (directory, reference):
        manager = checkpoint_manager(path)
        states.append(manager.restore(manager.latest_step()))
        manager.close()
    one, other = states
    return one.keys() == other.keys() and all(
        np.asarray(one[name]).tobytes() == np.asarray(other[name]).tobytes() for name in one
    )


def soak(kills: int, seed: int, directory: Path, num_updates: int, method: str) -> dict[str, Any]:
    rng = random.Random(seed)
    reference, target = directory / "reference", directory / "disturbed"
    with job(words(reference, num_updates, method), NUM_PROCESSES) as members:
        finish(members, PATIENCE)
    hits: list[dict[str, Any]] = []
    while len(hits) < kills:
        with job(words(target, num_updates, method), NUM_PROCESSES) as members:
            hits.append(hit_at(choose(rng), members, target))
            if len(hits) > 1:
                check_going_on(members, hits[-2])
        print(f"{len(hits):3}  {hits[-1]}", flush=True)
        assert not (target / "DONE").exists(), "the job ended before it was hit often enough: make --updates larger"
    with job(words(target, num_updates, method), NUM_PROCESSES) as members:
        finish(members, PATIENCE)
        check_going_on(members, hits[-1])
    same = same_numbers(target, reference) and metrics_but_seconds(target) == metrics_but_seconds(reference)
    worst = max(hit["seconds"] for hit in hits)
    return {
        "kills": kills,
        "recovered": kills if same else 0,
        "worst_seconds_to_message": worst,
        "bit_identical": same,
        "processes": NUM_PROCESSES,
        "seed": seed,
        "hits": hits,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--kills", type=int, default=20)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--updates", type=int, default=3000, help="of the job, which must outlast the kills")
    parser.add_argument("--curiosity", default="byol-hindsight", help="of the job")
    parser.add_argument("--dir", type=Path, help="where the runs are kept (default: a temporary directory)")
    parser.add_argument("--json", type=Path)
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        result = soak(args.kills, args.seed, args.dir or Path(temporary), args.updates, args.curiosity)
    print({name: value for name, value in result.items() if name != "hits"})
    if args.json:
        args.json.write_text(json.dumps(result, indent=2) + "\n")
    assert result["recovered"] == args.kills and result["worst_seconds_to_message"] <= BOUND


if __name__ == "__main__":
    main()

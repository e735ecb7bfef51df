"""Ctrl-C at random moments of `curiax train`, compilation included: how soon it is acknowledged, and how soon a second
one ends the process.

python -m tests.support.interrupt [MOMENTS] [SEED]      20 moments take about half an hour on two idle cores
"""

import os
import random
import signal
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[2]
ENV = "maze/on-demand"
# Both save after each row. With the paper's unroll of 128 an update takes a minute or so on two cores.
OPTIONS = {
    "laptop": ("--checkpoint-every", "50"),
    "paper": ("--preset", "paper", "--unroll", "32", "--log-every", "4", "--checkpoint-every", "4"),
}
LATEST = {"laptop": 60.0, "paper": 200.0}  # seconds until the first signal, at most
ACKNOWLEDGED, ENDED = 1.0, 5.0  # seconds, at most
PATIENCE = 900.0


class Moment(NamedTuple):
    preset: str
    delay: float  # seconds from the start to the first signal
    pause: float  # seconds from the first signal to the second


class Outcome(NamedTuple):
    moment: Moment
    during: str  # the last line before the signal
    acknowledged: float  # seconds
    ended: float  # seconds after the second signal; 0 if the first one ended it
    code: int
    again: str  # a line of the same command when it had trained on, or ""
    lines: list[str]

    @property
    def good(self) -> bool:
        quick = self.acknowledged <= ACKNOWLEDGED and self.ended <= ENDED
        clean = not any("Traceback" in line or "Error" in line for line in self.lines)
        return quick and clean and bool(self.again) and self.code in (-signal.SIGINT, 128 + signal.SIGINT)


class Program:
    """`curiax train`, with the time of each line that it prints."""

    def __init__(self, preset: str, directory: Path, cache: Path):
        words = ["train", ENV, "--run-dir", str(directory), *OPTIONS[preset]]
        places = {"JAX_COMPILATION_CACHE_DIR": str(cache), "PYTHONUNBUFFERED": "1"}
        self.process = subprocess.Popen(
            [sys.executable, "-m", "curiax", *words],
            cwd=ROOT,
            env={**os.environ, **places},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        self.lines: list[tuple[float, str]] = []
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def _read(self) -> None:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            self.lines.append((time.monotonic(), line.rstrip()))

    def said(self, *texts: str, since: float = 0.0) -> tuple[float, str] | None:
        """The first line with one of the texts."""
        return next((one for one in list(self.lines) if one[0] >= since and any(t in one[1] for t in texts)), None)

    def wait(self, *texts: str, since: float = 0.0) -> tuple[float, str]:
        """Waits for such a line or the end of the process."""
        deadline = time.monotonic() + PATIENCE
        while self.process.poll() is None and time.monotonic() < deadline:
            if found := self.said(*texts, since=since):
                return found
            time.sleep(0.005)
        now = time.monotonic()
        self._reader.join(timeout=5)
        return self.said(*texts, since=since) or (now, "")

    def end(self) -> None:
        self.process.kill()
        self.process.wait()
        self._reader.join()
        assert self.process.stdout is not None
        self.process.stdout.close()


def interrupt(moment: Moment, directory: Path, warm: Path) -> Outcome:
    """Starts a run with an empty compilation cache, interrupts it twice, and runs the same command again."""
    program = Program(moment.preset, directory / "run", directory / "cache")
    try:
        wait_at_most(program.process, moment.delay)
        during = program.lines[-1][1] if program.lines else "starting"
        sent = time.monotonic()
        program.process.send_signal(signal.SIGINT)
        acknowledged = program.wait("stopping", "interrupted", since=sent)[0] - sent
        wait_at_most(program.process, moment.pause)
        again, ended = time.monotonic(), 0.0
        if program.process.poll() is None:
            program.process.send_signal(signal.SIGINT)
            program.process.wait(PATIENCE)
            ended = time.monotonic() - again
    finally:
        program.end()
    lines = [line for _, line in program.lines]
    second = Program(moment.preset, directory / "run", warm)
    try:
        trained = second.wait(" M steps  ")[1]
    finally:
        second.end()
    lines += [line for _, line in second.lines]
    return Outcome(moment, during, acknowledged, ended, program.process.returncode, trained, lines)


def wait_at_most(process: subprocess.Popen, seconds: float) -> None:
    try:
        process.wait(seconds)
    except subprocess.TimeoutExpired:
        return


def moments(number: int, seed: int) -> list[Moment]:
    rng = random.Random(seed)
    presets = [list(OPTIONS)[index % 2] for index in range(number)]
    return [Moment(preset, rng.uniform(0, LATEST[preset]), rng.uniform(0, 3)) for preset in presets]


def main(number: str = "20", seed: str = "0") -> int:
    outcomes = []
    with tempfile.TemporaryDirectory() as place:
        for index, moment in enumerate(moments(int(number), int(seed))):
            directory = Path(place) / str(index)
            outcomes.append(outcome := interrupt(moment, directory, Path(place) / "warm"))
            print(
                f"{moment.preset:6}  after {moment.delay:5.1f} s  acknowledged {outcome.acknowledged:.2f} s  "
                f"ended {outcome.ended:.2f} s  code {outcome.code}  during: {outcome.during[:40]:40}  "
                f"again: {outcome.again[:30] or 'FAILED'}",
                flush=True,
            )
            if not outcome.good:
                print("\n".join(outcome.lines))
    good = sum(outcome.good for outcome in outcomes)
    slowest = max(outcome.acknowledged for outcome in outcomes), max(outcome.ended for outcome in outcomes)
    print(f"{good} of {number}; acknowledged within {slowest[0]:.2f} s, ended within {slowest[1]:.2f} s")
    return 0 if good == len(outcomes) else 1


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))

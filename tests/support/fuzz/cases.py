"""`python -m tests.support.fuzz.cases`: runs many cases in one process and says which of them failed.

A case is a command line with mistakes, or a command on a damaged run. Afterwards the exit code is 0, 2 or 130, stderr
has at most three lines and no traceback, and no file outside the run has changed.
"""

import argparse
import contextlib
import os
import shlex
import shutil
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import NamedTuple

from curiax.commands.cli import main as curiax
from tests.support.files import contents
from tests.support.fuzz.arguments import random_arguments
from tests.support.fuzz.damage import damage
from tests.support.programs import train_args

CODES = (0, 2, 130)
MAX_LINES = 3
SHARE_OF_DAMAGE = 0.35


class Case(NamedTuple):
    seed: int
    number: int

    @property
    def rng(self) -> Random:
        return Random(f"{self.seed}/{self.number}")


class Outcome(NamedTuple):
    code: object
    stderr: str
    changed: list[str]
    what: str  # the command and the damage
    seconds: float

    @property
    def fault(self) -> str | None:
        """What is wrong with the outcome, or None."""
        lines = self.stderr.splitlines()
        if self.code not in CODES:
            return f"exit code {self.code}"
        if "Traceback" in self.stderr:
            return "a traceback"
        if len(lines) > MAX_LINES:
            return f"{len(lines)} lines on stderr"
        if self.code == 2 and not lines:
            return "refused without a word"
        return f"changed {', '.join(self.changed)}" if self.changed else None


def make_templates(directory: Path) -> None:
    """Trains the run that is damaged, and makes a study of it."""
    assert curiax(train_args(directory / "run")) == 0


def run_case(case: Case, templates: Path, place: Path) -> Outcome:
    """Runs a case in an empty directory `place`, next to a stranger's files."""
    rng = case.rng
    (place / "foreign").mkdir(parents=True)
    for name in ("notes.txt", "scores.csv", "study.json", "config.json", "lock", "report.html"):
        (place / "foreign" / name).write_text("not yours\n")
    with contextlib.chdir(place):
        if rng.random() < SHARE_OF_DAMAGE:
            shutil.copytree(templates / "run", "run")
            done = damage(rng, Path("run"))
            args = rng.choices(COMMANDS, [4, 3, 3, 1])[0]
        else:
            done, args = [], random_arguments(rng)
        before, started = outside(place), time.perf_counter()
        code, stderr = captured(args)
        changed = [str(name) for name, _ in before.items() ^ outside(place).items()]
    what = " ".join([shlex.join(["curiax", *args]), *(f"[{each}]" for each in done)])
    return Outcome(code, stderr, sorted(set(changed)), what, time.perf_counter() - started)


COMMANDS = (
    ["report", "run", "--no-films"],
    train_args("run"),
    ["evaluate", "run", "--episodes", "1"],
    ["diagnose", "--run-dir", "run", "--out", "diagnosis", "--env-steps", "1"],
)
OUTPUTS = ("run", "run.", "diagnosis")  # what the commands on a damaged run may change; `--fresh` renames


def outside(place: Path) -> dict[Path, bytes]:
    """All files below `place` but those of the run and of the commands' outputs."""
    return {name: text for name, text in contents(place).items() if not name.parts[0].startswith(OUTPUTS)}


def captured(args: list[str]) -> tuple[object, str]:
    """The exit code of the command line in this process, and what it wrote to stderr."""
    with streams() as read_stderr:
        try:
            code = curiax(args)
        except SystemExit as stop:  # --help
            code = stop.code or 0
        except BaseException as error:  # what a user would see as a traceback
            code = f"{type(error).__name__}: {error}"
        return code, read_stderr()


@contextlib.contextmanager
def streams() -> Iterator:
    """Sends both streams of the process to files, also what other libraries write to them; no input."""
    kept = [os.dup(number) for number in range(3)]
    usual = sys.stdin, sys.stdout, sys.stderr
    with tempfile.TemporaryFile("w+") as out, tempfile.TemporaryFile("w+") as err, open(os.devnull) as empty:
        sys.stdin, sys.stdout, sys.stderr = empty, out, err
        for number, file in enumerate((empty, out, err)):
            os.dup2(file.fileno(), number)

        def read() -> str:
            err.flush()
            err.seek(0)
            return err.read()

        try:
            yield read
        finally:
            for number, descriptor in enumerate(kept):
                os.dup2(descriptor, number)
                os.close(descriptor)
            sys.stdin, sys.stdout, sys.stderr = usual


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cases", type=int, default=300)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--case", type=int, help="run only this one, and show it")
    options = parser.parse_args()
    numbers = range(options.cases) if options.case is None else [options.case]
    num_bad, codes = 0, dict.fromkeys(CODES, 0)
    with tempfile.TemporaryDirectory() as root:
        make_templates(Path(root) / "templates")
        for number in numbers:
            place = Path(root) / str(number)
            outcome = run_case(Case(options.seed, number), Path(root) / "templates", place)
            codes[outcome.code] = codes.get(outcome.code, 0) + 1
            shutil.rmtree(place)
            if outcome.fault or options.case is not None:
                num_bad += bool(outcome.fault)
                print(
                    f"{number}: {outcome.fault} ({outcome.seconds:.1f} s)\n  {outcome.what}\n  {outcome.stderr}",
                    flush=True,
                )
    print(f"{len(numbers)} cases, {num_bad} failed; exit codes {codes}")
    return int(num_bad > 0)


if __name__ == "__main__":
    sys.exit(main())

"""The command line as a process: words, rows, waiting."""

import contextlib
import dataclasses
import time
from pathlib import Path

from curiax.config.dotted import get, option
from curiax.studies.runner.launch import Task
from tests.support.tiny import TINY

FIELDS = (
    "env_steps",
    "batch_size",
    "unroll",
    "log_every",
    "checkpoint_every",
    "world.hidden",
    "world.critic_hidden",
    "world.latent",
)


FIELDS += ("world.noise", *(f"network.{field.name}" for field in dataclasses.fields(TINY.network)))


PATIENCE = 300  # seconds; compiling on a busy machine takes its time


def train_args(directory, *more, config=TINY):
    """The words that ask for a run like TINY there."""
    words = ["train", config.env, "--run-dir", str(directory), *more]
    for name in FIELDS:
        words += option(name, get(config, name))
    return words


def num_rows(directory):
    path = directory / "metrics.csv"
    return max(path.read_bytes().count(b"\n") - 1, 0) if path.exists() else 0


def wait_until(condition, process):
    deadline = time.monotonic() + PATIENCE
    while not condition():
        assert process.poll() is None, process.communicate()
        assert time.monotonic() < deadline
        time.sleep(0.002)


def metrics_but_seconds(directory):
    lines = [line.split(",") for line in (directory / "metrics.csv").read_text().splitlines()]
    assert lines[0][2] == "seconds"
    return [line[:2] + line[3:] for line in lines]


def task(directory, *words):
    return Task(directory.name, directory, list(words))


def processes(text):
    """Ids of the processes with that in their command lines."""
    found = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        with contextlib.suppress(OSError):  # it has ended meanwhile
            if text in path.read_bytes().decode().replace("\0", " "):
                found.append(int(path.parent.name))
    return found


def wait_for(condition):
    deadline = time.monotonic() + PATIENCE
    while not (found := condition()):
        assert time.monotonic() < deadline
        time.sleep(0.05)
    return found

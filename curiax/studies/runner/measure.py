"""What the runs of a study cost on this machine, from short runs of their own."""

import contextlib
import dataclasses
import tempfile
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

from curiax.config import LAPTOP, Config, get
from curiax.envs.atari import FRAME_SKIP
from curiax.studies.base import replaced, train_words
from curiax.studies.runner.launch import Task, launch
from curiax.studies.runner.progress import Speed, amount, glance, speed
from curiax.training.signals import Stop

MEASURED_ROWS = 3  # of metrics; the first includes compilation
MEASURED_SECONDS = 180.0  # at most; to compile the paper's networks takes a minute
LARGE_UPDATE = 1024  # environment steps; of an update that has more, so many steps are measured:
MEASURED_STEPS = 256
# What changes what is learned, but hardly what a step costs.
FREE = ("env", "seed", "reward", "env_steps", "world.temperature", "atari.sticky", "atari.noise")


def training(name: str, directory: Path, config: Config) -> Task:
    return Task(name, directory, [*train_words(config), "--run-dir", str(directory)])


def kind_of(config: Config) -> Config:
    """Alike for runs that cost the same."""
    return replaced(config, {name: get(LAPTOP, name) for name in FREE})


def measure(configs: Mapping[str, Config], cores: Sequence[int], stop: Stop) -> dict[str, Speed]:
    """Short runs, for some minutes at most; what has no speed then has none."""
    end = time.monotonic() + MEASURED_SECONDS
    with tempfile.TemporaryDirectory() as directory:
        tasks = [measurement(method, Path(directory) / method, config) for method, config in configs.items()]
        with contextlib.closing(launch(tasks, cores, stop)) as launched:
            for _ in launched:
                if time.monotonic() > end:
                    break
        found = {task.name: speed(glance(task.directory / "metrics.csv")) for task in tasks}
    return {method: measured for method, measured in found.items() if measured is not None}


def measurement(name: str, directory: Path, config: Config) -> Task:
    """A run of a few rows; what it compiles the study's own runs find in the cache, unless their updates are large.

    In step: a batch collected before the clock starts would not count, and on one core nothing else is gained.
    """
    short = shortened(config)
    num_rows = MEASURED_ROWS if short == config else 2
    num_steps = num_rows * short.log_every * short.steps_per_update
    short = dataclasses.replace(short, env_steps=num_steps, sync=True)
    return training(name, directory, short)


def shortened(config: Config) -> Config:
    """With shorter unrolls, where an update is large. The batch stays, and with it what a step costs."""
    if config.steps_per_update <= LARGE_UPDATE:
        return config
    unroll = max(MEASURED_STEPS // config.batch_size, config.world.horizon, 2)
    return dataclasses.replace(config, unroll=min(unroll, config.unroll), log_every=1)


def how(config: Config) -> str:
    """What is not as in the runs themselves."""
    short = shortened(config)
    return f", in updates of {short.unroll} time steps instead of {config.unroll}" if short != config else ""


def size(config: Config, steps: int) -> str:
    """Environment steps are agent steps; on Atari each is several frames."""
    if config.env.startswith("atari/"):
        return f"{amount(steps)} agent steps ({amount(FRAME_SKIP * steps)} frames)"
    return f"{amount(steps)} environment steps"

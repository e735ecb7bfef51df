"""Measures the speed of a study's methods on this machine with short runs."""

import contextlib
import dataclasses
import tempfile
import time
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from curiax.config import LAPTOP, Config, get
from curiax.envs import modules, profile_of
from curiax.studies.base import replaced, train_words
from curiax.studies.runner.launch import Task, launch
from curiax.studies.runner.progress import Speed, amount, glance, speed
from curiax.training.signals import Stop

MEASURED_ROWS = 3  # of metrics; the first one includes compilation
MEASURED_SECONDS = 180.0  # at most; the paper's networks take a minute to compile
LARGE_UPDATE = 1024  # environment steps; larger updates are measured with unrolls of about MEASURED_STEPS instead
MEASURED_STEPS = 256
SMALL_SHARE = 0.05  # of a study's steps; measuring more than that first would not pay
# Fields that hardly change the cost of a step.
FREE = ("env", "seed", "reward", "env_steps", "world.temperature", "atari.sticky", "atari.noise")


def training(name: str, directory: Path, config: Config) -> Task:
    return Task(name, directory, [*train_words(config), "--run-dir", str(directory), *modules.options()])


def kind_of(config: Config) -> Config:
    """A config that is equal for runs with the same cost per step."""
    return replaced(config, {name: get(LAPTOP, name) for name in FREE})


def measure(configs: Mapping[str, Config], cores: Sequence[int], stop: Stop) -> dict[str, Speed]:
    """The speed of each method, from short runs of a few minutes at most. A method that was too slow is left out."""
    end = time.monotonic() + MEASURED_SECONDS
    with tempfile.TemporaryDirectory() as directory:
        tasks = [measurement(method, Path(directory) / method, config) for method, config in configs.items()]
        with contextlib.closing(launch(tasks, cores, stop)) as launched:
            for _ in launched:
                if time.monotonic() > end:
                    break
        found = {task.name: speed(glance(task.directory / "metrics.csv")) for task in tasks}
    return {method: measured for method, measured in found.items() if measured is not None}


def pays(configs: Iterable[Config], num_steps: int | float) -> bool:
    """Whether measuring these configs is a small part of a study of so many steps."""
    return sum(few_rows(config).env_steps for config in configs) <= SMALL_SHARE * num_steps


def measurement(name: str, directory: Path, config: Config) -> Task:
    return training(name, directory, few_rows(config))


def few_rows(config: Config) -> Config:
    """A run of a few rows. The study's runs find its programs in the compilation cache, unless their updates are large.

    Synchronous: a batch that is collected before the clock starts would not be measured.
    """
    short = shortened(config)
    num_rows = MEASURED_ROWS if short == config else 2
    num_steps = num_rows * short.log_every * short.steps_per_update
    return dataclasses.replace(short, env_steps=num_steps, sync=True)


def shortened(config: Config) -> Config:
    """The config with shorter unrolls if its updates are large. The batch size, and so the cost of a step, stays."""
    if config.steps_per_update <= LARGE_UPDATE:
        return config
    unroll = max(MEASURED_STEPS // config.batch_size, config.world.horizon, 2)
    return dataclasses.replace(config, unroll=min(unroll, config.unroll), log_every=1)


def how(config: Config) -> str:
    """How the measurement differs from the runs of the study; "" if it does not."""
    short = shortened(config)
    return f", in updates of {short.unroll} time steps instead of {config.unroll}" if short != config else ""


def size(config: Config, steps: int) -> str:
    """`2.0 M environment steps`; of a game that shows several frames a step, also the frames."""
    frames = profile_of(config.env).frames
    if frames > 1:
        return f"{amount(steps)} agent steps ({amount(frames * steps)} frames)"
    return f"{amount(steps)} environment steps"

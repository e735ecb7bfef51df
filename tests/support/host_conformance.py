"""What every environment stepped on the host must satisfy: `check(make)` is called from the test file of each."""

from collections.abc import Callable
from typing import NamedTuple

import jax
import numpy as np

from curiax.envs.base import HostEnvironment, HostStep
from tests.support.conformance import differ, same


class HostRun(NamedTuple):
    """T steps under the uniformly random policy, `[T, B, ...]`; `before` is the step that came before each."""

    before: HostStep
    action: np.ndarray
    step: HostStep


def run(env: HostEnvironment, num_steps: int, seed: int = 0) -> HostRun:
    """Starts episodes, and goes on whenever they end. Nothing of a step may change when the next is taken."""
    generator = np.random.default_rng(seed)
    steps, actions = [env.reset()], []
    copies = [jax.tree.map(np.copy, steps[0])]
    for _ in range(num_steps):
        actions.append(generator.integers(env.spec.num_actions, size=len(steps[0].first)).astype(np.int32))
        steps.append(env.step(actions[-1]))
        copies.append(jax.tree.map(np.copy, steps[-1]))
    for step, copy in zip(steps, copies, strict=True):
        same(step, copy, "a step is not overwritten by the next")
    before, after = (jax.tree.map(lambda *parts: np.stack(parts), *part) for part in (copies[:-1], copies[1:]))
    return HostRun(before, np.stack(actions), after)


def check(make: Callable[[int, int], HostEnvironment], num_steps: int, batch_size: int = 3) -> HostRun:
    """`make(batch_size, seed)` must give episodes that end within `num_steps`. Raises AssertionError with the claim."""
    runs = []
    for seed in (0, 0, 1):
        env = make(batch_size, seed)
        runs.append(run(env, num_steps))
        env.close()
    same(runs[0], runs[1], "the same seed and actions give the same stream")
    assert differ(runs[0], runs[2]), "another seed gives another stream"
    check_arrays(env, runs[0])
    check_flags(env, runs[0])
    check_numbers(env, runs[0])
    return runs[0]


def check_arrays(env: HostEnvironment, run: HostRun) -> None:
    leading, step = run.action.shape, run.step
    assert step.obs.shape == leading + env.spec.observation_shape, "a step gives the shape of the spec"
    assert run.before.obs.dtype == step.obs.dtype, "reset and step give one dtype"
    for name in ("first", "last", "terminated"):
        flag = getattr(step, name)
        assert flag.dtype == np.bool_ and flag.shape == leading, f"{name} is one bool"
    assert step.reward.dtype == np.float32 and step.reward.shape == leading, "a reward is one float32"
    assert step.info["noise"].dtype == np.bool_, "an observation is noise or is not"
    assert {"return", "length"} <= step.episode.keys(), "an episode has a return and a length"
    for name, value in (step.info | step.episode).items():
        assert value.shape == leading, f"{name} is there for every step"
    for name, value in step.episode.items():
        assert value.dtype == np.float32, f"{name} is one float32, to be averaged"


def check_flags(env: HostEnvironment, run: HostRun) -> None:
    before, step = run.before, run.step
    assert np.all(before.first[0]) and not np.any(before.last[0]), "a stream starts with first observations"
    assert np.any(step.last[:-1]), "episodes end"
    same(step.first, before.last, "the observation after the last is a first")
    assert not np.any(step.first & step.last), "an episode has a step at least"
    assert not np.any(step.terminated & ~step.last), "where an episode is terminated it ends"
    cut = step.last & ~step.terminated
    assert not np.any(step.episode["length"][~step.last] >= env.spec.time_limit), "no episode passes the time limit"
    assert np.all(step.episode["length"][cut] == env.spec.time_limit), "only the time limit truncates"


def check_numbers(env: HostEnvironment, run: HostRun) -> None:
    step, first = run.step, run.step.first
    assert not np.any(step.reward[first]), "a reset pays nothing"
    assert not np.any(step.info["noise"][first]), "a reset is no noise"
    length, returns = np.zeros_like(step.reward[0]), np.zeros_like(step.reward[0])
    for t in range(len(first)):
        length = np.where(first[t], 0, length + 1)
        returns = np.where(first[t], 0, returns + step.reward[t])
        same(step.episode["length"][t], length, "an episode's length counts its steps")
        same(step.episode["return"][t], returns, "an episode's return is the sum of its rewards")
    if "cell" in step.info:
        rows, columns = env.spec.map_shape
        assert step.info["cell"].min() >= 0 and step.info["cell"].max() < rows * columns, "a cell is on the map"

"""Evaluates a frozen policy over many episodes.

A run's directory is only read, so a run may be evaluated while it trains.
"""

import json
import shlex
import sys
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Array, Float, PRNGKeyArray
from rich.console import Console

from curiax import curiosity as curiosities
from curiax import envs
from curiax.agent.policy import greedy
from curiax.config import Config
from curiax.curiosity.experience import from_stream
from curiax.curiosity.reward import mean_and_scale, pay, rules_for
from curiax.envs.base import Environment, HostEnvironment
from curiax.errors import UserError, first_line
from curiax.training.episodes import Episodes, evaluate
from curiax.training.memory import require_memory
from curiax.training.run.checkpoints import from_arrays, to_arrays, verify
from curiax.training.run.directory import read_config
from curiax.training.run.outputs import check_file, writing_file
from curiax.training.train import initial_state
from curiax.types import LearnerState, Trajectory

NUM_RESAMPLES = 9999  # of the bootstrap
RESAMPLES_AT_ONCE = 100


class Interval(NamedTuple):
    mean: float
    low: float | None  # None with one episode
    high: float | None


def load(directory: Path, env: str | None = None) -> tuple[Config, LearnerState]:
    """The config and the newest intact checkpoint of a run; `env` as in `named_config`."""
    config = named_config(directory, env)
    try:
        initial = initial_state(config)
    except UserError as error:
        raise UserError(f"{directory}: {error}") from None
    return config, newest_state(directory, initial)


def named_config(directory: Path, env: str | None = None) -> Config:
    """The config of a run whose environment may be made.

    To read a run must not run whatever its config.json names. So an environment of a module of the user's is made only
    if the user imports that module, or gives the environment again as `env`. Raises a UserError otherwise.
    """
    config = read_config(directory)
    if env not in (None, config.env):
        raise UserError(f"{directory}: a run of {config.env}, not of {env}")
    module = config.env.partition("/")[2].rpartition(":")[0]
    if env is None and module and module not in sys.modules:
        give = shlex.join(["--import", module])
        raise UserError(
            f"{directory}: its environment, {config.env}, is in a module of yours; to import it, add {give}"
        )
    return config


def newest_state(directory: Path, like: LearnerState) -> LearnerState:
    """The newest checkpoint that can be read. Training may delete one at any time; then the one before it is read."""
    import orbax.checkpoint as ocp

    reason = "none was saved yet"
    paths = [path for path in (directory / "checkpoints").glob("*") if path.name.isdecimal()]
    for path in sorted(paths, key=lambda path: -int(path.name)):
        try:
            verify(path)
            with ocp.StandardCheckpointer() as checkpointer:
                return from_arrays(checkpointer.restore(path.absolute() / "default", to_arrays(like)), like)
        except Exception as error:  # whatever a damaged file makes Orbax raise
            reason = first_line(error)
    raise UserError(f"{directory}: no whole checkpoint ({reason})")


def mean_interval(values: Float[np.ndarray, " N"]) -> Interval:
    """The mean and its 95 % bootstrap interval (percentiles)."""
    from scipy.stats import bootstrap  # slow to import

    mean = float(values.mean())
    if len(values) < 2:
        return Interval(mean, None, None)
    settings = {"n_resamples": NUM_RESAMPLES, "batch": RESAMPLES_AT_ONCE, "method": "percentile"}
    found = bootstrap((values,), np.mean, rng=np.random.default_rng(0), **settings)
    return Interval(mean, float(found.confidence_interval.low), float(found.confidence_interval.high))


def results(directory: Path, config: Config, state: LearnerState, episodes: Episodes, seed: int) -> dict[str, Any]:
    """What is printed and written: which run, and the mean and interval of every metric."""
    num_updates = int(state.num_updates)
    measured = episodes.outcome | {"noise_dwell": episodes.noise_dwell, "entropy": episodes.entropy}
    means = {name: mean_interval(values) for name, values in measured.items()}
    derived = envs.spec_of(config).derive({name: found.mean for name, found in means.items()})
    means |= {name: Interval(value, None, None) for name, value in derived.items()}
    return {
        "run": str(directory),
        "env": config.env,
        "curiosity": config.curiosity,
        "training_seed": config.seed,
        "update": num_updates,
        "env_steps": num_updates * config.steps_per_update,
        "episodes": len(episodes.entropy),
        "evaluation_seed": seed,
        "means": {name: found._asdict() for name, found in means.items()},
    }


def show(console: Console, result: dict[str, Any]) -> None:
    """Prints the environment's scores, the return unless it is zero, noise dwell and entropy."""
    means = result["means"]
    titles = {score.metric: score.label for score in envs.scores_of(result["env"])}
    parts = {score.metric: score.parts for score in envs.scores_of(result["env"]) if score.parts}
    titles |= {"return": "return"} if means["return"]["mean"] else {}
    titles |= {"human_normalised": "human-normalised", "noise_dwell": "noise dwell", "entropy": "policy entropy, nats"}
    lines = [
        f"{result['env']}  {result['curiosity']}  seed {result['training_seed']}  "
        f"after {result['env_steps'] / 1e6:.2f} M steps; {result['episodes']} episodes, {result['policy']} policy, "
        "means [95 % interval]"
    ]
    for name in filter(means.__contains__, titles):
        lines.append(f"{titles[name]:20}  {with_interval(**means[name])}")
        shares = [f"{title} {means[part]['mean']:.0%}" for part, title in parts.get(name, ())]
        lines += [f"{'reached':20}  {'  '.join(shares)}"] if shares else []
    for line in lines:
        console.print(line, highlight=False, markup=False)


def with_interval(mean: float, low: float | None, high: float | None) -> str:
    """`2.00  [1.50, 2.50]`, or `2.00` without an interval."""
    return f"{mean:.2f}" if low is None else f"{mean:.2f}  [{low:.2f}, {high:.2f}]"


def evaluate_run(
    directory: Path, num_episodes: int, seed: int, path: Path | None, console: Console, deterministic: bool = False
) -> tuple[Config, LearnerState]:
    """Prints the result of a run's newest policy, and writes it to `path` as JSON. Returns what was played."""
    require_memory(8 * RESAMPLES_AT_ONCE * num_episodes, f"--episodes {num_episodes}")
    check_file("--json", path)
    config, state = load(directory)
    if deterministic:
        state = state._replace(acting=greedy(state.acting, envs.spec_of(config)))
    result = results(directory, config, state, evaluate(config, state, num_episodes, seed, console), seed)
    result["policy"] = "deterministic" if deterministic else "sampled"
    show(console, result)
    if path is not None:
        with writing_file("--json", path) as file:
            file.write_text(json.dumps(result, indent=2) + "\n")
    return config, state


def judge(
    config: Config,
    env: Environment | HostEnvironment,
    state: LearnerState,
    trajectory: Trajectory,
    key: PRNGKeyArray,
) -> tuple[Float[Array, "T B"], Float[Array, "T B"]]:
    """Errors and intrinsic rewards of the episodes, as the learner would compute them. No state changes."""
    experience = from_stream(state.params.agent, trajectory)
    curiosity = curiosities.make(config, env.spec)
    error = curiosity.score(state.params.curiosity, state.critic, state.targets, experience, key).error
    statistics = mean_and_scale(state.bonus.intrinsic, config.bonus.decay)
    return error, pay(rules_for(config.bonus, curiosity.signed), *statistics, error)

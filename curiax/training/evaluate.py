"""A frozen policy: how well it does over many episodes, and what it does in a typical one.

Reads a run's directory and never writes to it, so that a run may be looked at while it trains.
"""

import json
import os
from pathlib import Path
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int, PRNGKeyArray
from rich.console import Console

from curiax import curiosity as curiosities
from curiax import envs
from curiax.agent.distributions import entropy_of
from curiax.config import Config
from curiax.curiosity.experience import from_stream
from curiax.curiosity.reward import pay
from curiax.envs import maze
from curiax.envs.base import Environment, HostEnvironment
from curiax.errors import UserError, first_line
from curiax.training.evaluate_host import play_on_host
from curiax.training.rollout import actor_init, rollout
from curiax.training.run.checkpoints import from_arrays, to_arrays, verify
from curiax.training.run.directory import read_config
from curiax.training.train import initial_state
from curiax.types import Agent, LearnerState, Trajectory

MAX_STREAMS = 128  # episodes at a time
NUM_RESAMPLES = 9999
FILM_STREAMS = 32  # episodes from which the typical one is chosen


class Episodes(NamedTuple):
    """N whole episodes, one number each."""

    outcome: dict[str, Float[np.ndarray, " N"]]  # the environment's own: trackers, tracker_1, …, return, length
    noise_dwell: Float[np.ndarray, " N"]  # share of the steps that were noise
    entropy: Float[np.ndarray, " N"]  # of the policy, mean over the steps, in nats


class Interval(NamedTuple):
    mean: float
    low: float | None  # of one episode there is none
    high: float | None


class Film(NamedTuple):
    """A typical episode of n steps: what there was after each. Cells are flat indices into the map."""

    cell: Int[np.ndarray, " n"]  # of the agent
    action: Int[np.ndarray, " n"]
    noise: Bool[np.ndarray, " n"]
    pixels: Bool[np.ndarray, "n 5 5"]  # the noise layer as the agent saw it
    blocks: Int[np.ndarray, "n 4"]
    coins: Int[np.ndarray, "n 2"]  # −1 once taken
    trackers: Bool[np.ndarray, "n 4"]  # regions touched so far
    error: Float[np.ndarray, " n"]  # raw, of the curiosity
    reward: Float[np.ndarray, " n"]  # intrinsic, by the statistics of the checkpoint


def load(directory: Path) -> tuple[Config, LearnerState]:
    """The config and the newest whole checkpoint of a run."""
    config = read_config(directory)
    return config, newest_state(directory, initial_state(config))


def newest_state(directory: Path, like: LearnerState) -> LearnerState:
    """A run that trains may take a checkpoint away, and a damaged one is no use: then the one before."""
    import orbax.checkpoint as ocp

    reason = "none was saved yet"
    paths = [path for path in (directory / "checkpoints").glob("*") if path.name.isdigit()]
    for path in sorted(paths, key=lambda path: -int(path.name)):
        try:
            verify(path)
            with ocp.StandardCheckpointer() as checkpointer:
                return from_arrays(checkpointer.restore(path.absolute() / "default", to_arrays(like)), like)
        except Exception as error:  # whatever a damaged file makes Orbax raise
            reason = first_line(error)
    raise UserError(f"{directory}: no whole checkpoint ({reason})")


def play_episodes(env: Environment, agent: Agent, num_episodes: int, key: PRNGKeyArray) -> Trajectory:
    """Episodes side by side, each from its beginning until its end or the time limit."""
    key_start, key_rollout = jax.random.split(key)
    actor = actor_init(env, num_episodes, agent.core.recurrent.shape[0], key_start)
    whole = actor.stream._replace(limit=jnp.full(num_episodes, env.spec.time_limit, jnp.int32))
    return rollout(env, agent, actor._replace(stream=whole), env.spec.time_limit, key_rollout)[1]


def first_episode(trajectory: Trajectory) -> tuple[Bool[Array, "T B"], Bool[Array, "T B"]]:
    """Which steps belong to the stream's first episode, and which of them is its last."""
    ended = jnp.cumsum(trajectory.last.astype(jnp.int32), axis=0)
    within = ended[:-1] == 0
    return within, within & trajectory.last[1:]


def summarise(trajectory: Trajectory) -> dict[str, Any]:
    """The fields of `Episodes`."""
    within, end = first_episode(trajectory)
    entropy = entropy_of(trajectory.logits, trajectory.action)
    return {
        "outcome": {name: jnp.sum(jnp.where(end, x, 0.0), axis=0) for name, x in trajectory.episode.items()},
        "noise_dwell": jnp.mean(trajectory.info["noise"].astype(jnp.float32), axis=0, where=within),
        "entropy": jnp.mean(entropy, axis=0, where=within),
    }


def evaluate(
    config: Config, state: LearnerState, num_episodes: int, seed: int = 0, console: Console | None = None
) -> Episodes:
    """Episodes of the acting policy, which learns nothing from them."""
    if envs.on_host(config.env):
        return Episodes(**play_on_host(config, state.acting, num_episodes, seed, console))
    env = envs.make(config.env)
    num_batches = -(-num_episodes // MAX_STREAMS)
    batch_size = -(-num_episodes // num_batches)

    @jax.jit
    def batch(agent: Agent, key: PRNGKeyArray) -> dict[str, Any]:
        return summarise(play_episodes(env, agent, batch_size, key))

    batches = [jax.device_get(batch(state.acting, key)) for key in jax.random.split(jax.random.key(seed), num_batches)]
    return Episodes(**jax.tree.map(lambda *parts: np.concatenate(parts)[:num_episodes], *batches))


def mean_interval(values: Float[np.ndarray, " N"]) -> Interval:
    """The mean and its 95 % bootstrap interval (percentiles)."""
    from scipy.stats import bootstrap  # a second of import that others need not wait for

    mean = float(values.mean())
    if len(values) < 2:
        return Interval(mean, None, None)
    found = bootstrap(
        (values,), np.mean, n_resamples=NUM_RESAMPLES, batch=100, method="percentile", rng=np.random.default_rng(0)
    )
    return Interval(mean, float(found.confidence_interval.low), float(found.confidence_interval.high))


def results(directory: Path, config: Config, state: LearnerState, episodes: Episodes, seed: int) -> dict[str, Any]:
    """What is printed and written: who was evaluated, and a mean with its interval for everything measured."""
    num_updates = int(state.num_updates)
    measured = episodes.outcome | {"noise_dwell": episodes.noise_dwell, "entropy": episodes.entropy}
    return {
        "run": str(directory),
        "env": config.env,
        "curiosity": config.curiosity,
        "training_seed": config.seed,
        "update": num_updates,
        "env_steps": num_updates * config.steps_per_update,
        "episodes": len(episodes.entropy),
        "evaluation_seed": seed,
        "means": {name: mean_interval(values)._asdict() for name, values in measured.items()},
    }


def show(console: Console, result: dict[str, Any]) -> None:
    def tell(name: str, title: str) -> None:
        mean, low, high = (means[name][part] for part in ("mean", "low", "high"))
        interval = "" if low is None else f"  [{low:.2f}, {high:.2f}]"
        console.print(f"{title:20}  {mean:.2f}{interval}", highlight=False, markup=False)

    means = result["means"]

    console.print(
        f"{result['env']}  {result['curiosity']}  seed {result['training_seed']}  "
        f"after {result['env_steps'] / 1e6:.2f} M steps; {result['episodes']} episodes, means [95 % interval]",
        highlight=False,
        markup=False,
    )
    if "trackers" in means:
        tell("trackers", "trackers per episode")
        shares = [f"R{i} {means[f'tracker_{i}']['mean']:.0%}" for i in range(1, 5)]
        console.print(f"{'reached':20}  {'  '.join(shares)}", highlight=False)
    if means["return"]["mean"] or envs.on_host(result["env"]):
        tell("return", "return")
    if "human_normalised" in means:
        tell("human_normalised", "human-normalised")
    if "rooms" in means:
        tell("rooms", "rooms per episode")
    tell("noise_dwell", "noise dwell")
    tell("entropy", "policy entropy, nats")


def check_place(option: str, path: Path) -> None:
    """Says before the episodes, not after them, that a file cannot be written. It leaves none behind."""
    is_new = not os.path.lexists(path)
    try:
        path.open("ab").close()
        if is_new:
            path.unlink()
    except OSError as error:
        raise cannot_write(option, path, error) from None


def cannot_write(option: str, path: Path, error: OSError) -> UserError:
    return UserError(f"{option} {path}: cannot be written ({error.strerror or error})")


def evaluate_run(
    directory: Path, num_episodes: int, seed: int, path: Path | None, console: Console
) -> tuple[Config, LearnerState]:
    """Prints how well a run's newest policy does; writes it as JSON too if asked. Gives what it loaded."""
    if num_episodes < 1:
        raise UserError(f"--episodes {num_episodes}: must be 1 or more")
    if seed < 0:
        raise UserError(f"--seed {seed}: must be 0 or more")
    if path is not None:
        check_place("--json", path)
    config, state = load(directory)
    result = results(directory, config, state, evaluate(config, state, num_episodes, seed, console), seed)
    show(console, result)
    if path is not None:
        try:
            path.write_text(json.dumps(result, indent=2) + "\n")
        except OSError as error:
            raise cannot_write("--json", path, error) from None
    return config, state


def film(directory: Path, seed: int = 0) -> Film:
    """The one of a few episodes that is nearest to their medians of trackers and noise dwell."""
    config, state = load(directory)
    if envs.on_host(config.env):
        raise UserError(f"{config.env} is filmed by `curiax evaluate RUN --video FILE.gif`")
    if not config.env.startswith("maze/"):
        raise UserError(f"{config.env} cannot be filmed")
    env = envs.make(config.env)

    @jax.jit
    def record(state: LearnerState, key: PRNGKeyArray) -> tuple[Trajectory, Array, Array]:
        key_play, key_score = jax.random.split(key)
        trajectory = play_episodes(with_state(env), state.acting, FILM_STREAMS, key_play)
        error, reward = judge(config, env, state, trajectory, key_score)
        return trajectory, error, reward

    trajectory, error, reward = jax.device_get(record(state, jax.random.key(seed)))
    episode = typical(trajectory)
    info = {name: x[:, episode] for name, x in trajectory.info.items()}
    layout = maze.parse(maze.MAP)
    return Film(
        cell=info["cell"],
        action=trajectory.action[:, episode],
        noise=info["noise"],
        pixels=trajectory.obs[1:, episode, :, :, maze.LAYERS.index("noise")].astype(bool),
        blocks=flat(layout, layout.doorways[np.arange(4), info["blocks"]]),
        coins=np.where(info["coins_left"], flat(layout, info["coins"]), -1),
        trackers=info["trackers"],
        error=error[:, episode],
        reward=reward[:, episode],
    )


def with_state(env: Environment) -> Environment:
    """The same maze; every step also tells the state it leads to."""

    def step(state: Any, action: Array, noise: Any) -> tuple[Any, Any]:
        state, timestep = env.step(state, action, noise)
        return state, timestep._replace(info=timestep.info | state._asdict())

    return env._replace(step=step)


def judge(
    config: Config,
    env: Environment | HostEnvironment,
    state: LearnerState,
    trajectory: Trajectory,
    key: PRNGKeyArray,
) -> tuple[Float[Array, "T B"], Float[Array, "T B"]]:
    """Errors and intrinsic rewards of episodes, as the learner would find them; nothing learns or counts."""
    experience = from_stream(state.params.agent, trajectory)
    curiosity = curiosities.make(config, env.spec)
    error = curiosity.score(state.params.curiosity, state.critic, state.targets, experience, key).error
    return error, pay(config.bonus, state.bonus.intrinsic, error)


def typical(trajectory: Trajectory) -> int:
    """The episode nearest to the medians of trackers and noise dwell, both from 0 to 1."""
    trackers = trajectory.episode["trackers"][-1] / 4
    dwell = trajectory.info["noise"].mean(axis=0)
    return int(np.argmin(np.abs(trackers - np.median(trackers)) + np.abs(dwell - np.median(dwell))))


def flat(layout: maze.Layout, cells: Int[np.ndarray, "*any 2"]) -> Int[np.ndarray, "*any"]:
    return cells[..., 0] * np.int32(layout.wall.shape[1]) + cells[..., 1]

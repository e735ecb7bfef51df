"""Any Gymnasium environment, stepped on the host.

A stream holds the final observation of an episode, and at the next step the first one of the next episode. Of
Gymnasium's three autoreset modes NEXT_STEP does just that. In the other two an ended environment is reset at once and
then steps with the rest: that step is discarded, and the environment is reset once more by itself.
"""

import contextlib
import functools
import os
import signal
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import gymnasium
import numpy as np
from gymnasium.vector import AutoresetMode, VectorEnv
from jaxtyping import Bool, Float, Shaped

from curiax.config import GymOptions, keywords
from curiax.envs.base import HostEnvironment, HostStep
from curiax.envs.gymnasium_noise import kinds_with, noise_wrappers, split_noise
from curiax.envs.gymnasium_observations import Reading, pick, picked, read, read_space
from curiax.envs.modules import import_from_here
from curiax.envs.spaces import Actions, from_unit, read_action_space
from curiax.errors import EnvironmentFailed, Explained, UserError, cause, debugging, unknown_name
from curiax.types import EnvSpec

# Modules that register the ids with these prefixes. For others, the user names the module: MODULE:ID.
REGISTERED_BY = {
    "MiniGrid-": "minigrid",
    "BabyAI-": "minigrid",
    "ALE/": "ale_py",
    "NetHack": "nle",
    "curiax/": "curiax.gym",
}
KINDS = {"MiniGrid-": 11, "BabyAI-": 11}  # codes of objects, colours and states are below this
NO_LIMIT = 2**31 - 1


def make(name: str, batch_size: int, options: GymOptions, seed: int) -> HostEnvironment:
    """B environments of that name, each with a seed of its own."""
    reading, actions = spaces_of(name, options)
    pool = make_pool(name, batch_size, options, reading)
    streams = Streams(pool, reading, actions, seed)
    reset, step = (failing_clearly(name, function) for function in (streams.reset, streams.step))
    return HostEnvironment(spec_of(name, options), reset, step, pool.close)


def failing_clearly(name: str, function: Callable[..., HostStep]) -> Callable[..., HostStep]:
    """The same function. What the environment raises becomes an `EnvironmentFailed` that names its file and line."""

    def call(*args: Any) -> HostStep:
        try:
            with quiet():
                return function(*args)
        except Exception as error:  # whatever an environment raises
            raise EnvironmentFailed(f"gym/{name}", cause(error)) from error

    return call


@contextlib.contextmanager
def quiet() -> Iterator[None]:
    """Keeps Gymnasium from printing the tracebacks of its processes inside the block, except with `--debug`."""
    level = gymnasium.logger.min_level
    gymnasium.logger.min_level = level if debugging() else gymnasium.logger.ERROR + 1
    try:
        yield
    finally:
        gymnasium.logger.min_level = level


def spec_of(name: str, options: GymOptions) -> EnvSpec:
    reading, actions = spaces_of(name, options)
    return EnvSpec(
        name=f"gym/{name}",
        observation_shape=reading.shape,
        num_actions=actions.width,
        time_limit=keywords(options).get("max_episode_steps", find(name).max_episode_steps) or NO_LIMIT,
        observation_scale=reading.scale,
        action_parts=actions.parts,
    )


@functools.cache
def spaces_of(name: str, options: GymOptions) -> tuple[Reading, Actions]:
    """How observations and actions are read. Makes an environment to find out, and closes it."""
    env = make_pool(
        name, 1, replace(options, vectorization="sync") if options.vectorization == "async" else options, None
    )
    env.close()
    kinds = kinds_with(split_noise(name)[1], options.kinds or kinds_of(name))
    try:
        reading, actions = read_space(env.single_observation_space, kinds), read_action_space(env.single_action_space)
    except UserError as error:
        raise UserError(f"gym/{name}: {error}") from None
    if actions.parts:
        raise UserError(f"gym/{name}: actions are {env.single_action_space}, expected Discrete or a Box of floats")
    return reading, actions


def kinds_of(name: str) -> int:
    """The number of categories that integers in its observations are; 0 if they are quantities."""
    return next((kinds for start, kinds in KINDS.items() if name.startswith(start)), 0)


def can_sync(name: str) -> bool:
    return find(name).entry_point is not None


def find(name: str) -> Any:
    """Gymnasium's registry entry. Raises a UserError with the nearest name if there is none, or no such noise."""
    name, _ = split_noise(name)
    module, _, plain = name.rpartition(":")
    module = module or next((module for start, module in REGISTERED_BY.items() if name.startswith(start)), "")
    if module:
        import_from_here(module, f"gym/{name}")
    if plain not in gymnasium.registry:
        known = sorted(gymnasium.registry)
        listed = [f"{len(known)} names", "more by MODULE:ID, where a module of yours registers them"]
        raise UserError(unknown_name("environment", f"gym/{name}", [f"gym/{one}" for one in known], listed))
    return gymnasium.registry[plain]


def make_pool(name: str, batch_size: int, options: GymOptions, reading: Reading | None) -> VectorEnv:
    """A vector environment. With `reading`, its members drop the parts of observations that are not read. An
    environment's own vector form has no members and keeps them."""
    if own_form(name, options):
        return build(name, batch_size, options, {"vectorization_mode": "vector_entry_point"})
    noise = noise_wrappers(split_noise(name)[1], options.kinds or kinds_of(name))
    run_async = options.vectorization == "async"
    vector: dict[str, Any] = {"autoreset_mode": AutoresetMode.NEXT_STEP}
    how = {
        "vectorization_mode": "async" if run_async else "sync",
        "vector_kwargs": vector | ({"context": "forkserver"} if run_async else {}),  # JAX must not be forked
        "wrappers": noise
        if reading is None
        else [*noise, functools.partial(Picked, reading=reading, parent=os.getpid())],
        "disable_env_checker": True,  # we check every step
    }
    return build(name, batch_size, options, how)


@functools.cache
def own_form(name: str, options: GymOptions) -> bool:
    """Whether to use the environment's own vector form: by default, if its spaces are those of the single form. ALE's
    vector form, for example, gives other images."""
    noises = split_noise(name)[1]
    if not can_sync(name):
        if noises:
            raise UserError(f"gym/{name}: has a vector form only, to which no noise can be added")
        return True
    if noises or options.vectorization != "auto" or find(name).vector_entry_point is None:
        return False
    forms = [build(name, 1, options, {"vectorization_mode": mode}) for mode in ("vector_entry_point", "sync")]
    for form in forms:
        form.close()
    own, sync = ((form.single_observation_space, form.single_action_space) for form in forms)
    return own == sync


def build(name: str, batch_size: int, options: GymOptions, how: dict[str, Any]) -> VectorEnv:
    try:
        return gymnasium.make_vec(split_noise(name)[0].rpartition(":")[2], batch_size, **how, **keywords(options))
    except UserError as error:
        raise UserError(f"gym/{name}: {error}") from None
    except Exception as error:  # whatever an environment raises
        raise UserError(f"gym/{name}: cannot be made ({cause(error)})") from error


class Picked(gymnasium.ObservationWrapper):
    """Drops the parts of observations that are not read.

    In a process of its own, it ignores Ctrl-C, which the program handles, and explains what the environment raises:
    the other process will not see the traceback.
    """

    def __init__(self, env: gymnasium.Env, reading: Reading, parent: int):
        super().__init__(env)
        self._reading, self._elsewhere = reading, os.getpid() != parent
        self.observation_space = picked(reading, env.observation_space)[1]
        if self._elsewhere:
            signal.signal(signal.SIGINT, signal.SIG_IGN)

    def reset(self, **kwargs: Any) -> Any:
        with self._explaining():
            return super().reset(**kwargs)

    def step(self, action: Any) -> Any:
        with self._explaining():
            return super().step(action)

    @contextlib.contextmanager
    def _explaining(self) -> Iterator[None]:
        try:
            yield
        except Exception as error:
            if self._elsewhere:
                raise Explained(cause(error)) from error
            raise

    def observation(self, observation: Any) -> Any:
        return pick(self._reading, observation)


class Streams:
    """B environments and the statistics of their episodes."""

    def __init__(self, pool: VectorEnv, reading: Reading, actions: Actions, seed: int):
        self._pool, self._actions, self._seed = pool, actions, seed
        self._mode = pool.metadata.get("autoreset_mode", AutoresetMode.NEXT_STEP)
        self._native = not isinstance(pool, gymnasium.vector.SyncVectorEnv | gymnasium.vector.AsyncVectorEnv)
        self._reading = reading if self._native else picked(reading, pool.single_observation_space)[0]
        self._returns = np.zeros(pool.num_envs, np.float32)
        self._length = np.zeros(pool.num_envs, np.float32)
        self._last = np.zeros(pool.num_envs, bool)

    def reset(self) -> HostStep:
        seeds = (np.random.SeedSequence(self._seed).generate_state(self._pool.num_envs) >> 1).tolist()
        obs, _ = self._pool.reset(seed=seeds[0] if self._native else seeds)
        nothing = np.zeros(self._pool.num_envs, np.float32)
        return self._answer(self._read(obs), ~nothing.astype(bool), nothing, nothing > 0, nothing > 0, nothing > 0)

    def step(self, action: Shaped[np.ndarray, "B *action"]) -> HostStep:
        first = self._last
        obs, reward, terminated, truncated, info = self._pool.step(self._played(action))
        terminated, truncated = np.asarray(terminated, bool), np.asarray(truncated, bool)
        obs, noise = self._read(obs), flag("noise", info, len(first))
        if self._mode != AutoresetMode.NEXT_STEP:
            obs, noise = self._reset_late(obs, noise, first, (terminated | truncated) & ~first, info)
        return self._answer(obs, first, reward, terminated, truncated, noise)

    def _played(self, action: Shaped[np.ndarray, "B *action"]) -> np.ndarray:
        """The agent's actions in the environment's action space."""
        if self._actions.parts is None:
            return action + self._actions.start[0]
        space = self._pool.single_action_space
        return from_unit(self._actions, action).reshape(-1, *self._actions.shape).astype(space.dtype)

    def _read(self, obs: Any) -> np.ndarray:
        """A batch of observations as one new array."""
        return require_finite("observation", read(self._reading, obs, (self._pool.num_envs,)))

    def _reset_late(
        self,
        obs: Shaped[np.ndarray, "B *obs"],
        noise: Bool[np.ndarray, " B"],
        first: Bool[np.ndarray, " B"],
        ended: Bool[np.ndarray, " B"],
        info: dict[str, Any],
    ) -> tuple[np.ndarray, np.ndarray]:
        """Observations and noise flags as in mode NEXT_STEP: final observations where an episode has ended, first ones
        where it had ended one step before."""
        again = first
        if self._mode == AutoresetMode.DISABLED:
            again = first | ended  # ended environments must be reset before the next step, and again after it
        seen = obs.copy()
        if self._mode == AutoresetMode.SAME_STEP and ended.any():
            noise = np.where(ended, flag("noise", info.get("final_info", {}), len(ended)), noise)
            for stream in np.flatnonzero(ended):
                seen[stream] = require_finite("observation", read(self._reading, info["final_obs"][stream]))
        if again.any():
            fresh = self._read(self._pool.reset(options={"reset_mask": again})[0])
            if not np.array_equal(fresh[~again], obs[~again]):
                raise ValueError("its vector form resets more than options['reset_mask'] selects")
            seen[first] = fresh[first]
        return seen, noise

    def _answer(
        self,
        obs: Shaped[np.ndarray, "B *obs"],
        first: Bool[np.ndarray, " B"],
        reward: Any,
        terminated: Bool[np.ndarray, " B"],
        truncated: Bool[np.ndarray, " B"],
        noise: Bool[np.ndarray, " B"],
    ) -> HostStep:
        """The vector environment's answer as a step of streams; a reset has no reward and ends nothing."""
        reward = np.where(first, 0.0, require_finite("reward", np.asarray(reward, np.float32))).astype(np.float32)
        terminated = terminated & ~first
        last = terminated | (truncated & ~first)
        self._last = last
        self._returns = np.where(first, np.float32(0), self._returns + reward)
        self._length = np.where(first, np.float32(0), self._length + 1)
        episode = {"return": self._returns, "length": self._length}
        return HostStep(obs, first, last, reward, terminated, {"noise": noise & ~first}, episode)


def flag(name: str, info: dict[str, Any], batch_size: int) -> Bool[np.ndarray, " B"]:
    """A boolean entry of a vector environment's info; false for environments without it."""
    if name not in info:
        return np.zeros(batch_size, bool)
    return np.asarray(info[name]).astype(bool) & np.asarray(info.get(f"_{name}", True))


def require_finite(name: str, x: Float[np.ndarray, "..."] | np.ndarray) -> np.ndarray:
    if x.dtype.kind == "f" and not np.isfinite(x).all():
        raise ValueError(f"its {name} contains {x[~np.isfinite(x)][0]}, expected finite numbers")
    return x

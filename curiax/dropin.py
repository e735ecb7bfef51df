"""Curiosity for any loop: numpy in, numpy rewards out. The one class of the library with a state of its own.

Below it are pure functions of a state. Transitions are pairs (o_t, o_{t+1}), so that an episode may end at any step;
beliefs run over o_t alone and are zeroed where an episode begins.
"""

import functools
import io
import json
import os
import zipfile
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import optax
from jaxtyping import Array, Bool, Float, PRNGKeyArray, Shaped

from curiax import curiosity as curiosities
from curiax.agent.policy import make_agent
from curiax.config import PRESETS, Config, from_dict, to_dict, validate
from curiax.config.dotted import names, override
from curiax.config.presets import preset_for
from curiax.curiosity.experience import from_pairs
from curiax.curiosity.reward import Moments, mean_and_scale, moments_init, moments_update
from curiax.curiosity.world_model import WorldModel, WorldState, make_optimizer, make_world_model
from curiax.envs.spaces import Actions, Observations, Segment, check_segment, read_action_space, read_observation_space
from curiax.errors import UserError, unknown_name
from curiax.types import Agent, EnvSpec, Experience

FORMAT = 3  # of saved files
READ = ("learning_rate", "network.*", "world.*", "bonus.decay", "bonus.prioritise")  # what `options` may set


class Setup(NamedTuple):
    """What never changes, and what the programs are compiled for."""

    config: Config
    observations: Observations
    actions: Actions
    normalise: bool

    @property
    def spec(self) -> EnvSpec:
        shape, scale = self.observations.shape, self.observations.scale
        return EnvSpec("drop-in", shape, self.actions.width, 0, (0, 0), scale, self.actions.parts)


class Memory(NamedTuple):
    """Where the beliefs of B trajectories stand between two segments."""

    belief: Float[Array, "B D"]
    previous_action: Shaped[Array, "B *action"]
    first: Bool[Array, " B"]  # the next observation is the first of an episode


class DropInState(NamedTuple):
    """All that is learned, counted or random."""

    world: WorldState
    moments: Moments  # of the errors, by which rewards are normalised
    key: PRNGKeyArray


class Curiosity:
    """A curiosity method beside a loop of your own: see docs/dropin.md.

    `reward` and `update` take the same arrays, T steps of B trajectories: obs and next_obs [T, B, ...], actions
    [T, B, ...], terminated and truncated [T, B]. next_obs[t] is what followed obs[t], *before* any reset.
    """

    __slots__ = ("_memory", "_setup", "_state")

    def __init__(
        self,
        name: str,
        observation_space: Any,
        action_space: Any,
        *,
        seed: int = 0,
        learning_rate: float | None = None,
        normalise: bool = True,
        prioritise: bool = True,
        observation_scale: float | None = None,
        preset: str | Config = "laptop",
        options: Mapping[str, Any] | None = None,
    ):
        """name: a method of `curiax list methods`. Spaces: Gymnasium's, or those of `curiax`.

        normalise: divide by the errors' standard deviation. prioritise: pay only what exceeds their mean.
        observation_scale: what divides observations; by default the largest bound of integers, 1 for floats.
        preset, options: sizes and weights of the networks, options by the names of the command line:
        {"world.latent": 64}.
        """
        config = base_config(preset)
        top = {"curiosity": name, "seed": seed, "bonus.prioritise": prioritise}
        top |= {} if learning_rate is None else {"learning_rate": learning_rate}
        for field in options or {}:
            if field in names(config) and field not in READ and f"{field.partition('.')[0]}.*" not in READ:
                raise UserError(f"options: {field}: a curiosity in your own loop does not read it")
        for field, value in (top | dict(options or {})).items():
            config = override(config, field, value)
        self._setup = Setup(
            config=check_config(config),
            observations=read_observation_space(observation_space, observation_scale),
            actions=read_action_space(action_space),
            normalise=bool(normalise),
        )
        self._state = initial_state(self._setup)
        self._memory: Memory | None = None

    def reward(self, obs: Any, actions: Any, next_obs: Any, terminated: Any, truncated: Any) -> np.ndarray:
        """Intrinsic rewards [T, B]. Changes nothing: the same call gives the same rewards until the next `update`."""
        segment, memory = self._check(obs, actions, next_obs, terminated, truncated)
        return np.array(reward(self._setup, self._state, memory, segment))

    def update(self, obs: Any, actions: Any, next_obs: Any, terminated: Any, truncated: Any) -> dict[str, float]:
        """One step of learning; the reward statistics and beliefs move on past this segment. Returns metrics."""
        segment, memory = self._check(obs, actions, next_obs, terminated, truncated)
        state, memory, metrics = update(self._setup, self._state, memory, segment)
        metrics = {name: float(value) for name, value in jax.device_get(metrics).items()}
        bad = [name for name, value in metrics.items() if not np.isfinite(value)]
        if bad:
            raise UserError(f"update: {bad[0]} is not finite; nothing was changed. Try a smaller learning_rate")
        self._state, self._memory = state, memory
        return metrics

    def reset(self) -> None:
        """The next segment begins new episodes, and continues none. What is learned stays."""
        self._memory = None

    @property
    def num_updates(self) -> int:
        return int(self._state.world.num_updates)

    @property
    def name(self) -> str:
        return self._setup.config.curiosity

    @property
    def has_beliefs(self) -> bool:
        """Must segments follow one another?"""
        return curiosities.make(self._setup.config, self._setup.spec).trains_beliefs

    def save(self, path: str | os.PathLike[str]) -> None:
        """All of it in one file: rewards and updates after `load` are the same to the last bit."""
        path = Path(path)
        temporary = path.with_name(path.name + ".part")
        temporary.write_bytes(self.__getstate__())
        os.replace(temporary, path)

    def __getstate__(self) -> bytes:
        """The file that `save` writes: with it, a curiosity can be pickled."""
        header = {"format": FORMAT, "config": to_dict(self._setup.config), "normalise": self._setup.normalise}
        header |= {"observations": self._setup.observations, "actions": self._setup.actions}
        arrays: dict[str, Any] = {"header": np.frombuffer(json.dumps(header).encode(), np.uint8)}
        arrays |= to_arrays("state", self._state._replace(key=jax.random.key_data(self._state.key)))
        arrays |= {} if self._memory is None else to_arrays("memory", self._memory)
        file = io.BytesIO()
        np.savez(file, **arrays)
        return file.getvalue()

    def __setstate__(self, content: bytes) -> None:
        with np.load(io.BytesIO(content), allow_pickle=False) as stored:
            read = self._from_arrays(dict(stored))
        self._setup, self._state, self._memory = read._setup, read._state, read._memory

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> "Curiosity":
        try:
            with open(path, "rb") as file, np.load(file, allow_pickle=False) as stored:
                arrays = dict(stored)
            return cls._from_arrays(arrays)
        except FileNotFoundError:
            raise UserError(f"path: got {path}, which does not exist") from None
        except (KeyError, ValueError, TypeError, EOFError, zipfile.BadZipFile) as error:
            raise UserError(f"path: got {path}, expected a file that this version's `save` wrote ({error})") from None

    @classmethod
    def _from_arrays(cls, arrays: dict[str, np.ndarray]) -> "Curiosity":
        header = json.loads(arrays.pop("header").tobytes())
        if header["format"] != FORMAT:
            raise ValueError(f"format {header['format']}")
        new = object.__new__(cls)
        observations, actions = tuples(header["observations"]), tuples(header["actions"])
        config = from_dict(header["config"])
        new._setup = Setup(config, Observations(*observations), Actions(*actions), header["normalise"])
        like = initial_state(new._setup)
        state = from_arrays("state", arrays, like._replace(key=jax.random.key_data(like.key)))
        new._state = state._replace(key=jax.random.wrap_key_data(state.key))
        batch_size = len(arrays.get("memory.first", ()))
        new._memory = from_arrays("memory", arrays, fresh_memory(new._setup, batch_size)) if batch_size else None
        return new

    def _check(self, *arrays: Any) -> tuple[Segment, Memory]:
        segment = check_segment(self._setup.observations, self._setup.actions, *arrays)
        batch_size = segment.obs.shape[1]
        if batch_size < 2 and curiosities.uses_hindsight(self._setup.config.curiosity):
            raise UserError("obs: got B = 1, expected at least 2: hindsight contrasts trajectories with each other")
        if self._memory is None or len(self._memory.first) != batch_size:
            return segment, fresh_memory(self._setup, batch_size)
        return segment, self._memory


def base_config(preset: str | Config) -> Config:
    if isinstance(preset, Config):
        return preset
    if preset not in PRESETS:
        raise UserError(unknown_name("preset", preset, PRESETS))
    return preset_for(preset, "dropin")


def check_config(config: Config) -> Config:
    """T and B are the caller's: what the config says of them does not count."""
    try:
        curiosities.resolve(config.curiosity)
        return validate(replace(config, batch_size=2, unroll=max(2, config.world.horizon)))
    except UserError as error:
        raise UserError(str(error).removeprefix("--")) from None


def model_of(setup: Setup) -> WorldModel:
    return make_world_model(curiosities.make(setup.config, setup.spec), make_optimizer(setup.config))


@functools.partial(jax.jit, static_argnums=0)
def initial_state(setup: Setup) -> DropInState:
    key, key_agent, key_curiosity = jax.random.split(jax.random.key(setup.config.seed), 3)
    agent = make_agent(setup.config.network, setup.spec, key_agent)
    return DropInState(model_of(setup).init(key_curiosity, agent), moments_init(), key)


def fresh_memory(setup: Setup, batch_size: int) -> Memory:
    """Every trajectory begins an episode."""
    vector = () if setup.actions.parts is None else (setup.actions.width,)
    return Memory(
        belief=jnp.zeros((batch_size, setup.config.network.belief)),
        previous_action=jnp.zeros((batch_size, *vector), jnp.float32 if vector else jnp.int32),
        first=jnp.ones(batch_size, bool),
    )


@functools.partial(jax.jit, static_argnums=0)
def reward(setup: Setup, state: DropInState, memory: Memory, segment: Segment) -> Float[Array, "T B"]:
    """What the next update would pay this segment: by statistics that include it, and with that update's randomness."""
    key_learn = jax.random.split(state.key)[1]
    output = model_of(setup).score(state.world, lambda agent: experience_of(agent, memory, segment), key_learn)
    mean, scale = mean_and_scale(moments_after(setup, state.moments, output.error), setup.config.bonus.decay)
    paid = jnp.maximum(output.error - mean, 0.0) if setup.config.bonus.prioritise else output.error
    return paid / scale if setup.normalise else paid


@functools.partial(jax.jit, static_argnums=0)
def update(
    setup: Setup, state: DropInState, memory: Memory, segment: Segment
) -> tuple[DropInState, Memory, dict[str, Array]]:
    """One step of the world model; statistics and beliefs move on past the segment."""
    key, key_learn = jax.random.split(state.key)
    world, learned = model_of(setup).step(state.world, lambda agent: experience_of(agent, memory, segment), key_learn)
    error, belief = learned.output.error, learned.experience.belief
    metrics = {f"loss/{name}": mean for name, mean in learned.losses.items()} | learned.output.metrics
    metrics |= {"error": jnp.mean(error), "gradient": optax.tree.norm(learned.grads)}
    if belief is not None:
        memory = Memory(jax.lax.stop_gradient(belief[-1]), segment.action[-1], segment.ended[-1])
    return DropInState(world, moments_after(setup, state.moments, error), key), memory, metrics


def experience_of(agent: Agent, memory: Memory, segment: Segment) -> Experience:
    """A segment with the beliefs of this agent."""
    before = (memory.first, memory.belief, memory.previous_action)
    return from_pairs(agent, segment.obs, segment.action, segment.next_obs, segment.ended, *before)


def moments_after(setup: Setup, moments: Moments, error: Float[Array, "T B"]) -> Moments:
    return moments_update(moments, error, jnp.ones(error.shape, bool), setup.config.bonus.decay)


def to_arrays(prefix: str, tree: Any) -> dict[str, np.ndarray]:
    leaves = jax.tree_util.tree_flatten_with_path(tree)[0]
    return {prefix + jax.tree_util.keystr(path): np.asarray(leaf) for path, leaf in leaves}


def from_arrays(prefix: str, arrays: dict[str, np.ndarray], like: Any) -> Any:
    """The inverse of `to_arrays`, given a tree of the same shapes."""
    leaves, structure = jax.tree_util.tree_flatten_with_path(like)
    loaded = [arrays[prefix + jax.tree_util.keystr(path)] for path, _ in leaves]
    for (path, leaf), array in zip(leaves, loaded, strict=True):
        if array.shape != leaf.shape or array.dtype != leaf.dtype:
            raise ValueError(f"{jax.tree_util.keystr(path)} has another shape")
    return jax.tree_util.tree_unflatten(structure, [jnp.asarray(array) for array in loaded])


def tuples(values: Any) -> Any:
    """Lists made tuples again, after a trip through JSON."""
    return tuple(tuples(value) for value in values) if isinstance(values, list) else values

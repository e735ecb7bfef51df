"""Curiosity for any training loop: numpy arrays in, numpy rewards out.

`Curiosity` holds the state; the functions below it are pure. Transitions are pairs (o_t, o_{t+1}), so an episode may
end at any step. Beliefs are computed from o_t alone and zeroed where an episode begins.
"""

import functools
import io
import json
import os
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
from curiax.config import Config, from_dict, to_dict, validate
from curiax.config.dotted import override, read_options
from curiax.config.presets import read_preset
from curiax.curiosity.experience import from_pairs
from curiax.curiosity.reward import Moments, moments_init, moments_update, pay
from curiax.curiosity.world_model import WorldModel, WorldState, make_optimizer, make_world_model
from curiax.envs.spaces import (
    Actions,
    Observations,
    Segment,
    check_segment,
    read_action_space,
    read_observation_space,
    require_finite,
)
from curiax.errors import UserError, first_line
from curiax.training.cache import use_compilation_cache
from curiax.training.memory import device_memory, require_memory, size_of
from curiax.training.run.checkpoints import from_arrays, to_arrays
from curiax.training.run.files import read_bytes
from curiax.training.run.outputs import writing_file
from curiax.types import Agent, EnvSpec, Experience

FORMAT = 3  # of saved files
# What `options` may set.
READ = ("learning_rate", "network.*", "world.*", "bonus.decay", "bonus.normalise", "bonus.prioritise")


class Setup(NamedTuple):
    """What never changes: the static argument of the compiled functions."""

    config: Config
    observations: Observations
    actions: Actions

    @property
    def spec(self) -> EnvSpec:
        shape, scale = self.observations.shape, self.observations.scale
        return EnvSpec("drop-in", shape, self.actions.width, 0, (0, 0), scale, self.actions.parts)


class Memory(NamedTuple):
    """Recurrent state of B trajectories between two segments."""

    belief: Float[Array, "B D"]
    previous_action: Shaped[Array, "B *action"]
    first: Bool[Array, " B"]  # the next observation is the first of an episode


class DropInState(NamedTuple):
    """Everything else that `update` changes."""

    world: WorldState
    moments: Moments  # of the errors; they normalise the rewards
    key: PRNGKeyArray


class Curiosity:
    """A curiosity method for a training loop of your own: see docs/dropin.md.

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

        normalise: divide errors by their running standard deviation.
        prioritise: subtract the running mean of the errors and clip at zero.
        observation_scale: divides observations; by default the largest bound of integers, 1 for floats.
        preset: default sizes and weights. options: overrides, named as on the command line: {"world.latent": 64}.
        """
        config = read_preset(preset, "dropin")
        top = {"curiosity": name, "seed": seed, "bonus.normalise": normalise, "bonus.prioritise": prioritise}
        top |= {} if learning_rate is None else {"learning_rate": learning_rate}
        for field, value in (top | read_options(options, config, READ)).items():
            config = override(config, field, value)
        self._setup = Setup(
            config=check_config(config),
            observations=read_observation_space(observation_space, observation_scale),
            actions=read_action_space(action_space),
        )
        self._state = begin(self._setup)
        self._memory: Memory | None = None

    def reward(self, obs: Any, actions: Any, next_obs: Any, terminated: Any, truncated: Any) -> np.ndarray:
        """Returns intrinsic rewards [T, B]. Changes nothing: until the next `update`, the same call gives the same."""
        segment, memory = self._check(obs, actions, next_obs, terminated, truncated)
        rewards = np.array(reward(self._setup, self._state, memory, segment))
        require_finite("reward", rewards)  # not so for observations of 1e19
        return rewards

    def update(self, obs: Any, actions: Any, next_obs: Any, terminated: Any, truncated: Any) -> dict[str, float]:
        """Takes one gradient step, updates reward statistics and beliefs, and returns metrics."""
        segment, memory = self._check(obs, actions, next_obs, terminated, truncated)
        state, memory, metrics = update(self._setup, self._state, memory, segment)
        metrics = {name: float(value) for name, value in jax.device_get(metrics).items()}
        bad = [name for name, value in metrics.items() if not np.isfinite(value)]
        if bad:
            raise UserError(f"update: {bad[0]} is not finite; nothing was changed. Try a smaller learning_rate")
        self._state, self._memory = state, memory
        return metrics

    def reset(self) -> None:
        """Clears the beliefs: the next segment starts new episodes. Parameters and statistics stay."""
        self._memory = None

    @property
    def num_updates(self) -> int:
        return int(self._state.world.num_updates)

    @property
    def name(self) -> str:
        return self._setup.config.curiosity

    @property
    def has_beliefs(self) -> bool:
        """Whether the method has recurrent beliefs, so that segments must be consecutive."""
        return curiosities.make(self._setup.config, self._setup.spec).trains_beliefs

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes everything to one file. After `load`, rewards and updates are bit-identical."""
        with writing_file("path", Path(path)) as file:
            file.write_bytes(self.__getstate__())

    def __getstate__(self) -> bytes:
        """The content of the file that `save` writes; it also makes the object picklable."""
        header = {"format": FORMAT, "config": to_dict(self._setup.config)}
        header |= {"observations": self._setup.observations, "actions": self._setup.actions}
        arrays: dict[str, Any] = {"header": np.frombuffer(json.dumps(header).encode(), np.uint8)}
        arrays |= to_arrays(self._state, "state")
        arrays |= {} if self._memory is None else to_arrays(self._memory, "memory")
        file = io.BytesIO()
        np.savez(file, **arrays)
        return file.getvalue()

    def __setstate__(self, content: bytes) -> None:
        read = self._read(content)
        self._setup, self._state, self._memory = read._setup, read._state, read._memory

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> "Curiosity":
        """Reads a file that `save` wrote."""
        content = read_bytes(Path(path))
        try:
            return cls._read(content)
        except Exception as error:  # a damaged file may raise anything
            expected = "expected a file that this version's `save` wrote"
            raise UserError(f"path: got {path}, {expected} ({first_line(error)})") from None

    @classmethod
    def _read(cls, content: bytes) -> "Curiosity":
        with np.load(io.BytesIO(content), allow_pickle=False) as stored:
            arrays = dict(stored)
        header = json.loads(arrays.pop("header").tobytes())
        if header["format"] != FORMAT:
            raise ValueError(f"format {header['format']}")
        new = object.__new__(cls)
        observations, actions = tuples(header["observations"]), tuples(header["actions"])
        if "normalise" in header:  # older files have it here
            header["config"]["bonus"]["normalise"] = header["normalise"]
        config = check_config(from_dict(header["config"]))
        new._setup = Setup(config, Observations(*observations), Actions(*actions))
        new._state = from_arrays(arrays, begin(new._setup), "state")
        batch_size = len(arrays.get("memory.first", ()))
        new._memory = from_arrays(arrays, fresh_memory(new._setup, batch_size), "memory") if batch_size else None
        return new

    def _check(self, *arrays: Any) -> tuple[Segment, Memory]:
        segment = check_segment(self._setup.observations, self._setup.actions, *arrays)
        batch_size = segment.obs.shape[1]
        if batch_size < 2 and curiosities.uses_hindsight(self._setup.config.curiosity):
            raise UserError("obs: got B = 1, expected at least 2: hindsight contrasts trajectories with each other")
        if self._memory is None or len(self._memory.first) != batch_size:
            return segment, fresh_memory(self._setup, batch_size)
        return segment, self._memory


def check_config(config: Config) -> Config:
    """The config, validated. T and B come from the caller's arrays, so those of the config are replaced."""
    try:
        curiosities.resolve(config.curiosity)
        return validate(replace(config, batch_size=2, unroll=max(2, config.world.horizon)))
    except UserError as error:
        raise UserError(str(error).removeprefix("--")) from None


def model_of(setup: Setup) -> WorldModel:
    return make_world_model(curiosities.make(setup.config, setup.spec), make_optimizer(setup.config))


def begin(setup: Setup) -> DropInState:
    """The initial state. Raises a UserError, before anything is allocated, if it cannot fit in memory."""
    use_compilation_cache()
    shapes = initial_state.eval_shape(setup)
    require_memory(size_of(shapes) + size_of(shapes.world.params), "options, with these spaces", device_memory())
    return initial_state(setup)


@functools.partial(jax.jit, static_argnums=0)
def initial_state(setup: Setup) -> DropInState:
    key, key_agent, key_curiosity = jax.random.split(jax.random.key(setup.config.seed), 3)
    agent = make_agent(setup.config.network, setup.spec, key_agent)
    return DropInState(model_of(setup).init(key_curiosity, agent), moments_init(), key)


def fresh_memory(setup: Setup, batch_size: int) -> Memory:
    """The memory of B trajectories that all begin an episode."""
    vector = () if setup.actions.parts is None else (setup.actions.width,)
    return Memory(
        belief=jnp.zeros((batch_size, setup.config.network.belief)),
        previous_action=jnp.zeros((batch_size, *vector), jnp.float32 if vector else jnp.int32),
        first=jnp.ones(batch_size, bool),
    )


@functools.partial(jax.jit, static_argnums=0)
def reward(setup: Setup, state: DropInState, memory: Memory, segment: Segment) -> Float[Array, "T B"]:
    """Intrinsic rewards of a segment. Statistics include the segment, and the key is the next update's."""
    key_learn = jax.random.split(state.key)[1]
    output = model_of(setup).score(state.world, lambda agent: experience_of(agent, memory, segment), key_learn)
    return pay(setup.config.bonus, moments_after(setup, state.moments, output.error), output.error)


@functools.partial(jax.jit, static_argnums=0)
def update(
    setup: Setup, state: DropInState, memory: Memory, segment: Segment
) -> tuple[DropInState, Memory, dict[str, Array]]:
    """State, memory and metrics after one gradient step on a segment."""
    key, key_learn = jax.random.split(state.key)
    world, learned = model_of(setup).step(state.world, lambda agent: experience_of(agent, memory, segment), key_learn)
    error, belief = learned.output.error, learned.experience.belief
    metrics = {f"loss/{name}": mean for name, mean in learned.losses.items()} | learned.output.metrics
    metrics |= {"error": jnp.mean(error), "gradient": optax.tree.norm(learned.grads)}
    if belief is not None:
        memory = Memory(jax.lax.stop_gradient(belief[-1]), segment.action[-1], segment.ended[-1])
    return DropInState(world, moments_after(setup, state.moments, error), key), memory, metrics


def experience_of(agent: Agent, memory: Memory, segment: Segment) -> Experience:
    """The segment as `Experience`, with this agent's beliefs."""
    before = (memory.first, memory.belief, memory.previous_action)
    return from_pairs(agent, segment.obs, segment.action, segment.next_obs, segment.ended, *before)


def moments_after(setup: Setup, moments: Moments, error: Float[Array, "T B"]) -> Moments:
    return moments_update(moments, error, jnp.ones(error.shape, bool), setup.config.bonus.decay)


def tuples(values: Any) -> Any:
    """Nested lists as tuples: JSON has no tuples."""
    return tuple(tuples(value) for value in values) if isinstance(values, list) else values

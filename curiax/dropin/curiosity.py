"""`curiax.Curiosity`: the state of a curiosity in somebody's loop, and the checks of what comes in.

Transitions are pairs (o_t, o_{t+1}), so an episode may end at any step. Beliefs are computed from o_t alone and zeroed
where an episode begins.
"""

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

import jax
import numpy as np

from curiax import curiosity as curiosities
from curiax.config import Config
from curiax.dropin import arrays, functions
from curiax.dropin.files import Stored, from_bytes, read_saved, to_bytes
from curiax.dropin.functions import Memory, begin, fresh_memory
from curiax.dropin.replay import Pieces, Replay, rows_of
from curiax.dropin.settings import COLUMNS, STEPS, make_setup
from curiax.dropin.watch import CHECK_EVERY, SETTLED, Watch
from curiax.envs.spaces import Segment, check_segment, read_action_space, read_observation_space, require_finite
from curiax.errors import UserError
from curiax.training.run.outputs import writing_file


class Explanation(NamedTuple):
    """What `Curiosity.explain` tells of each transition."""

    predicted: Any  # [T, B] error of a prediction without hindsight
    reconstructed: Any  # [T, B] error that is left with hindsight; as `predicted` for methods without
    noise: Any  # [T, B] what hindsight takes away
    z: Any  # [T, B, Z] hindsight vectors; Z is 0 for methods without
    reward: Any  # [T, B] as `reward` pays it: max((error − mean)/scale, 0), or error/scale for signed errors
    mean: float
    scale: float


class Curiosity:
    """A curiosity method for a training loop of your own: see docs/dropin.md.

    `reward` and `update` take the same arrays, T steps of B trajectories: obs and next_obs [T, B, ...], actions
    [T, B, ...], terminated and truncated [T, B]. next_obs[t] is what followed obs[t], *before* any reset. `observe`
    takes one step, of one environment or of B. Arrays are numpy's, JAX's or PyTorch's; rewards are of the same kind.

    valid [T, B] is false where a step is no transition, such as a reset that takes a step. Its reward is 0, nothing is
    learned from it, and a new episode begins after it. Its observations and action may be any of their spaces.
    """

    __slots__ = ("_last", "_memory", "_online", "_pending", "_replay", "_setup", "_state", "_watch")

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
        budget: int | None = None,
        replay: int = 10_000,
        preset: str | Config = "laptop",
        options: Mapping[str, Any] | None = None,
    ):
        """name: a method of `curiax list methods`. Spaces: Gymnasium's, or those of `curiax`.

        normalise: divide errors by their running standard deviation.
        prioritise: subtract the running mean of the errors and clip at zero; never done to signed errors.
        observation_scale: divides observations; by default the largest bound of integers, 1 for floats.
        budget: steps that the run will have, of one environment or of all side by side, for schedules that fit it.
        replay: transitions that are kept to learn from, with fewer than 16 trajectories at a time.
        preset: default sizes and weights. options: overrides, named as on the command line: {"world.latent": 64}.
        """
        top = {"curiosity": name, "seed": seed, "bonus.normalise": normalise, "bonus.prioritise": prioritise}
        top |= {} if learning_rate is None else {"learning_rate": learning_rate}
        spaces = read_observation_space(observation_space, observation_scale), read_action_space(action_space)
        self._setup = make_setup(preset, top, options, *spaces, budget, replay)
        self._state = begin(self._setup)
        self._memory: Memory | None = None
        self._online: Memory | None = None
        self._replay: Replay | None = None
        self._pending: list[Segment] = []
        self._watch, self._last = Watch(), {}

    def reward(self, obs: Any, actions: Any, next_obs: Any, terminated: Any, truncated: Any, valid: Any = None) -> Any:
        """Returns intrinsic rewards [T, B]. Changes nothing: until the next `update`, the same call gives the same."""
        segment, memory = self._check("reward", obs, actions, next_obs, terminated, truncated, valid)
        rewards = np.array(functions.see(self._setup, self._state, memory, segment).reward)
        require_finite("reward", rewards)  # not so for observations of 1e19
        return arrays.like(obs)(rewards)

    def update(
        self, obs: Any, actions: Any, next_obs: Any, terminated: Any, truncated: Any, valid: Any = None
    ) -> dict[str, float]:
        """Learns from a segment, updates reward statistics and beliefs, and returns metrics.

        From 16 trajectories on, the segment is one gradient step. Fewer go into the replay, and every sixteenth step
        is followed by a gradient step on pieces of it.
        """
        return self._learn(*self._check("update", obs, actions, next_obs, terminated, truncated, valid))

    def observe(self, obs: Any, action: Any, next_obs: Any, terminated: Any, truncated: Any, valid: Any = None) -> Any:
        """Returns the intrinsic reward of one step, and learns by itself every few steps.

        One environment: obs is one observation, and the reward one number. B of them: obs [B, ...], rewards [B].
        """
        valid = np.ones(np.shape(terminated), bool) if valid is None else valid
        segment, alone = self._one_step(obs, action, next_obs, terminated, truncated, valid)
        if not segment.valid.any():
            self.reset()
            return 0.0 if alone else arrays.like(obs)(np.zeros(segment.valid.shape[1], np.float32))
        if self._pending and self._pending[-1].ended.shape != segment.ended.shape:
            self._learn_pending()
        memory = self._memory_for(segment) if self._online is None else self._online
        seen = functions.see(self._setup, self._state, memory, segment, len(self._pending))
        rewards = np.array(seen.reward)
        require_finite("reward", rewards)
        self._pending.append(segment)
        self._online = seen.memory
        if len(self._pending) >= (self._setup.period if rewards.shape[1] < COLUMNS else STEPS):
            self._learn_pending()
        return float(rewards[0, 0]) if alone else arrays.like(obs)(rewards[0])

    def explain(
        self, obs: Any, actions: Any, next_obs: Any, terminated: Any, truncated: Any, valid: Any = None
    ) -> Explanation:
        """Returns, for each transition of a segment, what `reward` pays and why. Changes nothing."""
        segment, memory = self._check("explain", obs, actions, next_obs, terminated, truncated, valid)
        seen = functions.see(self._setup, self._state, memory, segment)
        predicted = reconstructed = seen.error
        z: Any = np.zeros((*seen.error.shape, 0), np.float32)
        if curiosities.uses_hindsight(self.name):
            others = (memory, segment) if self._replay is None else self._pieces(0)
            (predicted, reconstructed, z), _ = functions.split(self._setup, self._state, memory, segment, others)
        mean, scale = functions.grown_mean_and_scale(seen.moments)
        kind = arrays.like(obs)
        return Explanation(
            predicted=kind(np.array(predicted)),
            reconstructed=kind(np.array(reconstructed)),
            noise=kind(np.asarray(predicted) - np.asarray(reconstructed)),
            z=kind(np.array(z)),
            reward=kind(np.array(seen.reward)),
            mean=float(mean),
            scale=float(scale),
        )

    def metrics(self) -> dict[str, float]:
        """Returns the metrics of the last update, and the numbers of updates and of transitions in the replay."""
        replay = self._replay
        held = 0 if replay is None else replay.num_steps * replay.rows.ended.shape[1]
        return self._last | {"num_updates": float(self.num_updates), "replay": float(held)}

    def reset(self, which: Any = None) -> None:
        """Clears the beliefs: the next segment starts new episodes, of all trajectories or where `which` [B] is true.
        Parameters, statistics and replay stay."""
        memory = self._online if self._pending else self._memory
        if memory is None:
            return
        ends = arrays.read_mask("which", which, len(memory.first))
        memory = memory._replace(first=memory.first | ends)
        if self._pending:
            self._pending[-1].ended[0] |= ends
            self._online = memory
            return
        self._memory = memory
        if self._replay is not None:
            self._replay.cut(ends)

    @property
    def num_updates(self) -> int:
        """Gradient steps so far."""
        return int(self._state.world.num_updates)

    @property
    def name(self) -> str:
        return self._setup.config.curiosity

    @property
    def has_beliefs(self) -> bool:
        """Whether the method has recurrent beliefs, so that segments must be consecutive."""
        return curiosities.make(self._setup.config, self._setup.spec).trains_beliefs

    @property
    def replay_bytes(self) -> int:
        """Memory of the replay; 0 while there is none."""
        return 0 if self._replay is None else self._replay.num_bytes

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes everything to one file. After `load`, rewards and updates are bit-identical."""
        with writing_file("path", Path(path)) as file:
            file.write_bytes(self.__getstate__())

    def __getstate__(self) -> bytes:
        """The content of the file that `save` writes; it also makes the object picklable."""
        stored = Stored(self._setup, self._state, self._memory, self._online, self._replay, self._pending)
        return to_bytes(stored)

    def __setstate__(self, content: bytes) -> None:
        stored = from_bytes(content)
        self._setup, self._state, self._memory, self._online, self._replay, self._pending = stored
        self._watch, self._last = Watch(), {}

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> "Curiosity":
        """Reads a file that `save` wrote."""
        new = object.__new__(cls)
        read_saved(path, new.__setstate__)
        return new

    def _check(self, call: str, *given: Any) -> tuple[Segment, Memory]:
        if self._pending:
            raise UserError(
                f"{call}: got a segment, but the last {len(self._pending)} steps came by observe and are not learned "
                "from yet: use observe, or reward and update, not both"
            )
        segment = check_segment(self._setup.observations, self._setup.actions, *map(arrays.to_numpy, given))
        return segment, self._memory_for(segment)

    def _one_step(self, obs: Any, *rest: Any) -> tuple[Segment, bool]:
        """One step as a segment [1, B], and whether it is of one environment without an axis B."""
        given = [np.asarray(arrays.to_numpy(x)) for x in (obs, *rest)]
        space = self._setup.observations
        shape = space.shape if space.categories is None else tuple(space.categories[0])
        alone = given[0].shape == shape
        if not alone and given[0].shape[1:] != shape:
            expected = f"{list(shape)}, or [B{''.join(f', {n}' for n in shape)}] of B environments"
            raise UserError(f"obs: got shape {list(given[0].shape)}, expected {expected}")
        axes = (None, None) if alone else (None,)
        segment = check_segment(space, self._setup.actions, *(x[axes] for x in given))
        batch_size, before = segment.ended.shape[1], self._pending[-1].ended if self._pending else segment.ended
        if before.shape[1] != batch_size and not before.all():
            raise UserError(
                f"obs: got {batch_size} environments, expected {before.shape[1]} as before, or a reset first"
            )
        return segment, alone

    def _memory_for(self, segment: Segment) -> Memory:
        batch_size = segment.ended.shape[1]
        if self._memory is None or len(self._memory.first) != batch_size:
            return fresh_memory(self._setup, batch_size)
        return self._memory

    def _learn_pending(self) -> None:
        """Learns from the steps that `observe` has taken, and forgets them only if that went well."""
        segment = Segment(*(np.concatenate(parts) for parts in zip(*self._pending, strict=True)))
        self._learn(segment, self._memory_for(segment))
        self._pending, self._online = [], None

    def _learn(self, segment: Segment, memory: Memory) -> dict[str, float]:
        """Gradient steps on a segment, or on the replay after it has taken the segment."""
        if not segment.valid.any():
            self.reset()
            return self._last
        if segment.ended.shape[1] >= COLUMNS:
            self._replay = None
            state, memory, metrics = functions.update(self._setup, self._state, memory, segment)
            metrics = finite(metrics)
        else:
            seen = functions.see(self._setup, self._state, memory, segment)
            about = finite(functions.reward_metrics(self._setup, seen.moments, seen.error, segment))
            self._remember(segment, memory, seen)
            state = self._state._replace(moments=seen.moments)
            for number in range(max(1, len(segment.ended) // self._setup.period)):
                pieces = self._pieces(number, len(segment.ended))
                state, metrics = functions.practise(self._setup, state, *pieces)
            metrics, memory = finite(metrics) | about, seen.memory
        self._state, self._memory, self._last = state, memory, metrics
        self._look(metrics)
        return metrics

    def _remember(self, segment: Segment, memory: Memory, seen: functions.Seen) -> None:
        """Adds a segment to the replay. Another number of trajectories starts it anew."""
        rows = rows_of(segment, seen.beliefs, memory.previous_action, memory.first)
        if self._replay is None or self._replay.rows.ended.shape[1] != rows.ended.shape[1]:
            self._replay = Replay.like(rows, self._setup.capacity)
        self._replay.add(rows)

    def _pieces(self, number: int, num_new: int = 0) -> tuple[Memory, Segment]:
        """Random pieces of the replay, the same for the same seed, number of steps so far and `number`."""
        assert self._replay is not None
        rng = np.random.default_rng((self._setup.config.seed, self._replay.count, number))
        pieces: Pieces = self._replay.sample(rng, *self._setup.piece, num_new)
        return Memory(pieces.belief, pieces.previous_action, pieces.first), pieces.segment  # pyright: ignore[reportArgumentType] — numpy's are as good

    def _look(self, metrics: dict[str, float]) -> None:
        """Warns of what is suspicious."""
        if self._setup.bonus.prioritise:
            self._watch.rewards(metrics["reward"])
        if self._replay is None or not curiosities.uses_hindsight(self.name):
            return
        num_updates = self._replay.count // self._setup.period
        if num_updates >= SETTLED and num_updates % CHECK_EVERY == 0:
            pieces = self._pieces(0)
            found, spread = functions.split(self._setup, self._state, *pieces, pieces)
            errors = found.predicted, found.reconstructed, spread
            self._watch.hindsight(*(float(np.mean(x, where=pieces[1].valid)) for x in errors))


def finite(metrics: Mapping[str, Any]) -> dict[str, float]:
    """The metrics as numbers. Raises a `UserError` if one is not finite."""
    numbers = {name: float(value) for name, value in jax.device_get(metrics).items()}
    bad = [name for name, value in numbers.items() if not np.isfinite(value)]
    if bad:
        raise UserError(f"update: {bad[0]} is not finite; nothing was changed. Try a smaller learning_rate")
    return numbers

"""Crafter (Hafner, 2021), the game itself: 64×64 pixels, 17 actions, 22 achievements. It is stepped on the host.

Its world generator takes 0.6 s for a world in plain Python, and 0.04 s with Numba, which the extra installs.
"""

from collections import defaultdict
from types import ModuleType
from typing import Any

import numpy as np
from jaxtyping import Bool, Int, UInt8

from curiax.envs.achievements import ACHIEVEMENT, SCORES, TEXT, score
from curiax.envs.base import HostEnvironment, HostStep
from curiax.errors import not_installed
from curiax.types import EnvSpec, Profile

NAME = "crafter"
TIME_LIMIT = 10_000


def make(batch_size: int, seed: int) -> HostEnvironment:
    """B games, each with a seed of its own, stepped in turn."""
    crafter = load()
    seeds = (np.random.SeedSequence(seed).generate_state(batch_size) >> 1).tolist()
    streams = Streams([crafter.Env(length=TIME_LIMIT, seed=each) for each in seeds])
    return HostEnvironment(spec_of(), streams.reset, streams.step, lambda: None)


def spec_of() -> EnvSpec:
    return EnvSpec(
        name=NAME,
        observation_shape=(64, 64, 3),
        num_actions=len(load().constants.actions),
        time_limit=TIME_LIMIT,
        observation_scale=255.0,
        derive=score,
        tallied=tuple(ACHIEVEMENT + name for name in load().constants.achievements),
    )


def profile_of(name: str) -> Profile:
    return Profile("Crafter", text=TEXT, scores=SCORES)


def load() -> ModuleType:
    """The Crafter module. Raises a UserError if it is not installed."""
    try:
        import crafter
        import crafter.constants
    except ImportError:
        raise not_installed("Crafter", "crafter") from None
    return crafter


class Ordered(dict):
    """A set that is iterated over in the order in which its members were added."""

    def add(self, member: Any) -> None:
        self[member] = None

    def remove(self, member: Any) -> None:
        del self[member]


def begin(game: Any) -> UInt8[np.ndarray, "64 64 3"]:
    """The first observation of a new episode.

    Crafter keeps the creatures of a region in a set, and draws one by its place in it, which depends on addresses in
    memory. With ordered sets the seed determines the game.
    """
    obs, world = game.reset(), game._world
    world._chunks = defaultdict(Ordered)
    for creature in world.objects:
        world._chunks[world.chunk_key(creature.pos)].add(creature)
    return obs


class Streams:
    """B games and the statistics of their episodes."""

    def __init__(self, games: list[Any]):
        self._games = games
        self._names = load().constants.achievements
        self._last = np.zeros(len(games), bool)
        self._returns = np.zeros(len(games), np.float32)
        self._length = np.zeros(len(games), np.float32)
        self._unlocked = np.zeros((len(games), len(self._names)), np.float32)

    def reset(self) -> HostStep:
        obs = np.stack([begin(game) for game in self._games])
        nothing = np.zeros(len(self._games), np.float32)
        return self._answer(obs, ~nothing.astype(bool), nothing, nothing > 0, nothing > 0)

    def step(self, action: Int[np.ndarray, " B"]) -> HostStep:
        first = self._last
        answers = [self._play(*each) for each in zip(self._games, first.tolist(), action.tolist(), strict=True)]
        obs, reward, over, info = zip(*answers, strict=True)
        dead = np.array([one.get("discount", 1.0) == 0 for one in info])
        found = [one["achievements"] if one else {} for one in info]
        self._unlocked = np.array([[each.get(name, 0) > 0 for name in self._names] for each in found], np.float32)
        return self._answer(np.stack(obs), first, np.array(reward, np.float32), np.array(over, bool), dead)

    @staticmethod
    def _play(game: Any, ended: bool, action: int) -> tuple[UInt8[np.ndarray, "64 64 3"], float, bool, dict[str, Any]]:
        """The answer of a game; a new episode if the last has ended."""
        return (begin(game), 0.0, False, {}) if ended else game.step(action)

    def _answer(
        self,
        obs: UInt8[np.ndarray, "B 64 64 3"],
        first: Bool[np.ndarray, " B"],
        reward: np.ndarray,
        last: Bool[np.ndarray, " B"],
        terminated: Bool[np.ndarray, " B"],
    ) -> HostStep:
        self._last = last
        self._returns = np.where(first, np.float32(0), self._returns + reward)
        self._length = np.where(first, np.float32(0), self._length + 1)
        unlocked = {ACHIEVEMENT + name: column for name, column in zip(self._names, self._unlocked.T, strict=True)}
        episode = {"return": self._returns, "length": self._length, "achievements": self._unlocked.sum(axis=1)}
        return HostStep(obs, first, last, reward, terminated, {"noise": np.zeros(len(first), bool)}, episode | unlocked)

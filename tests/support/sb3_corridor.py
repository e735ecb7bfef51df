"""A corridor whose observations number its steps, so that a wrong pairing is seen, and a curiosity that remembers."""

import gymnasium
import numpy as np
from gymnasium import spaces

from curiax import Curiosity
from curiax.sb3 import CuriosityCallback
from curiax.sb3.reader import Reader

FINAL = 50.0  # of an episode that terminates; 60 of one that is truncated
SMALL = {"network.feature_hidden": (4,), "network.embedding": 4, "world.hidden": (4,), "network.channels": (2, 2)}


class Corridor(gymnasium.Env):
    """Counts its steps. Episodes terminate after three steps and are truncated after five, in turn. The action is the
    reward."""

    action_space = spaces.Discrete(3)
    observation_space = spaces.Box(-1, 100, (2,), np.float32)

    def __init__(self):
        self.episode, self.age = -1, 0

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.episode, self.age = self.episode + 1, 0
        return self._observe(0.0), {}

    def step(self, action):
        self.age += 1
        terminated = self.episode % 2 == 0 and self.age == 3
        truncated = self.episode % 2 == 1 and self.age == 5
        obs = self._observe(FINAL if terminated else FINAL + 10 if truncated else float(self.age))
        return obs, float(np.sum(action)), terminated, truncated, {"noise": bool(np.sum(action) >= 1)}

    def _observe(self, number):
        return np.array([number, self.episode], np.float32)


class Slope(Corridor):
    """The same with real actions, which SAC and TD3 scale."""

    action_space = spaces.Box(-2, 6, (1,), np.float32)


class Pictures(Corridor):
    observation_space = spaces.Box(0, 255, (16, 20, 3), np.uint8)

    def _observe(self, number):
        obs = np.zeros((16, 20, 3), np.uint8)
        obs[:, :, 1], obs[:, :, 2] = self.episode, number
        return obs


class Symbols(Corridor):
    observation_space = spaces.MultiDiscrete([40, 61])

    def _observe(self, number):
        return np.array([self.episode, int(number)])


class Words(Corridor):
    observation_space = spaces.Dict(
        {"a": spaces.Discrete(40), "b": spaces.Box(-1, 100, (1,), np.float32), "c": spaces.MultiBinary(2)}
    )

    def _observe(self, number):
        return {"a": self.episode, "b": np.array([number], np.float32), "c": np.zeros(2, np.int8)}


class Recorder(Curiosity):
    """Keeps the transitions that it is given. Its bonus is the action, so the corridor's reward, times a factor."""

    factor = 1

    def reward(self, obs, actions, next_obs, terminated, truncated, valid=None):
        if not hasattr(self, "given"):
            self.given = []
        paid = super().reward(obs, actions, next_obs, terminated, truncated, valid)
        valid = np.ones(paid.shape, bool) if valid is None else valid
        self.given.append([x[valid] for x in (obs, actions, next_obs)])
        return self.factor * np.asarray(actions, np.float32).reshape(paid.shape) * valid


def record(model):
    """Gives the model such a curiosity."""
    reader = Reader(model)
    settings = {"observation_scale": reader.scale, "options": SMALL}
    model.curiosity = Recorder("rnd", reader.observation_space, reader.action_space, **settings)
    return model.curiosity


def curious(**settings):
    return CuriosityCallback("rnd", options=SMALL, **settings)

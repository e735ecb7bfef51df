"""Small Gymnasium environments whose every observation says where it comes from. Importing this registers them."""

import gymnasium
import numpy as np


class Ages(gymnasium.Env):
    """Observations (age, number of the episode); a step pays 10 × age. It is told from noise at every third age.

    Its actions are 3 and 4, and it ends after two to six steps; Gymnasium truncates it after five.
    """

    observation_space = gymnasium.spaces.Box(-np.inf, np.inf, (2,), np.float64)
    action_space = gymnasium.spaces.Discrete(2, start=3)

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.age, self.end = 0, int(self.np_random.integers(2, 7))
        self.number = float(self.np_random.integers(1, 2**24))
        return self.observe(), {"noise": True}

    def step(self, action):
        assert action in (3, 4)
        self.age += 1
        assert self.age <= self.end, "it was stepped after its end"
        return self.observe(), 10.0 * self.age, self.age == self.end, False, {"noise": self.age % 3 == 0}

    def observe(self):
        return np.array([self.age, self.number])


class Steps(gymnasium.Env):
    """Observations (episode, age, last action), all small; a step pays its age. It ends after two to six steps."""

    observation_space = gymnasium.spaces.Box(-np.inf, np.inf, (3,), np.float32)
    action_space = gymnasium.spaces.Discrete(4)

    def __init__(self):
        self.episode = -1

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.episode, self.age, self.end = self.episode + 1, 0, int(self.np_random.integers(2, 7))
        return self.observe(0), {}

    def step(self, action):
        self.age += 1
        assert self.age <= self.end, "it was stepped after its end"
        ended = self.age == self.end
        return self.observe(action), float(self.age), ended and self.end % 2 == 0, ended and self.end % 2 == 1, {}

    def observe(self, action):
        return np.array([self.episode / 4, self.age / 4, action / 4], np.float32)


class Broken(gymnasium.Env):
    """Counts to five and starts again; `how` it breaks at its `at`th step."""

    observation_space = gymnasium.spaces.Box(-10, 10, (3,), np.float32)
    action_space = gymnasium.spaces.Discrete(2)

    def __init__(self, how="", at=0):
        self.how, self.at, self.taken = how, at, 0

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.age = 0
        return np.zeros(3, np.float32), {}

    def step(self, action):
        self.age, self.taken = self.age + 1, self.taken + 1
        now = self.how if self.taken == self.at else ""
        if now == "raise":
            raise RuntimeError("the door fell off\nand more")
        obs = np.full(4 if now == "shape" else 3, np.nan if now == "nan" else self.age, np.float32)
        return obs, float("inf") if now == "reward" else 1.0, self.age == 5, False, {}


class Reach(gymnasium.Env):
    """One step: an action of two coordinates is paid by how near it is to (0.5, −1), in bounds ±1 and 0 to 4."""

    observation_space = gymnasium.spaces.Box(-1, 1, (1,), np.float32)
    action_space = gymnasium.spaces.Box(np.array([-1, 0], np.float32), np.array([1, 4], np.float32))

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        return np.zeros(1, np.float32), {}

    def step(self, action):
        assert self.action_space.contains(action)
        distance = np.square(action - np.array([0.5, 1.0])).sum()
        return np.ones(1, np.float32), -float(distance), True, False, {}


gymnasium.register("toys/Ages-v0", entry_point=Ages, max_episode_steps=5)
gymnasium.register("toys/Broken-v0", entry_point=Broken)
gymnasium.register("toys/Reach-v0", entry_point=Reach)

"""An environment on the host that counts its steps."""

import threading

import numpy as np

from curiax.envs.base import HostEnvironment, HostStep
from curiax.types import EnvSpec

SPEC = EnvSpec("counter", observation_shape=(20, 20), num_actions=3, time_limit=5)


FLAT = SPEC._replace(observation_shape=(3,))  # compiles faster than images


def counter(batch_size=2, end=5, threads=None, spec=SPEC):
    """Bytes that count the steps of an episode."""
    age = np.zeros(batch_size, np.int64)

    def answer(first):
        last = age == end
        obs = np.stack([np.full(spec.observation_shape, number, np.uint8) for number in age])
        info = {"noise": np.zeros(batch_size, bool), "room": age + 256}
        episode = {"return": age.astype(np.float32)}
        return HostStep(obs, first, last, age.astype(np.float32), last, info, episode)

    def step(action):
        nonlocal age
        if threads is not None:
            threads.append(threading.get_ident())
        assert action.shape == (batch_size,)
        first = age == end
        age = np.where(first, 0, age + 1)
        return answer(first)

    closed = []
    env = HostEnvironment(spec, lambda: answer(np.ones(batch_size, bool)), step, lambda: closed.append(True))
    return env, closed

"""A curiosity of small networks beside a made-up loop."""

import jax
import numpy as np

import curiax
from curiax.dropin import Curiosity

T, B = 6, 3
SPACE = curiax.Box((3,))
ACTIONS = {
    "discrete": curiax.Discrete(4),
    "several": curiax.MultiDiscrete((3, 2)),
    "real": curiax.Box((2,), "float32", -1, 1),
}
SMALL = {
    "network.encoder_hidden": (),
    "network.embedding": 4,
    "network.belief": 4,
    "world.hidden": (5,),
    "world.critic_hidden": (5,),
    "world.latent": 2,
    "world.noise": 2,
}
RAW = {"normalise": False, "prioritise": False}


def make(method="icm", actions="discrete", space=SPACE, **settings) -> Curiosity:
    options = SMALL | settings.pop("options", {})
    return Curiosity(method, space, ACTIONS[actions], options=options, **settings)


def segment(seed=0, num_steps=T, batch_size=B, actions="discrete", ends=((2, 1), (T - 1, 0))):
    """A random walk of observations; after an end (t, b) obs[t+1] is a first observation, and next_obs[t] is not it."""
    rng = np.random.default_rng(seed)
    obs = rng.standard_normal((num_steps + 1, batch_size, 3)).astype(np.float32)
    next_obs = obs[1:].copy()
    terminated, truncated = np.zeros((2, num_steps, batch_size), bool)
    for kind, index in enumerate(index for index in ends if index[0] < num_steps and index[1] < batch_size):
        next_obs[index] = rng.standard_normal(3)
        (terminated if kind % 2 else truncated)[index] = True
    action = {
        "discrete": lambda: rng.integers(0, 4, (num_steps, batch_size)),
        "several": lambda: rng.integers(0, (3, 2), (num_steps, batch_size, 2)),
        "real": lambda: rng.uniform(-2, 2, (num_steps, batch_size, 2)),
    }[actions]()
    return obs[:-1], action, next_obs, terminated, truncated


def equal(left, right) -> bool:
    return jax.tree.all(jax.tree.map(np.array_equal, left, right))

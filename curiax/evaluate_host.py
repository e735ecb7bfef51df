"""Episodes of a frozen policy in environments stepped on the host, and what people score there."""

from dataclasses import replace
from typing import Any

import jax.numpy as jnp
import numpy as np

from curiax import envs
from curiax.agent.distributions import entropy_of
from curiax.collect import act, host_actor_init
from curiax.config import Config
from curiax.envs.base import HostEnvironment
from curiax.types import Agent

MAX_STREAMS = 32  # emulators at a time
NOOPS = 30

# Points of a uniformly random policy and of a professional player, after up to 30 no-ops (Wang et al., 2016). Checked
# against the table in DeepMind's DQN Zoo, dqn_zoo/atari_data.py.
HUMAN = {
    "alien": (227.8, 7127.7),
    "bank_heist": (14.2, 753.1),
    "freeway": (0.0, 29.6),
    "gravitar": (173.0, 3351.4),
    "hero": (1027.0, 30826.4),
    "montezuma_revenge": (0.0, 4753.3),
    "pitfall": (-229.4, 6463.7),
    "private_eye": (24.9, 69571.3),
    "qbert": (163.9, 13455.0),
    "solaris": (1236.3, 12326.7),
    "venture": (0.0, 1187.5),
}


def evaluation_env(config: Config, batch_size: int, seed: int) -> HostEnvironment:
    """As in training, but for the no-ops, which are those of the usual evaluation."""
    return envs.make_host(replace(config, atari=replace(config.atari, noops=NOOPS)), batch_size, seed)


def play_on_host(config: Config, agent: Agent, num_episodes: int, seed: int) -> dict[str, Any]:
    """The fields of `Episodes`. Every stream plays a number of episodes fixed beforehand: taking whichever end first
    would favour the short ones."""
    batch_size = min(num_episodes, MAX_STREAMS)
    left = num_episodes // batch_size + (np.arange(batch_size) < num_episodes % batch_size)
    chances = np.random.default_rng(seed)
    env = evaluation_env(config, batch_size, seed)
    try:
        step, belief, action = host_actor_init(env, config.network.belief)
        sums = np.zeros((3, batch_size))  # of the episode so far: steps, noisy ones, entropy
        ended: list[dict[str, float]] = []
        while (left > 0).any():
            draw = chances.gumbel if env.spec.action_parts is None else chances.normal
            chance = draw(size=(batch_size, env.spec.num_actions)).astype(np.float32)
            belief, logits, action = act(agent, belief, jnp.asarray(step.obs), action, step.first, chance)
            reset, step = step.last, env.step(np.asarray(action))
            taken = np.stack([np.ones(batch_size), step.info["noise"], entropy_of(logits, action)])
            sums = np.where(reset, 0.0, sums + taken)
            for stream in np.flatnonzero(step.last & (left > 0)):
                length, noise, total = sums[:, stream]
                outcome = {name: float(value[stream]) for name, value in step.episode.items()}
                ended.append(outcome | {"noise_dwell": noise / length, "entropy": total / length})
                left[stream] -= 1
    finally:
        env.close()
    columns = {name: np.array([episode[name] for episode in ended], np.float32) for name in ended[0]}
    dwell, entropies = columns.pop("noise_dwell"), columns.pop("entropy")
    return {"outcome": columns | human_normalised(config.env, columns), "noise_dwell": dwell, "entropy": entropies}


def human_normalised(env: str, outcome: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    """0 is a random policy, 1 a professional player, in the games for which both are known."""
    game = env.removeprefix("atari/")
    if game not in HUMAN:
        return {}
    random, human = HUMAN[game]
    return {"human_normalised": ((outcome["return"] - random) / (human - random)).astype(np.float32)}

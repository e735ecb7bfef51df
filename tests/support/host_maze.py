"""The maze stepped on the host, by the chances that the compiled program would draw: `host/SETTING`."""

import dataclasses

import jax
import numpy as np

from curiax import envs
from curiax.envs.base import HostEnvironment, HostStep, stream_reset, stream_step


def maze_of(config):
    return envs.make(config.env.replace("host/", "maze/"))


def chances(env, config, batch_size):
    """The noise of the start, and then of every step, as `learner_init` and `rollout` draw them."""
    draw = jax.jit(jax.vmap(env.draw))
    draw_all = jax.jit(jax.vmap(jax.vmap(env.draw)))
    key, _, _, key_stream = jax.random.split(jax.random.key(config.seed), 4)
    yield draw(jax.random.split(key_stream, batch_size))
    while True:
        key, key_rollout, _ = jax.random.split(key, 3)
        key_env, _ = jax.random.split(key_rollout)
        noise = jax.device_get(draw_all(jax.random.split(key_env, (config.unroll, batch_size))))
        for t in range(config.unroll):
            yield jax.tree.map(lambda x, t=t: x[t], noise)


def make(config, batch_size, seed):
    """The seed is not used. The quadrant that the agent is in is its room."""
    env = maze_of(config)
    noise = chances(env, config, batch_size)
    step_all = jax.jit(lambda stream, action, noise: stream_step(env, stream, action, noise))
    stream = None

    def reset():
        nonlocal stream
        stream = stream_reset(env, next(noise), batch_size)
        nothing = np.zeros(batch_size, np.float32)
        return HostStep(*map(np.asarray, (stream.obs, stream.first, stream.last)), nothing, nothing > 0, {}, {})

    def step(action):
        nonlocal stream
        stream, timestep = jax.device_get(step_all(stream, action, next(noise)))
        rows, columns = env.spec.map_shape
        row, column = np.divmod(timestep.info["cell"], columns)
        info = timestep.info | {"room": 2 * (row > rows // 2) + (column > columns // 2)}
        flags = (stream.obs, stream.first, stream.last)
        return HostStep(*flags, timestep.reward, timestep.terminated, info, timestep.episode)

    return HostEnvironment(env.spec, reset, step, close=lambda: None)


HOST = envs.Host(make, lambda config: maze_of(config).spec)


def on_host(config):
    return dataclasses.replace(config, env=config.env.replace("maze/", "host/"))

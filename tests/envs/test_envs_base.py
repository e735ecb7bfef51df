"""The stream of steps, on an environment small enough to work out by hand."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from curiax.envs.base import Environment, stream_reset, stream_step
from curiax.types import EnvSpec, TimeStep
from tests.support.conformance import check, rollout

LIMIT = 8
compiled_step = jax.jit(stream_step, static_argnums=0)


def counter(end: int = 1000) -> Environment:
    """Counts the actions 1 from a number drawn at reset; terminates at `end`, pays the action."""

    def step(state, action, noise):
        state = state + action.astype(jnp.float32)
        return state, TimeStep(
            obs=state[None],
            reward=action.astype(jnp.float32),
            terminated=state >= end,
            truncated=jnp.array(False),
            info={"noise": noise > 0.5},
            episode={"count": state},
        )

    return Environment(
        spec=EnvSpec("counter", observation_shape=(1,), num_actions=2, time_limit=LIMIT),
        draw=lambda key: jax.random.uniform(key),
        reset=lambda noise: (noise, noise[None]),
        step=step,
    )


def run(env, batch_size, num_steps, action=1):
    """Steps with one constant action and noise t/100; the streams and steps, a list each."""
    streams, steps = [stream_reset(env, jnp.zeros(batch_size), batch_size)], []
    for t in range(num_steps):
        noise = jnp.full(batch_size, (t + 1) / 100)
        stream, step = compiled_step(env, streams[-1], jnp.full(batch_size, action, jnp.int32), noise)
        streams.append(stream)
        steps.append(step)
    return streams, steps


def test_counter_conforms():
    check(counter())


def test_counter_that_terminates_conforms():
    check(counter(end=5))


def test_a_time_limit_truncates_and_does_not_terminate():
    _, steps = run(counter(), 1, LIMIT)
    assert [bool(step.truncated[0]) for step in steps] == [False] * (LIMIT - 1) + [True]
    assert not any(step.terminated[0] for step in steps)


def test_an_episode_that_ends_at_the_time_limit_terminates():
    _, steps = run(counter(end=LIMIT), 1, LIMIT)
    assert bool(steps[-1].terminated[0]) and not bool(steps[-1].truncated[0])


def test_the_final_observation_stays_in_the_stream_and_the_first_one_follows():
    streams, _ = run(counter(end=3), 1, 5)
    assert [float(stream.obs[0, 0]) for stream in streams] == pytest.approx([0, 1, 2, 3, 0.04, 1.04])
    assert [bool(stream.last[0]) for stream in streams] == [False, False, False, True, False, False]
    assert [bool(stream.first[0]) for stream in streams] == [True, False, False, False, True, False]


def test_the_action_at_a_reset_has_no_effect():
    env = counter(end=3)
    ended = run(env, 1, 3)[0][-1]
    noise = jnp.full(1, 0.25)
    left, _ = compiled_step(env, ended, jnp.zeros(1, jnp.int32), noise)
    right, step = compiled_step(env, ended, jnp.ones(1, jnp.int32), noise)
    assert jax.tree.all(jax.tree.map(np.array_equal, left, right))
    assert float(step.reward[0]) == 0 and float(right.state[0]) == 0.25


def test_a_reset_is_never_an_end():
    _, steps = run(counter(end=1), 1, 6)  # every step terminates, so every other one is a reset
    assert [bool(step.terminated[0]) for step in steps] == [True, False] * 3


def test_return_and_length_are_of_the_episode_and_start_over():
    _, steps = run(counter(end=3), 1, 5)
    assert [float(step.episode["return"][0]) for step in steps] == [1, 2, 3, 0, 1]
    assert [float(step.episode["length"][0]) for step in steps] == [1, 2, 3, 0, 1]


def test_ages_are_staggered_so_that_episodes_do_not_end_together():
    streams, _ = run(counter(), 4, LIMIT)
    assert streams[0].limit.tolist() == [8, 6, 4, 2]
    assert np.stack([stream.last for stream in streams]).sum(axis=1).max() == 1


def test_environments_of_a_batch_are_reset_one_by_one():
    streams, _ = run(counter(), 2, 5)  # the second is cut short after 4 steps, so it alone has ended
    np.testing.assert_allclose(streams[5].obs[:, 0], [5, 0.05])


def test_a_batch_is_its_environments_stepped_apart():
    env = counter(end=5)
    together = jax.tree.map(np.asarray, rollout(env, jax.random.key(0), 24, 4))
    for i in range(4):
        alone = jax.tree.map(lambda x, i=i: x[0, i : i + 1], together.before)
        for t in range(24):
            noise, action = together.noise[t, i : i + 1], together.action[t, i : i + 1]
            alone, _ = compiled_step(env, alone, action, noise)
        np.testing.assert_array_equal(alone.obs[0], together.after.obs[-1, i])

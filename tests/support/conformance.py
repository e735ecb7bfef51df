"""What every environment must satisfy: `check(env)` is called from the test file of each."""

from functools import partial
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from curiax.envs.base import Environment, Stream, stream_reset, stream_step
from curiax.types import TimeStep


class Rollout(NamedTuple):
    """A stream under the uniformly random policy; `before` and `after` are around each step."""

    before: Stream
    action: jax.Array
    noise: object
    step: TimeStep
    after: Stream


def rollout(env: Environment, key: jax.Array, num_steps: int, batch_size: int) -> Rollout:
    """T steps of B environments, everything kept, `[T, B, ...]`."""
    key_noise, key_action = jax.random.split(key)
    noise = draw_all(env, jax.random.split(key_noise, (num_steps + 1, batch_size)))
    action = jax.random.randint(key_action, (num_steps, batch_size), 0, env.spec.num_actions)
    return step_all(env, noise, action)


@partial(jax.jit, static_argnums=0)
def draw_all(env: Environment, keys: jax.Array) -> object:
    return jax.vmap(jax.vmap(env.draw))(keys)


@partial(jax.jit, static_argnums=0)
def step_all(env: Environment, noise: object, action: jax.Array) -> Rollout:
    """The first noise is the reset's. Apart from the drawing, which takes longest to compile."""
    start = stream_reset(env, jax.tree.map(lambda x: x[0], noise), action.shape[1])

    def advance(stream, inputs):
        after, step = stream_step(env, stream, *inputs)
        return after, Rollout(stream, *inputs, step, after)

    return jax.lax.scan(advance, start, (action, jax.tree.map(lambda x: x[1:], noise)))[1]


def check(env: Environment, num_steps: int = 48, batch_size: int = 8) -> None:
    """Raises AssertionError with the claim that does not hold."""
    env = env._replace(spec=env.spec._replace(time_limit=min(env.spec.time_limit, 16)))  # several episodes, soon
    one = rollout(env, jax.random.key(0), num_steps, batch_size)
    same(one, rollout(env, jax.random.key(0), num_steps, batch_size), "the same key gives the same stream")
    other = rollout(env, jax.random.key(1), num_steps, batch_size)
    assert differ(one, other), "another key gives another stream"
    check_spec(env, one)
    check_determinism(env)
    check_flags(one)
    check_final_observation(env, one)
    check_info(one)


def check_spec(env: Environment, run: Rollout) -> None:
    leading = run.action.shape
    _, first = env.reset(env.draw(jax.random.key(0)))
    assert first.shape == env.spec.observation_shape, "reset gives the shape of the spec"
    assert run.step.obs.shape == leading + env.spec.observation_shape, "step gives the shape of the spec"
    assert run.step.obs.dtype == first.dtype, "reset and step give one dtype"
    assert run.step.reward.dtype == jnp.float32 and run.step.reward.shape == leading, "a reward is one float32"
    for name in ("terminated", "truncated"):
        flag = getattr(run.step, name)
        assert flag.dtype == jnp.bool_ and flag.shape == leading, f"{name} is one bool"


def check_determinism(env: Environment) -> None:
    """Given its noise an environment has nothing left to draw, compiled or not."""
    noise = env.draw(jax.random.key(2))
    same(noise, jax.jit(env.draw)(jax.random.key(2)), "draw is the same compiled")
    fresh = env.reset(noise)
    same(fresh, env.reset(noise), "reset is deterministic given noise")
    same(fresh, jax.jit(env.reset)(noise), "reset is the same compiled")
    compiled = jax.jit(env.step)
    for action in range(env.spec.num_actions):
        stepped = env.step(fresh[0], jnp.int32(action), noise)
        same(stepped, env.step(fresh[0], jnp.int32(action), noise), "step is deterministic given noise")
        same(stepped, compiled(fresh[0], jnp.int32(action), noise), "step is the same compiled")


def check_flags(run: Rollout) -> None:
    step = run.step
    assert not np.any(step.terminated & step.truncated), "an episode ends in one way"
    assert np.any(run.after.last), "episodes end"
    same(run.after.last, step.terminated | step.truncated, "the last observation is where an episode ended")
    same(run.after.first, run.before.last, "the observation after the last is a first")


def check_final_observation(env: Environment, run: Rollout) -> None:
    """The stream holds the environment's own answer up to the end of an episode, and the reset's after it."""
    stepped = jax.jit(jax.vmap(jax.vmap(env.step)))(run.before.state, run.action, run.noise)[1].obs
    fresh = jax.jit(jax.vmap(jax.vmap(env.reset)))(run.noise)[1]
    reset = np.asarray(run.before.last)
    obs = np.asarray(run.step.obs)
    same(obs[~reset], np.asarray(stepped)[~reset], "the final observation stays in the stream")
    same(obs[reset], np.asarray(fresh)[reset], "the step after an episode's end is a reset")
    same(np.asarray(run.step.reward)[reset], np.zeros(reset.sum(), np.float32), "a reset pays nothing")


def check_info(run: Rollout) -> None:
    leading = run.action.shape
    assert "noise" in run.step.info, "info says which observations are noise"
    assert run.step.info["noise"].dtype == jnp.bool_, "an observation is noise or is not"
    assert {"return", "length"} <= run.step.episode.keys(), "an episode has a return and a length"
    for name, value in (run.step.info | run.step.episode).items():
        assert value.shape[:2] == leading, f"{name} is there for every step"
    for name, value in run.step.episode.items():
        assert value.dtype == jnp.float32 and value.shape == leading, f"{name} is one float32, to be averaged"


def same(left: object, right: object, claim: str) -> None:
    assert jax.tree.structure(left) == jax.tree.structure(right), claim
    jax.tree.map(lambda a, b: np.testing.assert_array_equal(a, b, err_msg=claim), left, right)


def differ(left: object, right: object) -> bool:
    pairs = zip(jax.tree.leaves(left), jax.tree.leaves(right), strict=True)
    return any(not np.array_equal(a, b) for a, b in pairs)

"""The adapter of JAX environments of others, on one made up here; and gymnax through it."""

from dataclasses import replace
from types import SimpleNamespace

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from curiax import envs
from curiax.config import LAPTOP
from curiax.config.presets import preset_for
from curiax.envs import gymnax
from curiax.envs.foreign import Answer, Foreign, adapt
from curiax.errors import UserError
from curiax.training.train import train
from tests.support.conformance import check, rollout

END = 7


def untidy(**changes):
    """Counts the steps, in whatever dtypes come; ends at END by itself. The state holds a key, as Craftax's does."""

    def observe(state):
        return jnp.array([state["count"], state["draw"]])

    def reset(key):
        state = {"count": 0, "draw": jax.random.uniform(key), "key": key}
        return observe(state), state

    def step(key, state, action):
        count = state["count"] + 1
        state = {"count": count, "draw": jax.random.uniform(key) + action, "key": key}
        reward = action + np.float32(0.5) if changes.get("mixed") else count * 2
        return Answer(observe(state), state, reward, count >= END, count < 0, {"count": count})

    return adapt(Foreign("made-up", 3, 100, reset, step, **{k: v for k, v in changes.items() if k != "mixed"}))


def test_an_untidy_environment_conforms():
    check(untidy(dear_reset=True), num_steps=20, batch_size=3)


def test_mixed_dtypes_are_forgiven_to_others_and_to_nobody_else():
    env = untidy(mixed=True)
    state, _ = env.reset(env.draw(jax.random.key(0)))
    _, step = env.step(state, jnp.int32(2), env.draw(jax.random.key(1)))
    assert step.reward == 2.5 and step.reward.dtype == jnp.float32
    with pytest.raises(Exception, match="promotion"):
        jnp.int32(2) + jnp.float32(0.5) + jnp.zeros(3, jnp.int32)


def test_dear_resets_give_the_same_stream_as_cheap_ones():
    cheap, dear = (rollout(untidy(dear_reset=dear), jax.random.key(0), 20, 3) for dear in (False, True))
    assert np.asarray(cheap.after.last).sum() > 3
    jax.tree.map(np.testing.assert_array_equal, cheap, dear)


def test_what_ends_of_itself_is_terminated_and_its_last_observation_stays():
    run = rollout(untidy(), jax.random.key(0), 20, 3)
    terminated = np.asarray(run.step.terminated)
    assert terminated.any()
    np.testing.assert_array_equal(np.asarray(run.step.obs)[terminated][:, 0], END)
    np.testing.assert_array_equal(np.asarray(run.step.obs)[np.asarray(run.after.first)][:, 0], 0)


@pytest.mark.slow
def test_gymnax_conforms():
    check(envs.make("gymnax/FourRooms-misc"), num_steps=20, batch_size=2)


def test_gymnax_says_what_ended_an_episode():
    """A pole that falls ends the episode itself; a walk among rooms ends by its limit only."""
    fallen = rollout(envs.make("gymnax/CartPole-v1"), jax.random.key(0), 60, 2)
    assert np.asarray(fallen.step.terminated).any() and not np.asarray(fallen.step.truncated).any()


def test_gymnax_of_either_version_tells_ends_from_limits():
    class Old:
        def is_terminal(self, state, params):
            return jnp.logical_or(state["fallen"], state["time"] >= params.max_steps_in_episode)

    class New(Old):
        def is_truncated(self, state, params):
            return state["time"] >= params.max_steps_in_episode

    class Params:
        max_steps_in_episode = 5

        def replace(self, max_steps_in_episode):
            other = Params()
            other.max_steps_in_episode = max_steps_in_episode
            return other

    late, fallen = {"fallen": jnp.array(False), "time": 5}, {"fallen": jnp.array(True), "time": 2}
    for env, state, done in ((Old(), late, True), (New(), late, False)):
        terminated, truncated = gymnax.ends(env, Params(), state, jnp.array(done))
        assert (bool(terminated), bool(truncated)) == (False, True)
    for env in (Old(), New()):
        terminated, truncated = gymnax.ends(env, Params(), fallen, jnp.array(True))
        assert (bool(terminated), bool(truncated)) == (True, False)


def test_gymnax_names_that_are_unknown_are_one_clear_line():
    with pytest.raises(UserError, match="Did you mean gymnax/CartPole-v1"):
        envs.check_name("gymnax/CartPole-v2")


def test_real_actions_fill_their_bounds_and_are_cut_off_beyond():
    box = SimpleNamespace(low=-2.0, high=jnp.array([2.0, 6.0]), shape=(2,))
    for action, taken in (([-1.0, 1.0], [-2, 6]), ([0.0, 0.0], [0, 2]), ([5.0, -9.0], [2, -2])):
        np.testing.assert_allclose(gymnax.within(box, jnp.array(action)), taken)
    spec = envs.make("gymnax/Pendulum-v1").spec
    assert (spec.num_actions, spec.action_parts, spec.time_limit) == (1, (), 200)


@pytest.mark.slow
def test_a_run_on_gymnax_trains():
    network = replace(LAPTOP.network, embedding=4, belief=4, feature_hidden=(4,))
    config = replace(
        preset_for("laptop", "gymnax/FourRooms-misc"),
        env="gymnax/FourRooms-misc",
        curiosity="rnd",
        env_steps=64,
        batch_size=2,
        unroll=8,
        log_every=2,
        network=network,
    )
    rows = list(train(config))
    assert [row.num_updates for row in rows] == [2, 4]
    assert all(np.isfinite(row.metrics["loss/distillation"]) and row.metrics["noise_dwell"] == 0 for row in rows)

"""Curiosity beside a loop of one's own scores episodes as the training program does: ends, beliefs, segments."""

import functools

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from curiax import curiosity as curiosities
from curiax.agent.distributions import distribution_for
from curiax.agent.policy import believe, make_agent
from curiax.agent.popart import popart_init
from curiax.agent.vmpo import init_duals
from curiax.agent.vmpo_sparse import FORMS
from curiax.curiosity.reward import bonus_init, grown_mean_and_scale, mean_and_scale, moments_init
from curiax.dropin import functions
from curiax.dropin.functions import DropInState, Memory
from curiax.envs.spaces import Segment
from curiax.training.learner import learner_losses
from curiax.types import Experience, LearnerParams, LearnerState, Trajectory
from tests.support.small_curiosity import RAW, B, T, make, segment


@pytest.mark.slow
def test_errors_and_rewards_are_those_of_the_training_program():
    """A segment in which no episode ends is a stream."""
    setup = make("byol-hindsight")._setup
    config, spec, key = setup.config, setup.spec, jax.random.key(5)
    agent = make_agent(config.network, spec, jax.random.key(1))
    world = functions.model_of(setup).init(jax.random.key(2), agent)
    obs, action, *_ = segment(ends=())
    none = jnp.zeros((T + 1, B), bool)
    trajectory = Trajectory(
        obs=jnp.asarray(np.concatenate([obs, obs[:1]])),
        first=none,
        last=none,
        action=jnp.asarray(action, jnp.int32),
        logits=jnp.zeros((T, B, 4)),
        reward=jnp.zeros((T, B)),
        terminated=none[1:],
        belief=jnp.full((B, config.network.belief), 0.5),
        previous_action=jnp.ones(B, jnp.int32),
        info={"noise": none[1:]},
        episode={},
    )
    duals = init_duals(FORMS[config.vmpo.form], distribution_for(spec))
    params = LearnerParams(agent, duals, world.params.curiosity)
    theirs = LearnerState(
        params, agent, world.critic, world.targets, (), bonus_init(), popart_init(), (), key, jnp.int32(0)
    )
    losses = functools.partial(learner_losses, config, curiosities.make(config, spec))
    _, scored = jax.jit(losses)(params, theirs, trajectory, jax.random.split(key)[1])

    state = DropInState(world, moments_init(), key)
    memory = Memory(trajectory.belief, trajectory.previous_action, none[0])
    pairs = Segment(trajectory.obs[:-1], trajectory.action, trajectory.obs[1:], none[1:], ~none[1:])
    rewards = functions.see(setup, state, memory, pairs).reward
    after, _, metrics = functions.update(setup, state, memory, pairs)
    np.testing.assert_allclose(rewards, scored.intrinsic, rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(metrics["error"], np.mean(scored.error), rtol=1e-5)
    mean, scale = mean_and_scale(scored.bonus.intrinsic, config.bonus.decay)
    np.testing.assert_allclose(grown_mean_and_scale(after.moments), (mean, scale), rtol=1e-5)
    assert rewards.max() > 0.5


@pytest.mark.parametrize("method", ["byol-explore", "icm", "dora"])
def test_an_episode_that_ends_within_is_scored_as_in_a_stream(method):
    """All trajectories end at step 2: a stream then holds their final observations as a step of its own."""
    setup = make(method, options={"world.horizon": 2})._setup
    curiosity = curiosities.make(setup.config, setup.spec)
    world = functions.initial_state(setup).world
    obs, action, next_obs, terminated, truncated = segment(ends=[(2, b) for b in range(B)])
    ended = terminated | truncated
    memory = functions.fresh_memory(setup, B)

    stream = np.concatenate([obs[:3], next_obs[2:3], obs[3:], next_obs[-1:]])
    acted = jnp.asarray(np.concatenate([action[:3], action[:1], action[3:]]), jnp.int32)
    valid = jnp.ones((T + 1, B), bool).at[3].set(False)
    first = jnp.zeros((T + 2, B), bool).at[np.array([0, 4])].set(True)

    def by_stream(params):
        belief = embedded = None
        if curiosity.trains_beliefs:
            previous = jnp.concatenate([memory.previous_action[None], acted])
            belief = believe(params.agent, memory.belief, jnp.asarray(stream), previous, first)
            embedded = params.agent.action_embedding[acted]
        experience = Experience(jnp.asarray(stream), acted, valid, belief, embedded)
        return curiosity.score(params.curiosity, world.critic, world.targets, experience, jax.random.key(0))

    def by_pairs(params):
        flags = jnp.asarray(ended), jnp.ones((T, B), bool)
        pairs = Segment(jnp.asarray(obs), jnp.asarray(action, jnp.int32), jnp.asarray(next_obs), *flags)
        experience_of = functools.partial(functions.experience_of, memory=memory, segment=pairs)
        return functions.model_of(setup).score(world._replace(params=params), experience_of, jax.random.key(0))

    expected, got = (jax.jit(f)(world.params) for f in (by_stream, by_pairs))
    np.testing.assert_allclose(got.error, np.delete(expected.error, 3, axis=0), rtol=1e-4, atol=1e-6)
    for name, loss in got.losses.items():
        masked, right = (np.where(x.mask, x.value, 0.0) for x in (loss, expected.losses[name]))
        np.testing.assert_allclose(masked, np.delete(right, 3, axis=-2), rtol=1e-4, atol=1e-6, err_msg=name)


def test_what_follows_an_end_is_next_obs_and_not_the_reset_observation():
    curiosity, data = make(**RAW), segment()
    rewards = curiosity.reward(*data)
    other = [array.copy() for array in data]
    other[2][2, 1] += 1  # the final observation of the episode that ends there
    changed = curiosity.reward(*other) != rewards
    assert changed[2, 1] and changed.sum() == 1


def test_beliefs_go_on_from_segment_to_segment():
    data = segment(ends=((1, 0),))
    early, late = ([array[part] for array in data] for part in (slice(0, 3), slice(3, T)))
    still = make("byol-explore", learning_rate=1e-12, **RAW)  # learns nothing, but moves on
    whole, alone = still.reward(*data)[3:], still.reward(*late)
    assert np.abs(whole - alone).min() > 1e-4  # beliefs matter
    still.update(*early)
    np.testing.assert_allclose(still.reward(*late), whole, rtol=1e-4, atol=1e-5)
    still.reset()
    np.testing.assert_allclose(still.reward(*late), alone, rtol=1e-4, atol=1e-5)
    early[3][-1] = True  # every episode ends with the first segment
    still.update(*early)
    np.testing.assert_allclose(still.reward(*late), alone, rtol=1e-4, atol=1e-5)


def test_another_number_of_trajectories_starts_afresh():
    curiosity = make("byol-explore", **RAW)
    curiosity.update(*segment())
    two = segment(1, batch_size=2)
    rewards = curiosity.reward(*two)
    curiosity.reset()
    np.testing.assert_array_equal(curiosity.reward(*two), rewards)

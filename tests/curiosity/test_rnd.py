"""Random network distillation: a fixed target, running statistics, and all of it in the checkpoint."""

from dataclasses import replace

import jax
import jax.numpy as jnp
import numpy as np

from curiax import envs
from curiax.config import Config, NetworkConfig, WorldConfig
from curiax.curiosity.rnd import RNDTargets, observe, rnd, whiten
from curiax.curiosity.world_model import masked_mean
from curiax.training.learner import make_learner
from curiax.training.run.checkpoints import from_arrays, to_arrays
from curiax.types import EnvSpec, Experience, LearnerState

T, B = 4, 3
SPEC = EnvSpec("none", observation_shape=(2,), num_actions=2, time_limit=100)
CONFIG = Config(
    curiosity="rnd",
    network=NetworkConfig(encoder_hidden=(5,), feature_hidden=(5,), embedding=4, belief=3),
    world=WorldConfig(hidden=(5,)),
)
KEY = jax.random.key(0)
RNG = np.random.default_rng(0)
OBS = jnp.asarray(RNG.normal(3, 2, (T + 1, B, 2)), jnp.float32)
VALID = jnp.ones((T, B), bool).at[2, 0].set(False)


def random_like(shapes):
    return jax.tree.map(lambda leaf: jnp.asarray(0.5 * RNG.standard_normal(leaf.shape), leaf.dtype), shapes)


def make_params():
    """The trained copy, and targets as they are before the first observation."""
    params, _, targets = jax.eval_shape(rnd(CONFIG, SPEC).init, KEY, ())
    return random_like(params), RNDTargets(random_like(targets.network), jnp.zeros(()), jnp.zeros(2), jnp.ones(2))


def statistics(mean, variance):
    return RNDTargets(make_params()[1].network, jnp.float32(10), jnp.array(mean), jnp.array(variance))


@jax.jit
def score(params, targets, obs):
    zeros = jnp.zeros((T + 1, B, 1))
    experience = Experience(obs, jnp.zeros((T, B), jnp.int32), VALID, zeros, zeros[:-1])
    return rnd(CONFIG, SPEC).score(params, (), targets, experience, KEY)


@jax.jit
def gradients(params, targets):
    def loss(params, targets):
        return masked_mean(score(params, targets, OBS).losses["distillation"])

    return jax.grad(loss, argnums=(0, 1))(params, targets)


def test_target_network_is_never_trained():
    params, targets = make_params()
    by_copy, by_targets = gradients(params, targets)
    assert all(np.any(leaf) for leaf in jax.tree.leaves(by_copy))
    assert not any(np.any(leaf) for leaf in jax.tree.leaves(by_targets.network))
    followed = rnd(CONFIG, SPEC).follow(targets, (), OBS[1:])
    jax.tree.map(np.testing.assert_array_equal, followed.network, targets.network)


def test_a_perfect_copy_is_not_curious():
    config = replace(CONFIG, world=replace(CONFIG.world, hidden=()))  # copy and target then have one shape
    targets = make_params()[1]
    zeros = jnp.zeros((T + 1, B, 1))
    experience = Experience(OBS, jnp.zeros((T, B), jnp.int32), VALID, zeros, zeros[:-1])
    output = rnd(config, SPEC).score(targets.network, (), targets, experience, KEY)
    np.testing.assert_array_equal(output.error, np.zeros((T, B)))


def test_a_transition_is_scored_by_the_observation_it_leads_to():
    params, targets = make_params()
    error = score(params, targets, OBS).error
    changed = score(params, targets, OBS.at[2, 1].add(1.0)).error != error
    np.testing.assert_array_equal(np.argwhere(changed), [[1, 1]])


def test_a_reset_is_not_scored():
    error = score(*make_params(), OBS).error
    np.testing.assert_array_equal(error > 0, VALID)


def test_whitening_statistics_are_those_of_all_observations_so_far():
    targets, batches = make_params()[1], [RNG.normal(3 * n, 1 + n, (T, B, 2)) for n in range(3)]
    for batch in batches:
        targets = observe(targets, jnp.asarray(batch, jnp.float32))
    everything = np.concatenate(batches).reshape(-1, 2)
    assert targets.count == 3 * T * B
    np.testing.assert_allclose(targets.mean, everything.mean(axis=0), rtol=1e-4)
    np.testing.assert_allclose(targets.variance, everything.var(axis=0), rtol=1e-4)


def test_whiten_golden():
    # mean 1 and 2, standard deviation 2 and 0.5: (5 − 1)/2 = 2, (1.5 − 2)/0.5 = −1
    obs = jnp.array([[[5.0, 1.5]]])
    np.testing.assert_allclose(whiten(statistics([1.0, 2.0], [4.0, 0.25]), obs), [[[2.0, -1.0]]], rtol=1e-5)


def test_whitened_observations_are_clipped_to_5():
    obs = jnp.array([[[1e3, -1e3]], [[4.9, -4.9]]])
    whitened = whiten(statistics([0.0, 0.0], [1.0, 1.0]), obs)
    np.testing.assert_allclose(whitened, [[[5.0, -5.0]], [[4.9, -4.9]]], rtol=1e-5)


def test_a_pixel_that_never_changes_is_whitened_to_zero():
    targets = observe(make_params()[1], jnp.full((T, B, 2), 3.0))
    np.testing.assert_allclose(whiten(targets, jnp.full((1, 1, 2), 3.0)), 0.0, atol=1e-3)


def test_follow_updates_the_statistics():
    targets = rnd(CONFIG, SPEC).follow(make_params()[1], (), OBS[1:])
    np.testing.assert_allclose(targets.mean, np.asarray(OBS[1:]).mean(axis=(0, 1)), rtol=1e-5)


STATISTICS = [
    *(f".targets.{name}" for name in ("count", "mean", "variance")),
    *(f".bonus.{part}.{name}" for part in ("intrinsic", "extrinsic") for name in ("count", "first", "second")),
    *(f".popart.{name}" for name in ("mean", "second_moment")),
]


def random_state(seed) -> LearnerState:
    """A learner's state of random numbers."""
    shapes = jax.eval_shape(make_learner(CONFIG, envs.make("maze/baseline")).init, KEY)
    return random_like(shapes._replace(key=()))._replace(key=jax.random.key(seed))


def test_statistics_of_observations_rewards_and_returns_are_in_the_checkpoint():
    one, other = random_state(0), random_state(1)
    saved, before = to_arrays(one), to_arrays(other)
    after = to_arrays(from_arrays(saved, like=other))
    for name in STATISTICS:
        assert not np.array_equal(before[name], saved[name])
        np.testing.assert_array_equal(after[name], saved[name])

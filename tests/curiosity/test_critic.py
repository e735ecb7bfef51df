"""The critic: energies of all pairs, and the contrastive value worked by hand."""

from dataclasses import replace

import equinox as eqx
import hypothesis.strategies as st
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis.extra.numpy import arrays

from curiax.config import Config, WorldConfig
from curiax.curiosity.measures.critic import (
    Concat,
    Separable,
    contrast,
    contrastive_value,
    critic_init,
    energies,
    make_critic,
    regroup,
)

K, CONTEXT, LATENT, HIDDEN = 3, 2, 4, (5, 6)

# Rows are contexts j, columns are hindsight vectors k.
#   row 0:  2 − log(e² + e⁰) + log 2 = 2 − 2.126928 + 0.693147 = 0.566219
#   row 1:  1 − log(e³ + e¹) + log 2 = 1 − 3.126928 + 0.693147 = −1.433781
# The sum over the other axis would give 2 − log(e² + e³) + log 2 = −0.620115 in row 0.
ENERGY = jnp.array([[2.0, 0.0], [3.0, 1.0]])
GOLDEN = [0.566219, -1.433781]


patient = settings(max_examples=50, deadline=None, suppress_health_check=[HealthCheck.too_slow])  # on busy machines
value = jax.jit(contrastive_value, static_argnums=2)
pairwise = jax.jit(energies)


def everywhere(energy):
    return jnp.ones(energy.shape[:-1], bool)


def make(form):
    """A critic, contexts and hindsight vectors, two batches of K."""
    rng = np.random.default_rng(0)
    shapes = jax.eval_shape(lambda: make_critic(form, CONTEXT, LATENT, HIDDEN, jax.random.key(0)))
    critic = jax.tree.map(lambda leaf: jnp.asarray(rng.standard_normal(leaf.shape), jnp.float32), shapes)
    context, z = rng.standard_normal((2, K, CONTEXT)), rng.standard_normal((2, K, LATENT))
    return critic, jnp.asarray(context, jnp.float32), jnp.asarray(z, jnp.float32)


def test_contrastive_value_golden():
    np.testing.assert_allclose(value(ENERGY, everywhere(ENERGY), 1.0), GOLDEN, rtol=1e-5)


def test_the_sum_runs_over_hindsight_vectors_and_not_over_contexts():
    # What is added to a row — a context that the critic likes whatever the z — changes nothing; to a column it does.
    by_row = value(ENERGY + jnp.array([[5.0], [-7.0]]), everywhere(ENERGY), 1.0)
    by_column = value(ENERGY + jnp.array([[5.0, -7.0]]), everywhere(ENERGY), 1.0)
    np.testing.assert_allclose(by_row, GOLDEN, rtol=1e-5)
    assert np.abs(by_column - jnp.array(GOLDEN)).min() > 0.1


def test_the_temperature_divides_the_energies():
    np.testing.assert_allclose(value(ENERGY / 2, everywhere(ENERGY), 0.5), GOLDEN, rtol=1e-5)
    np.testing.assert_allclose(value(ENERGY * 4, everywhere(ENERGY), 4.0), GOLDEN, rtol=1e-5)


def test_energies_that_do_not_tell_pairs_apart_have_value_zero():
    np.testing.assert_allclose(value(jnp.full((2, 4, 4), 3.0), jnp.ones((2, 4), bool), 0.5), 0.0, atol=1e-6)


def test_a_critic_that_tells_all_pairs_apart_attains_log_k():
    energy = 1e3 * jnp.eye(5)
    np.testing.assert_allclose(value(energy, everywhere(energy), 1.0), np.log(5.0), rtol=1e-5)


@patient
@given(arrays(np.float32, (4, 4), elements=st.floats(-1e3, 1e3, width=32)), arrays(bool, 4))
def test_contrastive_value_never_exceeds_log_k(energy, valid):
    result = np.asarray(value(jnp.asarray(energy), jnp.asarray(valid), 0.5))
    assert (result[valid] <= np.log(max(valid.sum(), 1)) + 1e-4).all()


def test_masked_columns_do_not_count():
    # The third trajectory is masked: what is left is the golden value, whatever its energies are.
    for other in (0.0, 50.0):
        energy = jnp.full((3, 3), other).at[:2, :2].set(ENERGY)
        result = value(energy, jnp.array([True, True, False]), 1.0)
        np.testing.assert_allclose(result[:2], GOLDEN, rtol=1e-5)


def test_masked_columns_get_no_gradient_and_the_rest_is_finite():
    valid = jnp.array([True, True, False])

    def total(energy):
        return jnp.sum(jnp.where(valid, value(energy, valid, 1.0), 0.0))

    gradient = jax.jit(jax.grad(total))(jnp.full((3, 3), 2.0).at[:2, :2].set(ENERGY))
    np.testing.assert_array_equal(gradient[:, 2], 0.0)
    assert np.isfinite(gradient).all() and np.abs(gradient[:2, :2]).min() > 0


def test_times_are_not_each_others_negatives():
    energy = jnp.stack([ENERGY, 10 * ENERGY])
    result = value(energy, everywhere(energy), 1.0)
    np.testing.assert_allclose(result[0], GOLDEN, rtol=1e-5)


def test_concat_energies_are_the_mlp_of_every_pair():
    critic, context, z = make("concat")
    assert isinstance(critic, Concat)
    mlp = jax.jit(lambda x: critic.mlp(x))
    pairs = [[mlp(jnp.concatenate([context[:, j], z[:, k]], axis=-1)) for k in range(K)] for j in range(K)]
    direct = np.transpose(np.array(pairs)[..., 0], (2, 0, 1))  # [j, k, batch] → [batch, j, k]
    np.testing.assert_allclose(pairwise(critic, context, z), direct, rtol=1e-4, atol=1e-5)


def test_separable_energies_are_scaled_inner_products():
    critic, context, z = make("separable")
    assert isinstance(critic, Separable)
    left, right = np.asarray(critic.context(context)), np.asarray(critic.latent(z))
    direct = np.array([rows @ columns.T for rows, columns in zip(left, right, strict=True)]) / np.sqrt(HIDDEN[-1])
    np.testing.assert_allclose(pairwise(critic, context, z), direct, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("form", ["concat", "separable"])
def test_energies_are_unbounded(form):
    critic, context, z = make(form)
    mlp, leaf = (critic.mlp, "mlp") if form == "concat" else (critic.context, "context")
    last = jax.tree.map(lambda leaf: 1e4 * leaf, mlp.layers[-1])
    scaled = eqx.tree_at(lambda module: module.layers[-1], mlp, last)
    plain, large = pairwise(critic, context, z), pairwise(critic._replace(**{leaf: scaled}), context, z)
    np.testing.assert_allclose(large, 1e4 * plain, rtol=1e-3, atol=1e-2)
    assert np.abs(large).max() > 100


@pytest.mark.slow
def test_a_batch_without_a_valid_step_leaves_the_critic_as_it_is():
    config = Config(world=WorldConfig(hidden=HIDDEN, latent=LATENT))
    critic, (_, context, z) = critic_init(config, CONTEXT, jax.random.key(0)), make("concat")
    after, _ = contrast(config, critic, context, z, jnp.zeros((2, K), bool), jax.random.key(0))
    jax.tree.map(np.testing.assert_array_equal, after.params, critic.params)


def test_more_steps_of_the_critic_find_more():
    world = WorldConfig(hidden=HIDDEN, critic_hidden=HIDDEN, latent=CONTEXT, half_life=0)
    key, context = jax.random.key(0), jax.random.normal(jax.random.key(1), (1, 6, K, CONTEXT))
    valid, found = jnp.ones((1, 6, K), bool), {}
    for steps in (1, 2, 30):
        config = Config(learning_rate=1e-2, world=replace(world, critic_steps=steps))
        critic = critic_init(config, CONTEXT, key)
        _, values = jax.jit(lambda critic, config=config: contrast(config, critic, context, context, valid, key))(
            critic
        )
        found[steps] = values.mean()
    assert found[1] < found[2] < found[30]  # z is the context itself


def test_new_groups_keep_each_pair_together():
    pairs = jnp.arange(2 * 3 * 4).reshape(2, 3, 4)
    context, z, valid = regroup(jax.random.key(0), jnp.stack([pairs, pairs + 100], axis=-1), pairs[..., None], pairs)
    np.testing.assert_array_equal(context[..., 0], valid)
    np.testing.assert_array_equal(context[..., 1], valid + 100)
    np.testing.assert_array_equal(z[..., 0], valid)
    for before, after in zip(pairs, valid, strict=True):
        assert sorted(after.ravel().tolist()) == before.ravel().tolist() and not np.array_equal(before, after)

"""EMI: its four terms against numpy, and what is paid."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from curiax.config import Config, NetworkConfig, WorldConfig
from curiax.curiosity.representations.emi import emi, jsd_bound, kl_to_normal, linear_dynamics, stranger
from curiax.types import EnvSpec, Experience

T, B, D, A = 4, 3, 4, 3
SPEC = EnvSpec("none", observation_shape=(2,), num_actions=A, time_limit=100)
CONFIG = Config(
    network=NetworkConfig(encoder_hidden=(5,), feature_hidden=(5,), embedding=D, belief=3),
    world=WorldConfig(hidden=(5,)),
)
KEY = jax.random.key(0)
VALID = np.ones((T, B), bool)
VALID[1, 0] = False


def make_experience() -> Experience:
    rng = np.random.default_rng(0)
    return Experience(
        obs=jnp.asarray(rng.standard_normal((T + 1, B, 2)), jnp.float32),
        action=jnp.asarray(rng.integers(0, A, (T, B)), jnp.int32),
        valid=jnp.asarray(VALID),
        belief=jnp.zeros((T + 1, B, 3)),
        action_embedding=jnp.zeros((T, B, 2)),
    )


EXPERIENCE = make_experience()


def make_params():
    rng = np.random.default_rng(1)
    shapes = jax.eval_shape(lambda: linear_dynamics(CONFIG, SPEC).init(KEY, ())[0])
    return jax.tree.map(lambda leaf: jnp.asarray(0.5 * rng.standard_normal(leaf.shape), leaf.dtype), shapes)


PARAMS = make_params()


@pytest.fixture(scope="module")
def represented():
    return linear_dynamics(CONFIG, SPEC).represent(PARAMS, (), EXPERIENCE)


@pytest.fixture(scope="module")
def parts():
    """φ, φ', ψ, S by the networks alone."""
    features = np.asarray(PARAMS["encoder"](EXPERIENCE.obs))
    action = np.asarray(EXPERIENCE.action)
    seen = np.asarray(PARAMS["error_encoder"](EXPERIENCE.obs[:-1]))
    error = np.asarray(
        PARAMS["error"](jnp.asarray(np.concatenate([seen, np.eye(A, dtype=np.float32)[action]], axis=-1)))
    )
    return features[:-1], features[1:], np.asarray(PARAMS["action"])[action], error


def softplus(x):
    return np.log1p(np.exp(x))


def test_the_residual_is_what_linear_dynamics_leave_over(represented, parts):
    phi, phi_next, psi, error = parts
    loss = represented.losses["dynamics"]
    np.testing.assert_allclose(loss.value, ((phi_next - phi - psi - error) ** 2).mean(axis=-1), rtol=1e-4)
    np.testing.assert_array_equal(loss.mask, VALID)


def test_the_penalty_is_the_square_of_what_is_not_linear(represented, parts):
    loss = represented.losses["error_penalty"]
    np.testing.assert_allclose(loss.value, (parts[3] ** 2).mean(axis=-1), rtol=1e-4)
    np.testing.assert_array_equal(loss.mask, VALID)


def test_information_is_the_sum_of_two_jensen_shannon_bounds(represented, parts):
    phi, phi_next, psi, _ = parts
    loss = represented.losses["information"]
    for t, b in np.ndindex(T, B):
        other = (t - T // 2) % T, (b - 1) % B
        triples = {
            "next_statistics": (phi[t, b], psi[t, b], phi_next[other]),
            "action_statistics": (phi[t, b], psi[other], phi_next[t, b]),
        }
        bounds = 0.0
        for network, apart in triples.items():
            joint = np.concatenate([phi[t, b], psi[t, b], phi_next[t, b]])
            inputs = jnp.asarray(np.stack([joint, np.concatenate(apart)]))
            together, not_together = np.asarray(PARAMS[network](inputs))[:, 0]
            bounds += np.log(4) - softplus(-together) - softplus(not_together)
        np.testing.assert_allclose(loss.value[t, b], -bounds, rtol=1e-4)
        assert loss.mask[t, b] == (VALID[t, b] and VALID[other])


def test_the_prior_is_the_kl_of_the_action_embeddings(represented, parts):
    psi = parts[2][VALID]
    mean, variance = psi.mean(axis=0), psi.var(axis=0)
    expected = 0.5 * np.mean(variance + mean**2 - 1 - np.log(variance))
    np.testing.assert_allclose(represented.losses["prior"].value, expected, rtol=1e-4)


def test_the_target_is_the_embedding_of_the_next_observation(represented, parts):
    np.testing.assert_allclose(represented.target, parts[1], rtol=1e-5)


def test_the_residual_is_paid_and_a_reset_is_not(represented):
    output = emi(CONFIG, SPEC).score(PARAMS, (), (), EXPERIENCE, KEY)
    np.testing.assert_allclose(output.error, np.where(VALID, represented.losses["dynamics"].value, 0), rtol=1e-6)
    assert (np.asarray(output.error)[VALID] > 0).all()


def test_jsd_bound_golden():
    # A network that says nothing: −2 log 2 + log 4 = 0. One that is sure and right: log 4. Sure and wrong: far below.
    bound = jsd_bound(jnp.array([0.0, 50.0, -50.0]), jnp.array([0.0, -50.0, 50.0]))
    np.testing.assert_allclose(bound, [0.0, np.log(4), np.log(4) - 100], atol=1e-6)


def test_kl_golden_and_least_at_the_standard_normal():
    everything = jnp.ones((2, 1), bool)
    # values 1 and 3: mean 2, variance 1: (1 + 4 − 1 − 0)/2 = 2;  −1 and 1: mean 0, variance 1: 0
    np.testing.assert_allclose(kl_to_normal(jnp.array([[[1.0]], [[3.0]]]), everything), 2.0, rtol=1e-5)
    np.testing.assert_allclose(kl_to_normal(jnp.array([[[-1.0]], [[1.0]]]), everything), 0.0, atol=1e-5)


def test_kl_of_a_single_action_is_finite_with_a_finite_gradient():
    value, grad = jax.value_and_grad(kl_to_normal)(jnp.ones((3, 2, 4)), jnp.ones((3, 2), bool))
    assert np.isfinite(value) and value > 5 and np.isfinite(grad).all()


def test_kl_does_not_see_invalid_steps():
    x, valid = jnp.ones((3, 2, 4)).at[0, 0].set(7.0), jnp.ones((3, 2), bool).at[0, 0].set(False)
    np.testing.assert_allclose(kl_to_normal(x, valid), kl_to_normal(jnp.ones((3, 2, 4)), valid), rtol=1e-6)


@pytest.mark.parametrize("shape", [(4, 3), (5, 1), (2, 2)])
def test_a_stranger_is_someone_else(shape):
    x = jnp.arange(np.prod(shape)).reshape(shape)
    moved = np.asarray(stranger(x))
    assert (moved != np.asarray(x)).all() and sorted(moved.ravel()) == list(range(x.size))

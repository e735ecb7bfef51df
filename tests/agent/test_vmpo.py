"""V-MPO's loss, worked by hand on four steps."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from curiax.agent.distributions import distribution_of
from curiax.agent.vmpo import PAPER, TOP_FRACTION, init_duals, project_duals, vmpo_losses, weighted_losses
from curiax.config import VMPOConfig

# Two time steps of two trajectories. The better half by advantage is (0, 0) with 1 and (1, 1) with 2.
# η = 1:  ψ = softmax(1, 2) = 0.268941, 0.731059
ADVANTAGE = jnp.array([[1.0, 0.0], [-1.0, 2.0]])
ACTION = jnp.array([[0, 1], [1, 1]], jnp.int32)
ACTING = jnp.zeros((2, 2, 2))
LOGITS = ACTING.at[0, 0, 0].set(jnp.log(3.0))  # π = (0.75, 0.25) at (0, 0), uniform elsewhere
ALL = jnp.ones((2, 2), bool)
CONFIG = VMPOConfig(epsilon_temperature=0.01, epsilon_alpha=0.005)
FORM = PAPER._replace(temperature=1.0, alpha=0.5)
KL = 0.143841  # of (0.5, 0.5) from (0.75, 0.25): 0.5 log(0.5/0.75) + 0.5 log(0.5/0.25)


def duals():
    return init_duals(FORM)


def policy_loss(duals, logits, advantage, valid, acting, action):
    return vmpo_losses(CONFIG, duals, logits, acting, action, advantage, valid).policy


compute = jax.jit(vmpo_losses, static_argnums=0)
differentiate = jax.jit(jax.value_and_grad(policy_loss, argnums=(0, 1)))


def evaluate(logits=LOGITS, advantage=ADVANTAGE, valid=ALL, acting=ACTING, action=ACTION, **changed):
    """The loss, and its gradients by the duals and by the logits."""
    return differentiate(duals() | changed, logits, advantage, valid, acting, action)


@jax.jit
def evaluate_all(logits, advantage, valid, acting, action):
    """The same where the policy follows every valid step."""

    def loss(duals, logits):
        terms = distribution_of(action).terms(logits, acting, action)
        return weighted_losses(CONFIG, duals, duals["temperature"], terms, advantage, valid, valid).policy

    return jax.value_and_grad(loss, argnums=(0, 1))(duals(), logits)


def test_loss_golden():
    # L_π = −0.268941 log 0.75 − 0.731059 log 0.5                        = 0.584101
    # L_η = 0.01 + log((e¹ + e²)/2)                                      = 1.630114
    # L_α = 0.5 (0.005 − KL) + 0.5 KL, its value whatever the KL         = 0.0025
    np.testing.assert_allclose(evaluate()[0], 0.584101 + 1.630114 + 0.0025, rtol=1e-5)


def test_gradient_of_the_temperature_golden():
    # ∂L_η/∂η at η = 1: ε_η + log mean exp A − Σ ψ A = 1.630114 − (0.268941·1 + 0.731059·2) = −0.100945
    gradient, _ = evaluate()[1]
    np.testing.assert_allclose(gradient["temperature"], -0.100945, rtol=1e-4)


def test_gradient_of_the_kl_multiplier_golden():
    # ∂L_α/∂α = ε_α − mean KL = 0.005 − 0.143841/4 = −0.030960: it grows where the limit is broken
    gradient, _ = evaluate()[1]
    np.testing.assert_allclose(gradient["alpha"], 0.005 - KL / 4, rtol=1e-4)


def test_gradient_of_the_logits_golden():
    # −ψ (onehot(a) − π) + (α/4) (π − π_acting)
    # (0, 0): −0.268941·(0.25, −0.25) + 0.125·(0.25, −0.25) = (−0.035985, 0.035985)
    # (1, 1): −0.731059·(−0.5, 0.5) + 0 = (0.365530, −0.365530)
    _, gradient = evaluate()[1]
    expected = np.zeros((2, 2, 2))
    expected[0, 0] = [-0.035985, 0.035985]
    expected[1, 1] = [0.365530, -0.365530]
    np.testing.assert_allclose(gradient, expected, atol=1e-5)


def test_only_the_top_half_is_followed():
    low = ADVANTAGE.at[1, 0].set(-7.0).at[0, 1].set(0.5)  # still the lower half
    np.testing.assert_allclose(evaluate(advantage=low)[0], evaluate()[0])
    _, followed = evaluate(logits=ACTING)[1]  # no KL: what is left is L_π
    np.testing.assert_array_equal(np.abs(followed).sum(axis=-1) > 0, [[True, False], [False, True]])


def test_a_low_temperature_follows_the_best_step_alone():
    _, gradient = evaluate(logits=ACTING, temperature=jnp.float32(0.05))[1]
    # −1·(onehot − π) at the best step; 2e-9 is what e^{−1/0.05} leaves for the second best
    np.testing.assert_allclose(gradient[1, 1], [0.5, -0.5], atol=1e-6)
    np.testing.assert_allclose(gradient[0, 0], [0.0, 0.0], atol=1e-6)


@pytest.mark.parametrize("changed", ["advantage", "logits", "acting", "action"])
def test_masked_steps_have_no_influence(changed):
    valid = ALL.at[0, 0].set(False)
    batch = {"logits": LOGITS, "advantage": ADVANTAGE, "acting": ACTING, "action": ACTION}
    other = {
        "logits": LOGITS.at[0, 0].set(jnp.array([-2.0, 5.0])),
        "advantage": ADVANTAGE.at[0, 0].set(9.0),
        "acting": ACTING.at[0, 0].set(jnp.array([-2.0, 5.0])),
        "action": ACTION.at[0, 0].set(1),
    }
    pairs = jax.tree.map(np.allclose, evaluate(**batch), evaluate(**batch | {changed: other[changed]}))
    assert not jax.tree.all(pairs)  # they have when not masked
    value, gradient = evaluate(**batch, valid=valid)
    other_value, other_gradient = evaluate(**batch | {changed: other[changed]}, valid=valid)
    np.testing.assert_allclose(other_value, value, rtol=1e-6)
    jax.tree.map(lambda a, b: np.testing.assert_allclose(a, b, atol=1e-7), other_gradient, gradient)
    np.testing.assert_array_equal(gradient[1][0, 0], [0.0, 0.0])


def test_masked_steps_count_as_if_they_were_not_there():
    whole = {"logits": LOGITS, "advantage": ADVANTAGE, "acting": ACTING, "action": ACTION}
    first = {name: array[:1] for name, array in whole.items()}
    valid = jnp.array([[True, True], [False, False]])
    masked, masked_gradient = evaluate_all(**whole, valid=valid)
    alone, alone_gradient = evaluate_all(**first, valid=valid[:1])
    np.testing.assert_allclose(masked, alone, rtol=1e-6)
    np.testing.assert_allclose(masked_gradient[1][:1], alone_gradient[1], rtol=1e-5, atol=1e-7)
    jax.tree.map(lambda a, b: np.testing.assert_allclose(a, b, rtol=1e-5), masked_gradient[0], alone_gradient[0])


def test_kl_golden_and_zero_where_policies_agree():
    losses = compute(CONFIG, duals(), LOGITS, ACTING, ACTION, ADVANTAGE, ALL)
    np.testing.assert_allclose(losses.kl, [[KL, 0.0], [0.0, 0.0]], atol=1e-6)


def test_kl_is_of_the_acting_policy_from_the_new_one_and_not_the_reverse():
    # KL((0.75, 0.25) ‖ (0.5, 0.5)) = 0.75 log 1.5 + 0.25 log 0.5 = 0.130812
    losses = compute(CONFIG, duals(), ACTING, LOGITS, ACTION, ADVANTAGE, ALL)
    np.testing.assert_allclose(losses.kl[0, 0], 0.130812, rtol=1e-5)


def test_entropy_golden():
    # of (0.75, 0.25): 0.562335;  of (0.5, 0.5): log 2
    losses = compute(CONFIG, duals(), LOGITS, ACTING, ACTION, ADVANTAGE, ALL)
    np.testing.assert_allclose(losses.entropy, [[0.562335, 0.693147], [0.693147, 0.693147]], rtol=1e-5)


def test_advantages_are_constants():
    by_advantage = jax.jit(jax.grad(policy_loss, argnums=2))
    gradient = by_advantage(duals(), LOGITS, ADVANTAGE, ALL, ACTING, ACTION)
    np.testing.assert_array_equal(gradient, np.zeros((2, 2)))


def test_duals_are_projected_to_1e_8_and_otherwise_left_alone():
    projected = project_duals({"temperature": jnp.float32(-3.0), "alpha": jnp.float32(0.25)})
    np.testing.assert_allclose(projected["temperature"], 1e-8, rtol=1e-6)
    assert projected["alpha"] == 0.25


@pytest.mark.parametrize("seed", [0, 1])
@pytest.mark.parametrize("masked", [False, True])
def test_value_and_gradients_are_those_of_rlax(seed, masked):
    import rlax  # slow to import, and workers collect every file

    logits, acting = jax.random.normal(jax.random.key(seed), (2, 8, 4, 3))
    key_action, key_advantage, key_valid = jax.random.split(jax.random.key(seed + 10), 3)
    action = jax.random.randint(key_action, (8, 4), 0, 3)
    advantage = jax.random.normal(key_advantage, (8, 4))
    valid = jax.random.bernoulli(key_valid, 0.8, (8, 4)) if masked else jnp.ones((8, 4), bool)

    def theirs(duals, logits):
        weight = valid.astype(jnp.float32)
        terms = distribution_of(action).terms(logits, acting, action)
        limit = rlax.LagrangePenalty(duals["alpha"], jnp.float32(CONFIG.epsilon_alpha))
        losses, _ = rlax.vmpo_loss(
            sample_log_probs=terms.log_prob,
            advantages=advantage,
            temperature_constraint=rlax.LagrangePenalty(duals["temperature"], jnp.float32(CONFIG.epsilon_temperature)),
            kl_constraints=[(terms.kls["alpha"] * weight / weight.mean(), limit)],  # rlax does not mask the KL
            restarting_weights=weight,
            top_k_fraction=TOP_FRACTION,
        )
        return jnp.mean(jnp.asarray(losses))

    with jax.numpy_dtype_promotion("standard"):  # rlax relies on it
        expected = jax.jit(jax.value_and_grad(theirs, argnums=(0, 1)))(duals(), logits)
    found = evaluate(logits, advantage, valid, acting, action)
    jax.tree.map(lambda a, b: np.testing.assert_allclose(a, b, rtol=1e-4, atol=1e-6), found, expected)

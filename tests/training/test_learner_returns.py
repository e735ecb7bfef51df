"""What an update pays: returns are made of the bonus, and respect the ends of episodes."""

from dataclasses import replace

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from curiax import curiosity as curiosities
from curiax.agent.policy import believe
from curiax.training.learner import learner_losses
from curiax.types import CuriosityOutput, LearnerState
from tests.support.small_learner import (
    CONFIG,
    ENV,
    KEY,
    PAID,
    START,
    B,
    T,
    close,
    evaluate,
    finite,
    make_state,
    make_trajectory,
    total,
)


@pytest.mark.parametrize("method", [*(name for name in curiosities.METHODS if name != "random-policy"), PAID])
def test_terminal_step_does_not_see_the_next_episode(method):
    config = replace(CONFIG, curiosity=method)
    state = make_state(config)

    def outcome(trajectory, change):
        obs = trajectory.obs.at[T, 0].add(change)  # after an end, the first observation of the next episode
        loss, scored = evaluate(config, state.params, state, trajectory._replace(obs=obs))
        return loss, scored.returns, scored.intrinsic, scored.bonus

    ended, going_on = make_trajectory(ends=[(T - 1, 0)]), make_trajectory()
    before = outcome(ended, 0.0)
    assert finite(before) and before[2][T - 1, 0] == 0
    assert close(before, outcome(ended, 3.0))
    assert not close(outcome(going_on, 0.0), outcome(going_on, 3.0))


ENDS = make_trajectory(ends=[(2, 0), (2, 1)], terminated=[(1, 0)])  # the first terminates, the second is cut off


def paid(policy, error, state: LearnerState):
    """The loss, by the policy's weights, where curiosity pays a given error and trains nothing."""
    curiosity = curiosities.make(CONFIG, ENV.spec)._replace(score=lambda *_: CuriosityOutput({}, error, {}))
    params = state.params._replace(agent=state.params.agent._replace(policy=policy))
    losses, scored = learner_losses(CONFIG, curiosity, params, state, ENDS, KEY)
    previous = jnp.concatenate([ENDS.previous_action[None], ENDS.action])
    belief = believe(params.agent, ENDS.belief, ENDS.obs, previous, ENDS.first)
    return total(losses), (scored, params.agent.value(belief)[..., 0])


differentiate_paid = jax.jit(jax.grad(paid, has_aux=True))
ERROR = np.random.default_rng(1).uniform(0, 4, (T, B))


def evaluate_paid(error):
    gradient, (scored, value) = differentiate_paid(START.params.agent.policy, jnp.asarray(error, jnp.float32), START)
    return gradient, np.asarray(scored.returns), np.asarray(scored.intrinsic), np.asarray(value)


def test_returns_are_made_of_the_bonus():
    # γ = 0.5, λ = 1, no end: G_0 = Σ_k 0.5^k (1 − 0.5) r_k + 0.5^T V_T, r = max((error − μ)/σ, 0)
    _, returns, intrinsic, value = evaluate_paid(ERROR)
    valid = np.asarray(ENDS.valid)
    mean, scale = ERROR[valid].mean(), ERROR[valid].std()
    bonus = np.where(valid, np.maximum((ERROR - mean) / scale, 0), 0)
    np.testing.assert_allclose(intrinsic, bonus, rtol=1e-3, atol=1e-4)
    for b in (2, 3):
        expected = sum(0.5**k * 0.5 * intrinsic[k, b] for k in range(T)) + 0.5**T * value[T, b]
        np.testing.assert_allclose(returns[0, b], expected, rtol=1e-4)


def test_the_policy_sees_the_bonus():
    gradients = [evaluate_paid(error)[0] for error in (ERROR, ERROR[::-1].copy())]
    assert finite(gradients) and not close(*gradients)


def test_termination_has_discount_zero_and_truncation_bootstraps_from_the_final_observation():
    _, returns, intrinsic, value = evaluate_paid(ERROR)
    np.testing.assert_allclose(returns[1, 0], 0.5 * intrinsic[1, 0], rtol=1e-5)
    np.testing.assert_allclose(returns[1, 1], 0.5 * intrinsic[1, 1] + 0.5 * value[2, 1], rtol=1e-5)

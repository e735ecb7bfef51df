"""One update: what is paid, who is trained, and in which order."""

from dataclasses import replace

import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest

from curiax import curiosity as curiosities
from curiax.agent.popart import unnormalise
from curiax.curiosity.representations.byol import DECAY
from curiax.curiosity.world_model import masked_mean
from curiax.training.learner import learner_losses, make_learner
from curiax.training.run.checkpoints import from_arrays, to_arrays
from tests.support.small_learner import (
    CONFIG,
    ENV,
    KEY,
    START,
    TRAJECTORY,
    close,
    equal,
    evaluate,
    finite,
    learn,
    make_state,
)


def test_the_same_seed_gives_the_same_numbers():
    learner = make_learner(CONFIG, ENV)

    def run(key):
        state, metrics = jax.lax.scan(lambda state, _: learner.update(state), learner.init(key), length=2)
        return state._replace(key=jax.random.key_data(state.key)), metrics

    run = jax.jit(run)
    one, again, other = run(jax.random.key(0)), run(jax.random.key(0)), run(jax.random.key(1))
    assert finite(one) and equal(one, again)
    assert not close(one, other)


def test_a_restored_state_goes_on_as_if_never_interrupted():
    middle, _ = learn(CONFIG, START, TRAJECTORY)
    restored = from_arrays(to_arrays(middle), like=START)
    one, other = (learn(CONFIG, state, TRAJECTORY) for state in (middle, restored))
    assert equal((to_arrays(one[0]), one[1]), (to_arrays(other[0]), other[1]))


@pytest.mark.slow
def test_several_passes_are_steps_for_the_same_rewards_and_one_update():
    learners = [make_learner(replace(CONFIG, passes=passes), ENV) for passes in (1, 3)]
    start = jax.jit(learners[0].init)(KEY)
    one, three = (jax.jit(learner.learn)(start, TRAJECTORY, KEY)[0] for learner in learners)
    assert int(three.num_updates) == 1 and close(three.bonus, one.bonus) and finite(three.params)
    assert [int(leaf) for leaf in jax.tree.leaves(three.optimizer) if leaf.dtype == jnp.int32] == [3, 3]  # Adam, decay
    moved = [optax.tree.norm(jax.tree.map(jnp.subtract, state.params, start.params)) for state in (one, three)]
    assert moved[1] > 1.5 * moved[0]


@pytest.mark.parametrize("loss", ["policy", "value"])
@pytest.mark.parametrize("method", ["byol-hindsight", "rnd", "icm"])
def test_policy_and_value_train_the_beliefs_whatever_the_curiosity(method, loss):
    config = replace(CONFIG, curiosity=method)
    state, curiosity = make_state(config), curiosities.make(config, ENV.spec)

    def mean_loss(params):
        return masked_mean(learner_losses(config, curiosity, params, state, TRAJECTORY, KEY)[0][loss])

    grads = jax.jit(jax.grad(mean_loss))(state.params)
    assert all(np.any(leaf) for leaf in jax.tree.leaves((grads.agent.encoder, grads.agent.core)))
    assert not any(np.any(leaf) for leaf in jax.tree.leaves(grads.curiosity))


def test_the_acting_policy_is_copied_every_target_period_and_not_between():
    states = [START]
    for _ in range(3):
        states.append(learn(CONFIG, states[-1], TRAJECTORY)[0])
    for before, after in ((0, 1), (2, 3)):
        assert equal(states[before].acting[:-1], states[after].acting[:-1])  # all but the value head, which is popped
    assert equal(states[2].acting, states[2].params.agent)
    assert not close(states[2].acting.policy, states[1].acting.policy)


def test_the_acting_copy_is_popped_too():
    after, _ = learn(CONFIG, START, TRAJECTORY)
    assert not close(after.acting.value, START.acting.value)
    before, then = (unnormalise(s.popart, s.acting.value(TRAJECTORY.belief)) for s in (START, after))
    np.testing.assert_allclose(then, before, rtol=1e-5)


def test_the_target_encoder_follows_the_updated_encoder():
    after, _ = learn(CONFIG, START, TRAJECTORY)
    expected = jax.tree.map(lambda old, new: DECAY * old + (1 - DECAY) * new, START.targets, after.params.agent.encoder)
    assert close(after.targets, expected)
    assert not close(after.params.agent.encoder, START.params.agent.encoder)


def test_duals_stay_positive():
    # The KL is far below its limit 10: one step would take α from 0.5 to about 0.5 − 0.1·10.
    after, metrics = learn(CONFIG, START, TRAJECTORY)
    np.testing.assert_allclose([after.params.duals["alpha"], metrics["alpha"]], 1e-8, rtol=1e-6)


def test_rewards_come_from_the_parameters_before_the_update():
    after, metrics = learn(CONFIG, START, TRAJECTORY)
    _, before = evaluate(CONFIG, START.params, START, TRAJECTORY)
    _, later = evaluate(CONFIG, after.params, START, TRAJECTORY)
    for name in ("intrinsic_reward/sum", "error_elsewhere/sum"):
        np.testing.assert_allclose(metrics[name], before.metrics[name], rtol=1e-4)
        assert not np.allclose(metrics[name], later.metrics[name], rtol=1e-4)
    assert close(after.bonus, before.bonus)


def weights(params):
    """Without biases: the softmax cancels one, and of the rounding errors that are its gradient Adam makes a step."""
    return [leaf for leaf in jax.tree.leaves(params) if leaf.ndim == 2]


def test_an_update_keeps_the_critic_after_its_step():
    after, _ = learn(CONFIG, START, TRAJECTORY)
    _, scored = evaluate(CONFIG, START.params, START, TRAJECTORY)
    kept, stepped_once, before = (weights(state.params) for state in (after.critic, scored.critic, START.critic))
    assert close(kept, stepped_once) and not close(kept, before)
    stepped = evaluate(CONFIG, START.params, START._replace(critic=after.critic), TRAJECTORY)[1]
    assert stepped.metrics["contrastive_value"] > scored.metrics["contrastive_value"] + 1e-5


def test_errors_are_measured_by_the_target_encoder():
    other = START._replace(targets=jax.tree.map(jnp.negative, START.targets))
    one, other = (evaluate(CONFIG, START.params, state, TRAJECTORY)[1].intrinsic for state in (START, other))
    assert np.abs(one - other).max() > 0.1


def test_the_loss_is_the_weighted_sum():
    weights = {"policy": 1, "value": 0.5, "entropy": CONFIG.vmpo.entropy_weight}
    weights |= {"reconstruction": CONFIG.world.reconstruction_weight, "invariance": 1}
    loss, _ = evaluate(CONFIG, START.params, START, TRAJECTORY)
    _, metrics = learn(CONFIG, START, TRAJECTORY)
    means = {name.removeprefix("loss/"): float(mean) for name, mean in metrics.items() if name.startswith("loss/")}
    assert means.keys() == weights.keys()
    np.testing.assert_allclose(loss, sum(weights[name] * mean for name, mean in means.items()), rtol=1e-5)


@pytest.mark.slow
def test_a_solved_temperature_is_remembered_and_a_learned_one_moves_by_its_gradient():
    solved = replace(CONFIG, vmpo=replace(CONFIG.vmpo, form="sparse"))
    for config in (solved, CONFIG):
        state = make_state(config)
        new, metrics = learn(config, state, TRAJECTORY)
        used = evaluate(config, state.params, state, TRAJECTORY)[1].temperature
        np.testing.assert_allclose(metrics["temperature"], new.params.duals["temperature"], rtol=1e-6)
        assert (config == solved) == bool(np.isclose(new.params.duals["temperature"], used, rtol=1e-5))

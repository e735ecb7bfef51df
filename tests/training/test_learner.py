"""One update: what is paid, who is trained, and in which order."""

from dataclasses import replace

import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest

from curiax import curiosity as curiosities
from curiax.agent.policy import believe
from curiax.agent.popart import popart_init, unnormalise
from curiax.agent.vmpo import init_duals
from curiax.agent.vmpo_sparse import FORMS
from curiax.config import Config, NetworkConfig, VMPOConfig, WorldConfig
from curiax.curiosity.base import SLOWEST, decay_of
from curiax.curiosity.measures.critic import CriticState, critic_optimizer
from curiax.curiosity.representations.byol import DECAY
from curiax.curiosity.reward import bonus_init
from curiax.curiosity.world_model import (
    MAX_GRADIENT_NORM,
    descend,
    make_optimizer,
    masked_mean,
    masked_means,
    weighted_sum,
)
from curiax.envs.base import Environment
from curiax.training.learner import learner_learn, learner_losses, make_learner
from curiax.training.run.checkpoints import from_arrays, to_arrays
from curiax.types import CuriosityOutput, EnvSpec, LearnerState, Loss, TimeStep, Trajectory

T, B, A = 5, 4, 3
PAID = "byol+hindsight-contrast-paid"  # whose reward also holds the contrastive loss
CONFIG = Config(
    curiosity=PAID,
    batch_size=B,
    unroll=T,
    network=NetworkConfig(encoder_hidden=(), feature_hidden=(), embedding=4, belief=4),
    world=WorldConfig(hidden=(5,), critic_hidden=(5,), layer_norm=False, latent=3, noise=2, contrast_share=1.0),
    vmpo=VMPOConfig(target_period=2, discount=0.5, return_lambda=1.0, epsilon_alpha=10.0),
)
KEY = jax.random.key(3)
SGD = optax.sgd(0.1)  # not Adam, whose first step hardly depends on the size of a gradient
QUICK = {"xla_backend_optimization_level": 0}  # compiling these programs is what costs, not running them


def walk() -> Environment:
    """Adds to the coordinate of the action; an episode ends by chance, or after four steps."""

    def step(state, action, noise):
        state = state + jax.nn.one_hot(action, A)
        none = jnp.array(False)
        return state, TimeStep(state, state[0], noise[0] > 0.9, none, {"noise": none}, {})

    return Environment(
        spec=EnvSpec("walk", observation_shape=(A,), num_actions=A, time_limit=4),
        draw=lambda key: jax.random.uniform(key, (A,)),
        reset=lambda noise: (noise, noise),
        step=step,
    )


ENV = walk()


def make_state(config: Config) -> LearnerState:
    """The state of a learner before its first update, its weights random."""
    rng = np.random.default_rng(1)
    shapes = jax.eval_shape(make_learner(config, ENV).init, KEY)._replace(key=(), optimizer=())
    state = jax.tree.map(lambda leaf: jnp.asarray(rng.uniform(0.1, 1, leaf.shape), leaf.dtype), shapes)
    params = jax.tree.map(lambda leaf: jnp.asarray(rng.uniform(-1, 1, leaf.shape), leaf.dtype), shapes.params)
    params = params._replace(duals=init_duals(FORMS[config.vmpo.form]))
    if state.critic:  # with an Adam that knows nothing yet
        critic = jax.tree.map(
            lambda leaf: jnp.asarray(rng.uniform(-1, 1, leaf.shape), leaf.dtype), shapes.critic.params
        )
        state = state._replace(critic=CriticState(critic, critic_optimizer(config).init(critic)))
    state = state._replace(params=params, optimizer=SGD.init(params), bonus=bonus_init(), popart=popart_init())
    return state._replace(key=KEY, num_updates=jnp.int32(0))


def learn_by(config: Config, state: LearnerState, trajectory: Trajectory):
    new, _, metrics = learner_learn(config, curiosities.make(config, ENV.spec), SGD, state, trajectory, KEY)
    return new, metrics


def total(losses: dict[str, Loss]):
    return weighted_sum(losses, masked_means(losses))


def loss_of(config: Config, params, state: LearnerState, trajectory: Trajectory):
    losses, scored = learner_losses(config, curiosities.make(config, ENV.spec), params, state, trajectory, KEY)
    return total(losses), scored


learn = jax.jit(learn_by, static_argnums=0, compiler_options=QUICK)
evaluate = jax.jit(loss_of, static_argnums=0, compiler_options=QUICK)


def make_trajectory(ends=(), terminated=()) -> Trajectory:
    """Random experience; `ends` are the final observations (t, b), `terminated` the steps that end for good."""
    rng = np.random.default_rng(0)
    last, ended = np.zeros((T + 1, B), bool), np.zeros((T, B), bool)
    for index in ends:
        last[index] = True
    for index in terminated:
        ended[index] = True
    return Trajectory(
        obs=jnp.asarray(rng.standard_normal((T + 1, B, A)), jnp.float32),
        first=jnp.asarray(np.roll(last, 1, axis=0)),
        last=jnp.asarray(last),
        action=jnp.asarray(rng.integers(0, A, (T, B)), jnp.int32),
        logits=jnp.asarray(rng.standard_normal((T, B, A)), jnp.float32),
        reward=jnp.asarray(rng.standard_normal((T, B)), jnp.float32),
        terminated=jnp.asarray(ended),
        belief=jnp.asarray(rng.standard_normal((B, CONFIG.network.belief)), jnp.float32),
        previous_action=jnp.zeros(B, jnp.int32),
        info={"noise": jnp.zeros((T, B), bool)},
        episode={},
    )


TRAJECTORY = make_trajectory(ends=[(2, 1)])
START = make_state(CONFIG)


def equal(left, right) -> bool:
    return jax.tree.all(jax.tree.map(np.array_equal, left, right))


def close(left, right) -> bool:
    return jax.tree.all(jax.tree.map(lambda a, b: np.allclose(a, b, rtol=1e-4, atol=1e-6), left, right))


def finite(tree) -> bool:
    return jax.tree.all(jax.tree.map(lambda leaf: bool(np.isfinite(leaf).all()), tree))


def test_the_same_seed_gives_the_same_numbers():
    learner = make_learner(CONFIG, ENV)

    def run(key):
        state, metrics = jax.lax.scan(lambda state, _: learner.update(state), learner.init(key), length=2)
        return state._replace(key=jax.random.key_data(state.key)), metrics

    run = jax.jit(run, compiler_options=QUICK)
    one, again, other = run(jax.random.key(0)), run(jax.random.key(0)), run(jax.random.key(1))
    assert finite(one) and equal(one, again)
    assert not close(one, other)


def test_a_restored_state_goes_on_as_if_never_interrupted():
    middle, _ = learn(CONFIG, START, TRAJECTORY)
    restored = from_arrays(to_arrays(middle), like=START)
    one, other = (learn(CONFIG, state, TRAJECTORY) for state in (middle, restored))
    assert equal((to_arrays(one[0]), one[1]), (to_arrays(other[0]), other[1]))


def test_several_passes_are_steps_for_the_same_rewards_and_one_update():
    learners = [make_learner(replace(CONFIG, passes=passes), ENV) for passes in (1, 3)]
    start = jax.jit(learners[0].init, compiler_options=QUICK)(KEY)
    one, three = (jax.jit(learner.learn, compiler_options=QUICK)(start, TRAJECTORY, KEY)[0] for learner in learners)
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

    grads = jax.jit(jax.grad(mean_loss), compiler_options=QUICK)(state.params)
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


def test_an_update_keeps_the_critic_after_its_step():
    after, _ = learn(CONFIG, START, TRAJECTORY)
    _, scored = evaluate(CONFIG, START.params, START, TRAJECTORY)
    assert close(after.critic, scored.critic) and not close(after.critic.params, START.critic.params)
    stepped = evaluate(CONFIG, START.params, START._replace(critic=after.critic), TRAJECTORY)[1]
    assert stepped.metrics["contrastive_value"] > scored.metrics["contrastive_value"] + 1e-5


def test_errors_are_measured_by_the_target_encoder():
    other = START._replace(targets=jax.tree.map(jnp.negative, START.targets))
    one, other = (evaluate(CONFIG, START.params, state, TRAJECTORY)[1].intrinsic for state in (START, other))
    assert np.abs(one - other).max() > 0.1


@pytest.mark.parametrize("method", [*curiosities.METHODS, PAID])
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


def test_a_large_gradient_is_scaled_down_to_the_limit():
    optimizer = make_optimizer(CONFIG)
    grads = jax.tree.map(jnp.ones_like, START.params)
    _, state = descend(optimizer, grads, START.params, optimizer.init(START.params))
    size = sum(leaf.size for leaf in jax.tree.leaves(START.params))
    momentum = next(leaf for leaf in jax.tree.leaves(state) if leaf.shape == (size,))
    np.testing.assert_allclose(jnp.linalg.norm(momentum), 0.1 * MAX_GRADIENT_NORM, rtol=1e-5)  # times 1 − β₁


def test_the_encoder_takes_shorter_strides():
    grads = jax.tree.map(jnp.ones_like, START.params)

    def stride(speed):
        config = replace(CONFIG, network=replace(CONFIG.network, encoder_speed=speed))
        optimizer = make_optimizer(config)
        new, _ = descend(optimizer, grads, START.params, optimizer.init(START.params))
        return jax.tree.map(lambda new, old: new - old, new.agent, START.params.agent)

    full, short = stride(1.0), stride(0.25)
    assert close(short.encoder, jax.tree.map(lambda x: 0.25 * x, full.encoder)) and close(short.core, full.core)


def test_the_world_model_slows_down_and_the_policy_does_not():
    grads = jax.tree.map(jnp.ones_like, START.params)

    def last_stride(trains_beliefs, half_life):
        optimizer = make_optimizer(replace(CONFIG, world=replace(CONFIG.world, half_life=half_life)), trains_beliefs)
        params, state = START.params, optimizer.init(START.params)
        for _ in range(3):
            old, (params, state) = params, descend(optimizer, grads, params, state)
        return jax.tree.map(lambda new, old: new - old, params, old)

    def scaled(tree, factor):
        return jax.tree.map(lambda x: factor * x, tree)

    constant, halved, own = last_stride(True, 0), last_stride(True, 1), last_stride(False, 1)
    assert close(halved.curiosity, scaled(constant.curiosity, 0.25)) and close(own.curiosity, halved.curiosity)
    assert close(halved.agent.core, scaled(constant.agent.core, 0.25)) and close(own.agent.core, constant.agent.core)
    assert close(halved.agent.policy, constant.agent.policy) and close(halved.duals, constant.duals)
    assert decay_of(replace(CONFIG.world, half_life=1))(1000) == pytest.approx(SLOWEST)


def test_the_loss_is_the_weighted_sum():
    weights = {"policy": 1, "value": 0.5, "entropy": CONFIG.vmpo.entropy_weight}
    weights |= {"reconstruction": CONFIG.world.reconstruction_weight, "invariance": 1}
    loss, _ = evaluate(CONFIG, START.params, START, TRAJECTORY)
    _, metrics = learn(CONFIG, START, TRAJECTORY)
    means = {name.removeprefix("loss/"): float(mean) for name, mean in metrics.items() if name.startswith("loss/")}
    assert means.keys() == weights.keys()
    np.testing.assert_allclose(loss, sum(weights[name] * mean for name, mean in means.items()), rtol=1e-5)


def test_masked_mean_golden():
    # (1 + 3)/2; a masked value counts neither above nor below the line
    value, mask = jnp.array([1.0, jnp.inf, 3.0]), jnp.array([True, False, True])
    assert masked_mean(Loss(value, mask)) == 2.0
    assert masked_mean(Loss(value, jnp.zeros(3, bool))) == 0.0


ENDS = make_trajectory(ends=[(2, 0), (2, 1)], terminated=[(1, 0)])  # the first terminates, the second is cut off


def paid(policy, error, state: LearnerState):
    """The loss, by the policy's weights, where curiosity pays a given error and trains nothing."""
    curiosity = curiosities.make(CONFIG, ENV.spec)._replace(score=lambda *_: CuriosityOutput({}, error, {}))
    params = state.params._replace(agent=state.params.agent._replace(policy=policy))
    losses, scored = learner_losses(CONFIG, curiosity, params, state, ENDS, KEY)
    previous = jnp.concatenate([ENDS.previous_action[None], ENDS.action])
    belief = believe(params.agent, ENDS.belief, ENDS.obs, previous, ENDS.first)
    return total(losses), (scored, params.agent.value(belief)[..., 0])


differentiate_paid = jax.jit(jax.grad(paid, has_aux=True), compiler_options=QUICK)
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


def test_a_solved_temperature_is_remembered_and_a_learned_one_moves_by_its_gradient():
    solved = replace(CONFIG, vmpo=replace(CONFIG.vmpo, form="sparse"))
    for config in (solved, CONFIG):
        state = make_state(config)
        new, metrics = learn(config, state, TRAJECTORY)
        used = evaluate(config, state.params, state, TRAJECTORY)[1].temperature
        np.testing.assert_allclose(metrics["temperature"], new.params.duals["temperature"], rtol=1e-6)
        assert (config == solved) == bool(np.isclose(new.params.duals["temperature"], used, rtol=1e-5))

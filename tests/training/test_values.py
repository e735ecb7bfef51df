"""One value function or one of each stream: what they learn, and that their advantages mean the same."""

from dataclasses import replace

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from curiax import curiosity as curiosities
from curiax.agent.popart import PopArt, normalise, unnormalise
from curiax.curiosity.reward import Rewards
from curiax.training.learner import learner_learn
from curiax.training.values import SEPARATE, SINGLE, Streams, judge_streams, judge_sum
from tests.support.small_learner import (
    CONFIG,
    ENV,
    KEY,
    SGD,
    TRAJECTORY,
    B,
    T,
    close,
    finite,
    learn,
    make_state,
    make_trajectory,
)

WEIGHT = 0.3
MIXED = replace(CONFIG, reward="mixed", bonus=replace(CONFIG.bonus, intrinsic_weight=WEIGHT))
STREAMS = replace(MIXED, value="separate", vmpo=replace(CONFIG.vmpo, intrinsic_discount=CONFIG.vmpo.discount))
ENDLESS = replace(STREAMS, vmpo=replace(STREAMS.vmpo, intrinsic_episodic=False))

# Stream 0 terminates with step 1 and stream 1 is cut off after it: o_2 is final, step 2 the reset.
ENDS = make_trajectory(ends=[(2, 0), (2, 1)], terminated=[(1, 0)])
RNG = np.random.default_rng(5)
REWARDS = Rewards(*(jnp.asarray(RNG.normal(size=(T, B)), jnp.float32) for _ in range(2)))
OUTPUTS = jnp.asarray(RNG.normal(size=(T + 1, B, 2)), jnp.float32)
# σ = 3, 2 and 4
STATISTICS = Streams(*(PopArt(jnp.float32(m), jnp.float32(v)) for m, v in ((2, 13), (-1, 5), (0.5, 16.25))))

sums = jax.jit(judge_sum, static_argnums=0)
streams = jax.jit(judge_streams, static_argnums=0)


def judge(config, rewards=REWARDS, outputs=OUTPUTS, trajectory=ENDS):
    return streams(config, STATISTICS, outputs, rewards, trajectory)


def with_(config, **vmpo):
    return replace(config, vmpo=replace(config.vmpo, **vmpo))


def values_of_streams(outputs):
    """V_E and V_I."""
    return unnormalise(STATISTICS.extrinsic, outputs[..., 0]), unnormalise(STATISTICS.intrinsic, outputs[..., 1])


@pytest.mark.parametrize("lambda_", [1.0, 0.7])
def test_with_one_discount_and_episodes_for_both_the_advantage_is_that_of_the_single_value(lambda_):
    # The λ-return is linear in rewards and values: with V = V_E + w V_I also G = G_E + w G_I.
    config = with_(STREAMS, return_lambda=lambda_)
    separate = judge(config)
    extrinsic, intrinsic = values_of_streams(OUTPUTS)
    value = normalise(STATISTICS.total, extrinsic + WEIGHT * intrinsic)
    single = sums(with_(MIXED, return_lambda=lambda_), STATISTICS.total, value[..., None], REWARDS, ENDS)
    valid = np.asarray(ENDS.valid)
    np.testing.assert_allclose(separate.returns.total[valid], single.returns[valid], rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(separate.advantage[valid], single.advantage[valid], rtol=1e-4, atol=1e-5)
    for other in (with_(config, intrinsic_discount=0.9), with_(config, intrinsic_episodic=False)):
        assert np.abs(judge(other).advantage - separate.advantage)[valid].max() > 1e-2


def test_the_advantage_golden():
    # T = 2 of one stream, γ = 0.5, γ_I = 0.25, λ = 1, w = 0.3, μ = 0 and σ = 2, 4, 5: outputs are V/σ.
    # V_E = 2, 0, 8 and r_E = 4, 0:   G_E = 0.5·4 + 0.5 (0 + 0.5·8) = 4,    so G_E − V_E = 2
    # V_I = 4, 0, 16 and r_I = 0, 2:  G_I = 0 + 0.25 (0.5·2 + 0.25·16) = 1.25,  so G_I − V_I = −2.75
    # Both rewards are halved, by 1 − γ:  A = (2 − 0.3·2.75)/5 = 0.235
    statistics = Streams(*(PopArt(jnp.float32(0), jnp.float32(scale**2)) for scale in (2, 4, 5)))
    outputs = jnp.array([[[1.0, 1.0]], [[0.0, 0.0]], [[4.0, 4.0]]])
    rewards = Rewards(jnp.array([[4.0], [0.0]]), jnp.array([[0.0], [2.0]]))
    two = jax.tree.map(lambda x: x[: len(x) - (T - 2), :1] if x.ndim > 1 else x, TRAJECTORY)
    judged = streams(with_(STREAMS, intrinsic_discount=0.25), statistics, outputs, rewards, two)
    np.testing.assert_allclose([judged.returns.extrinsic[0, 0], judged.returns.intrinsic[0, 0]], [4, 1.25], rtol=1e-6)
    np.testing.assert_allclose(judged.advantage[0, 0], 0.235, rtol=1e-6)
    losses = [judged.losses[f"value_{name}"].value[0, 0] for name in ("extrinsic", "intrinsic")]
    np.testing.assert_allclose(losses, [(2 / 2) ** 2, (2.75 / 4) ** 2], rtol=1e-6)


def test_an_intrinsic_reward_now_is_worth_the_same_whatever_its_discount():
    # One reward at the end of the unroll: what it adds to the advantage of its own step does not depend on γ_I.
    def worth(discount):
        config = with_(STREAMS, intrinsic_discount=discount)
        more = REWARDS._replace(intrinsic=REWARDS.intrinsic.at[T - 1, 2].add(1.0))
        return judge(config, more).advantage[T - 1, 2] - judge(config).advantage[T - 1, 2]

    expected = WEIGHT * (1 - CONFIG.vmpo.discount) / STATISTICS.total.scale
    np.testing.assert_allclose([worth(0.0), worth(0.5), worth(0.99)], [expected] * 3, rtol=1e-4)


@pytest.mark.parametrize("config", [STREAMS, ENDLESS], ids=["episodic", "endless"])
def test_what_comes_after_an_end_reaches_the_intrinsic_return_of_endless_streams_alone(config):
    def returns(change):
        changed = Rewards(*(reward.at[3, :2].add(change) for reward in REWARDS))  # the next episode's first step
        return judge(config, changed).returns

    before, after = returns(0.0), returns(1.0)
    np.testing.assert_array_equal(after.extrinsic[:3], before.extrinsic[:3])
    moved = np.asarray(after.intrinsic - before.intrinsic)[:2, :2]
    gamma = 0.5
    expected = (1 - gamma) * np.array([[gamma**2], [gamma]]) if config is ENDLESS else np.zeros((2, 1))
    np.testing.assert_allclose(moved, np.tile(expected, 2), atol=1e-6)


def test_the_value_of_a_final_observation_is_learned_in_endless_streams_alone():
    assert not ENDS.valid[2, :2].any()
    episodic, endless = judge(STREAMS), judge(ENDLESS)
    np.testing.assert_array_equal(episodic.losses["value_intrinsic"].mask, ENDS.valid)
    for judged in (episodic, endless):
        np.testing.assert_array_equal(judged.losses["value_extrinsic"].mask, ENDS.valid)
    assert endless.losses["value_intrinsic"].mask.all()
    np.testing.assert_array_equal(endless.returns.intrinsic[2, :2], endless.returns.intrinsic[3, :2])


def update(config, state, rewards, error):
    """The state after an update in which the environment pays these rewards, and curiosity these errors."""
    trajectory = ENDS._replace(reward=rewards)
    return learner_learn(config, curiosities.make(config, ENV.spec), SGD, state, trajectory, KEY, error)


update = jax.jit(update, static_argnums=0)
ERROR = jnp.asarray(RNG.uniform(0, 4, (T, B)), jnp.float32)


@pytest.mark.slow
@pytest.mark.parametrize("config", [STREAMS, ENDLESS], ids=["episodic", "endless"])
def test_a_reward_in_one_stream_moves_the_value_of_that_stream_alone(config):
    start = make_state(config)
    usual, _, metrics = update(config, start, ENDS.reward, ERROR)
    others = update(config, start, ENDS.reward[::-1], ERROR), update(config, start, ENDS.reward, ERROR[::-1])
    names = ("extrinsic", "intrinsic")
    for moved, (state, _, changed) in enumerate(others):
        stays = 1 - moved
        output = [state.params.agent.value.layers[-1].weight[:, k] for k in range(2)]
        expected = [usual.params.agent.value.layers[-1].weight[:, k] for k in range(2)]
        assert close(output[stays], expected[stays]) and not close(output[moved], expected[moved])
        assert np.isclose(changed[f"loss/value_{names[stays]}"], metrics[f"loss/value_{names[stays]}"], rtol=1e-5)
        assert not np.isclose(changed[f"loss/value_{names[moved]}"], metrics[f"loss/value_{names[moved]}"], rtol=1e-5)
        assert close(getattr(state.popart, names[stays]), getattr(usual.popart, names[stays]))
        assert not close(getattr(state.popart, names[moved]), getattr(usual.popart, names[moved]))
        assert not close(state.popart.total, usual.popart.total)
        assert not close(state.params.agent.policy, usual.params.agent.policy)  # the policy sees both


@pytest.mark.slow
def test_an_update_keeps_the_acting_values_of_both_streams():
    state = make_state(ENDLESS)
    after, metrics = learn(ENDLESS, state, TRAJECTORY)
    assert finite(metrics) and metrics["value_scale"] == after.popart.total.scale
    belief = TRAJECTORY.belief
    for output, name in enumerate(("extrinsic", "intrinsic")):
        then, now = (unnormalise(getattr(s.popart, name), s.acting.value(belief)[:, output]) for s in (state, after))
        np.testing.assert_allclose(now, then, rtol=1e-4, atol=1e-6)
        assert metrics[f"value_scale_{name}"] == getattr(after.popart, name).scale
    assert not close(after.acting.value, state.acting.value)


def test_a_value_head_has_an_output_for_each_stream():
    assert (SINGLE.num_outputs, SEPARATE.num_outputs) == (1, 2)
    for config, num_outputs in ((MIXED, 1), (STREAMS, 2)):
        assert make_state(config).params.agent.value.layers[-1].weight.shape[1] == num_outputs

"""Learning progress monitoring: ε, the queue, when it pays, and what is left on noise."""

import functools

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from curiax.config import Config, WorldConfig
from curiax.curiosity.base import Represented, Sizes
from curiax.curiosity.measures.lpm import Queue, push
from curiax.curiosity.measures.recent import SIZE
from tests.support.small_measure import (
    CONFIG,
    CREDITED,
    KEY,
    PAIRS,
    SIZES,
    B,
    T,
    constant,
    make_represented,
    score,
    start,
    train,
)

CONTEXT = SIZES.state + SIZES.action


def by_hand(count):
    """Predictions 1 of targets 3, so ε = log 4; `count` transitions with ε = 5 in the queue; the network adds 2."""
    params, _ = start("lpm")
    params |= {"predictor": constant(params["predictor"], 1.0), "error_model": constant(params["error_model"], 2.0)}
    represented = make_represented()._replace(target=jnp.full((T, B, SIZES.target), 3.0))
    queue = Queue(jnp.zeros((SIZE, CONTEXT)), jnp.full(SIZE, 5.0).at[count:].set(0.0), jnp.int32(count))
    return score("lpm", params, queue, represented)


def test_reward_and_losses_golden():
    output = by_hand(SIZE)
    np.testing.assert_allclose(output.error, CREDITED * (7 - np.log(4)), rtol=1e-5)
    np.testing.assert_allclose(output.losses["prediction"].value, 4.0, rtol=1e-6)
    # The queue holds the new ε in place of its oldest, and has their share in its mean.
    mean = (PAIRS * np.log(4) + (SIZE - PAIRS) * 5) / SIZE
    expected = (PAIRS * (mean + 2 - np.log(4)) ** 2 + (SIZE - PAIRS) * (mean + 2 - 5) ** 2) / SIZE
    np.testing.assert_allclose(output.losses["log_error"].value, expected, rtol=1e-5)


def test_nothing_is_paid_until_the_queue_is_full_and_the_model_is_trained_meanwhile():
    output = by_hand(SIZE - 1)
    assert not np.any(output.error) and output.critic.count == SIZE - 1 + PAIRS
    assert output.losses["log_error"].value > 0 and output.losses["prediction"].value.max() > 0


def test_without_a_queue_nothing_is_expected_but_what_the_network_says():
    np.testing.assert_allclose(by_hand(0).metrics["expected_log_error"], 2.0, rtol=1e-6)


def test_the_queue_is_a_ring_of_valid_transitions():
    queue = Queue(jnp.zeros((SIZE, 2)), jnp.zeros(SIZE), jnp.int32(SIZE - 2))
    error = jnp.arange(1.0, 7.0)
    valid = jnp.array([True, True, False, True, True, False])
    queue = push(queue, jnp.stack([error, -error], axis=-1), error, valid, KEY)
    places = np.array([SIZE - 2, SIZE - 1, 0, 1])
    assert set(np.asarray(queue.error[places]).tolist()) == {1, 2, 4, 5} and np.count_nonzero(queue.error) == 4
    np.testing.assert_array_equal(queue.context, np.stack([queue.error, -queue.error], axis=-1))
    assert queue.count == SIZE + 2
    assert push(queue._replace(count=jnp.int32(2 * SIZE - 1)), queue.context[:6], error, valid, KEY).count == SIZE + 3


def test_a_batch_larger_than_the_queue_fills_it_once():
    error = jnp.arange(1.0, 2.0 * SIZE)
    empty = Queue(jnp.zeros((SIZE, 2)), jnp.zeros(SIZE), jnp.int32(0))
    queue = push(empty, jnp.zeros((len(error), 2)), error, jnp.ones(len(error), bool), KEY)
    assert queue.count == SIZE and len(np.unique(queue.error)) == SIZE and queue.error.min() > 0


SMALL = Config(world=WorldConfig(horizon=1, hidden=(16,)))


def noise(key, learnable=0.0):
    """Targets of pure noise, or with a part that can be learned; 16 × 16 transitions of one state."""
    target = jax.random.normal(key, (16, 16, 4)) * (1 - learnable) + 5 * learnable
    return Represented(jnp.ones((16, 16, 2)), jnp.zeros((16, 16, 2)), target, {}, {})


@pytest.mark.slow
def test_on_a_stationary_noise_stream_the_mean_reward_tends_to_zero_and_the_error_does_not():
    _, queue, (reward, error) = train("lpm", noise, 600, SMALL, Sizes(2, 2, 4))
    full = SIZE // 256
    assert queue.count >= SIZE and not reward[:full].any() and reward[full:].all()
    assert error[-200:].mean() > 0.9  # of a variance of 1
    assert abs(reward[-200:].mean()) < 0.03


@pytest.mark.slow
def test_what_is_being_learned_is_paid():
    stream = functools.partial(noise, learnable=0.9)
    _, _, (reward, error) = train("lpm", stream, 300, SMALL, Sizes(2, 2, 4))
    assert error[-1] < 0.1 * error[10] and reward[50:200].mean() > 0.1


def test_the_horizon_has_two_steps():
    assert CONFIG.world.horizon == 2 and CREDITED.sum() == PAIRS

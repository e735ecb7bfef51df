"""Training as a generator: what it yields, that it can be left and taken up again, and what it says of a bad loss."""

import dataclasses
import inspect
import itertools
import math

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from curiax import envs
from curiax.config import BonusConfig, Config
from curiax.envs.maze import MAP, parse
from curiax.training.learner import make_learner
from curiax.training.train import bad_loss, initial_state, interval, summarise, train, until_bad
from tests.support.tiny import TINY, leaves, poison

EVERY_ROW = (
    "reconstruction_error",
    "contrastive_value",
    "noise_dwell",
    "entropy",
    "kl",
    "loss/value",
    "loss/policy",
    "loss/reconstruction",
    "loss/invariance",
    "gradient/agent",
    "gradient/curiosity",
    "temperature",
    "alpha",
)
ENDED_EPISODES = ("trackers", "tracker_1", "tracker_2", "tracker_3", "tracker_4", "return", "length")


def hexed(metrics):
    return {name: float(value).hex() for name, value in metrics.items()}


@pytest.fixture(scope="module")
def rows():
    """The first 40 rows: 80 updates, 320 steps of each stream, in which an episode ends."""
    return list(itertools.islice(train(TINY), 40))


@pytest.fixture(scope="module")
def run_interval():
    learner = make_learner(TINY, envs.make(TINY.env))
    return jax.jit(lambda state: interval(learner, TINY.log_every, state))


def test_train_is_a_generator_that_does_nothing_before_it_is_asked():
    assert inspect.isgenerator(train(dataclasses.replace(TINY, env="no such environment")))


def test_a_row_comes_after_every_log_interval(rows):
    assert [row.num_updates for row in rows] == list(range(2, 82, 2))
    assert [int(row.state.num_updates) for row in rows] == list(range(2, 82, 2))


@pytest.mark.slow
def test_training_ends_with_the_last_whole_interval(rows):
    config = dataclasses.replace(TINY, env_steps=82 * 8)  # one interval beyond the fixture's
    assert [row.num_updates for row in train(config, rows[-1].state)] == [82]
    assert list(train(dataclasses.replace(TINY, env_steps=80 * 8), rows[-1].state)) == []


def test_going_on_from_a_yielded_state_is_bit_identical_to_not_stopping(rows):
    resumed = list(itertools.islice(train(TINY, rows[20].state), 19))
    assert [hexed(row.metrics) for row in resumed] == [hexed(row.metrics) for row in rows[21:]]
    assert leaves(resumed[-1].state) == leaves(rows[-1].state)


def test_maps_count_every_transition_and_hold_all_reward_and_error(rows):
    steps = TINY.log_every * TINY.steps_per_update
    for row in rows:
        visits, reward = row.maps["visits"], row.maps["reward"]
        assert steps - TINY.log_every * TINY.batch_size <= visits.sum() <= steps  # resets are not transitions
        assert (visits[parse(MAP).wall] == 0).all() and not reward[visits == 0].any()
        np.testing.assert_allclose(reward.sum() / visits.sum(), row.metrics["intrinsic_reward"], rtol=1e-5)
        dwell, elsewhere = row.metrics["noise_dwell"], row.metrics["error_elsewhere"]
        error = dwell * np.nan_to_num(row.metrics["error_on_noise"]) + (1 - dwell) * elsewhere
        np.testing.assert_allclose(row.maps["error"].sum() / visits.sum(), error, rtol=1e-5)


def test_the_same_seed_gives_the_same_numbers(rows):
    again = next(train(TINY))
    assert hexed(again.metrics) == hexed(rows[0].metrics)
    assert leaves(again.state) == leaves(rows[0].state)


@pytest.mark.slow
def test_another_seed_gives_other_numbers(rows, run_interval):
    state, metrics = run_interval(initial_state(dataclasses.replace(TINY, seed=1)))
    metrics = summarise(metrics, TINY)
    assert metrics.keys() == rows[0].metrics.keys()
    assert metrics["loss/reconstruction"] != rows[0].metrics["loss/reconstruction"]
    assert metrics["loss/policy"] != rows[0].metrics["loss/policy"]
    ours, theirs = leaves(state), leaves(rows[0].state)
    weights = [name for name in ours if name.startswith(".params") and name.endswith("weight")]
    assert len(weights) > 10 and not [name for name in weights if ours[name] == theirs[name]]


def test_an_interval_gives_a_state_of_the_kind_it_takes_so_one_program_serves_all(rows):
    first = jax.tree.map(jax.typeof, initial_state(TINY))
    assert jax.tree.map(jax.typeof, rows[0].state) == first


def test_training_moves_every_part_of_the_state(rows):
    before, after = initial_state(TINY), rows[-1].state
    for part in set(before._fields) - {"tally"}:  # the maze has none
        assert leaves(before._replace(**{part: getattr(after, part)})) != leaves(before), part


@pytest.mark.parametrize("name", EVERY_ROW)
def test_every_row_has_a_finite(name, rows):
    assert all(math.isfinite(row.metrics[name]) for row in rows)


@pytest.mark.parametrize("name", ENDED_EPISODES)
def test_rows_have_means_over_the_episodes_that_ended_and_nan_where_none_did(name, rows):
    values = np.array([row.metrics[name] for row in rows])
    ended = np.isfinite(values)
    assert 0 < ended.sum() < len(rows)
    assert np.array_equal(ended, np.isfinite([row.metrics["trackers"] for row in rows]))


def test_trackers_are_the_sum_of_the_four(rows):
    row = next(row.metrics for row in rows if math.isfinite(row.metrics["trackers"]))
    assert row["trackers"] == sum(row[f"tracker_{i}"] for i in (1, 2, 3, 4))
    assert row["length"] <= 500


def test_noise_dwell_is_a_share_and_the_contrastive_value_at_most_log_k(rows):
    dwell = np.array([row.metrics["noise_dwell"] for row in rows])
    assert ((dwell >= 0) & (dwell <= 1)).all() and 0 < dwell.mean() < 1
    assert max(row.metrics["contrastive_value"] for row in rows) <= math.log(TINY.batch_size) + 1e-6


def test_summaries_are_ratios_of_sums_and_means_over_updates():
    config = dataclasses.replace(TINY, log_every=4)
    sums = {"dwell/sum": 6.0, "dwell/count": 8.0, "trackers/sum": 0.0, "trackers/count": 0.0, "loss/value": 10.0}
    summary = summarise({name: jnp.float32(value) for name, value in sums.items()}, config)
    assert summary["dwell"] == 0.75 and summary["loss/value"] == 2.5
    assert math.isnan(summary["trackers"]) and len(summary) == 3


@pytest.mark.slow
def test_the_mixed_regime_with_paid_coins_trains_on_other_rewards(rows):
    config: Config = dataclasses.replace(TINY, reward="mixed", bonus=BonusConfig(intrinsic_weight=0.2))
    mixed = list(itertools.islice(train(config), 2))
    assert bad_loss(mixed[-1].metrics) is None
    # The same experience at first, and the same errors, paid a fifth as much beside the coins.
    assert mixed[0].metrics["noise_dwell"] == rows[0].metrics["noise_dwell"]
    assert mixed[-1].metrics["value_scale"] != rows[1].metrics["value_scale"]


def test_good_rows_have_no_bad_loss(rows):
    assert all(bad_loss(row.metrics) is None for row in rows)


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf])
def test_a_bad_loss_is_named_and_other_metrics_may_be_undefined(value, rows):
    assert bad_loss(rows[0].metrics | {"loss/invariance": value}) == "loss/invariance"
    assert bad_loss(rows[0].metrics | {"gradient/agent": value}) == "gradient/agent"
    assert bad_loss(rows[0].metrics | {"trackers": value}) is None


def test_of_several_bad_losses_the_cause_is_named_not_what_follows():
    everything = ("gradient/agent", "loss/entropy", "loss/policy", "loss/reconstruction", "loss/value")
    assert bad_loss(dict.fromkeys(everything, math.nan)) == "loss/reconstruction"
    assert bad_loss(dict.fromkeys(everything[:3], math.nan)) == "loss/policy"
    assert bad_loss(dict.fromkeys(everything[:1], math.nan)) == "gradient/agent"


def test_updates_after_the_first_bad_one_are_not_counted():
    nan = math.nan
    metrics = {"loss/a": [1.0, 1.0, nan, nan], "gradient/b": [1.0, 1.0, 1.0, nan], "trackers": [nan] * 4}
    counted = until_bad({name: jnp.array(values) for name, values in metrics.items()})
    np.testing.assert_array_equal(counted, [True, True, True, False])


@pytest.mark.parametrize(
    ("part", "name", "loss"),
    [
        ("curiosity", "reconstructor", "loss/reconstruction"),
        ("curiosity", "generator", "loss/reconstruction"),
        ("agent", "value", "loss/value"),
        ("agent", "policy", "loss/policy"),
    ],
)
def test_training_names_the_loss_that_went_bad_though_all_are_bad_an_update_later(part, name, loss, rows, run_interval):
    params = rows[0].state.params
    bad = params._replace(**{part: poison(getattr(params, part), name)})
    _, metrics = run_interval(rows[0].state._replace(params=bad))
    assert bad_loss(summarise(metrics, TINY)) == loss


def test_training_names_the_loss_of_a_bad_critic(rows, run_interval):
    state = rows[0].state
    bad = state.critic._replace(params=poison(state.critic.params, ""))
    _, metrics = run_interval(state._replace(critic=bad))
    assert bad_loss(summarise(metrics, TINY)) == "loss/invariance"

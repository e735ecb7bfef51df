"""Steps that are no transitions: they pay nothing and change nothing, whatever stands in them."""

import numpy as np
import pytest

import curiax
from curiax.dropin import Curiosity
from curiax.dropin.replay import Replay
from tests.adapters.test_dropin import raw
from tests.adapters.test_dropin_replay import rows, steps_of
from tests.support.small_curiosity import RAW, B, T, equal, make, segment

DEAD = ((0, 2), (3, 1), (4, 2))  # after ends, or at the beginning
ENDS = ((2, 1), (3, 2), (T - 1, 0))


def masked(seed=0, garbage=0, batch_size=B, ends=ENDS, dead=DEAD, num_steps=T):
    """A segment with dead steps, and its mask. Steps that are dead depend on `garbage` alone, the others on `seed`."""
    data = segment(seed, num_steps, batch_size, ends=ends)
    other = segment(1000 + garbage, num_steps, batch_size, ends=())
    valid = np.ones((num_steps, batch_size), bool)
    for index in dead:
        valid[index] = False
        for array, replacement in zip(data[:3], other[:3], strict=True):
            array[index] = replacement[index]
    return data, valid


def check_garbage(method, batch_size):
    """Two streams that differ in their dead steps only lead to the same bits."""
    curiosities = [make(method) for _ in range(2)]
    for seed in range(2):
        for garbage, curiosity in enumerate(curiosities):
            data, valid = masked(seed, garbage, batch_size)
            rewards = curiosity.reward(*data, valid=valid)
            assert not rewards[~valid].any()
            metrics, told = curiosity.update(*data, valid=valid), curiosity.explain(*data, valid=valid)
            if garbage == 0:
                expected = rewards, metrics, told
            else:
                np.testing.assert_array_equal(rewards, expected[0])
                assert metrics == expected[1]
                for x, y in zip(told, expected[2], strict=True):
                    mask = valid if np.ndim(x) else True
                    np.testing.assert_array_equal(np.asarray(x)[mask], np.asarray(y)[mask])
    assert equal(*(raw(curiosity._state) for curiosity in curiosities))
    assert curiosities[0].num_updates > 1


def test_what_stands_in_a_dead_step_makes_no_difference():
    check_garbage("rnd", B)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("method", "batch_size"),
    [
        *[("rnd", 16), ("dora", B), ("ama", 16), ("icm+hindsight", 16), ("emi+hindsight", B)],
        *[("ae+hindsight-averaged", B), ("lpm", 16), ("critic", B), ("lbs", 16), ("disagreement", 16), ("progress", B)],
    ],
)
def test_in_no_method_what_stands_in_a_dead_step_makes_a_difference(method, batch_size):
    check_garbage(method, batch_size)


@pytest.mark.parametrize("method", ["byol-explore", "rnd", "dora"])
def test_live_steps_are_paid_as_if_the_dead_were_not_there(method):
    """All trajectories have a dead step 3, after an end."""
    ends = [(2, b) for b in range(B)]
    data, valid = masked(ends=ends, dead=[(3, b) for b in range(B)])
    curiosity, live = make(method, **RAW), [np.delete(array, 3, axis=0) for array in data]
    paid = curiosity.reward(*data, valid=valid)
    np.testing.assert_allclose(np.delete(paid, 3, axis=0), curiosity.reward(*live), rtol=1e-4, atol=1e-6)


def test_statistics_and_metrics_are_those_of_live_steps():
    curiosity, (data, valid) = make("icm", **RAW), masked()
    errors = curiosity.reward(*data, valid=valid)[valid]
    metrics = curiosity.update(*data, valid=valid)
    np.testing.assert_allclose([metrics["error"], metrics["reward"]], errors.mean(), rtol=1e-5)
    np.testing.assert_allclose(metrics["statistics/mean"], errors.mean(), rtol=1e-5)
    np.testing.assert_allclose(metrics["statistics/scale"], errors.std(), rtol=1e-3)


def test_whitening_counts_live_observations():
    curiosity, (data, valid) = make("rnd"), masked(batch_size=16, ends=(), dead=((0, 3), (2, 5)))
    curiosity.update(*data, valid=valid)
    targets = curiosity._state.world.targets
    assert float(targets.count) == valid.sum()
    np.testing.assert_allclose(targets.mean, data[2][valid].mean(axis=0), rtol=1e-5, atol=1e-6)


def test_steps_that_are_all_dead_only_end_the_episodes():
    data, nothing = segment(), np.zeros((T, B), bool)
    one, other = make("byol-explore"), make("byol-explore")
    for curiosity in (one, other):
        curiosity.update(*data)
    state = one._state
    assert one.update(*segment(1), valid=nothing) == other._last and one._state is state
    other.reset()
    assert not one.reward(*data, valid=nothing).any()
    np.testing.assert_array_equal(one.reward(*data), other.reward(*data))
    assert one.metrics() == other.metrics()


def test_observing_step_by_step_takes_a_mask():
    data, valid = masked()
    curiosity, whole = make("byol-explore", **RAW), make("byol-explore", **RAW)
    steps = list(zip(*data, valid, strict=True))[:2]
    paid = np.stack([curiosity.observe(*step[:5], valid=step[5]) for step in steps])
    np.testing.assert_allclose(paid, whole.reward(*data, valid=valid)[:2], rtol=1e-4, atol=1e-6)
    assert not paid[0, 2] and paid[1].all()
    alone, step = make("rnd"), steps_of(segment(batch_size=1))[0]
    assert alone.observe(*step, valid=False) == 0.0 and alone.metrics()["replay"] == 0


def test_a_loaded_curiosity_knows_which_steps_were_dead(tmp_path):
    data, valid = masked()
    curiosity = make("icm")
    steps = list(zip(*data, valid, strict=True))
    for step in 2 * steps + steps[:4]:  # 16, after which it learns
        curiosity.observe(*step[:5], valid=step[5])
    curiosity.observe(*(array[1] for array in data), valid=~valid[0])  # one live step, not yet learned from
    curiosity.save(tmp_path / "file")
    loaded = Curiosity.load(tmp_path / "file")
    assert equal(loaded._replay.rows, curiosity._replay.rows) and not loaded._replay.rows.valid[:T].all()
    assert equal(loaded._pending, curiosity._pending) and loaded._pending[0].valid.tolist() == [[False, False, True]]


def test_pieces_begin_with_a_transition_or_hold_one():
    replay, some = Replay.like(rows(0, 1), capacity=40), rows(0, 20)
    some.valid[:19] = False
    some.valid[[4, 19], [0, 1]] = True
    replay.add(some)
    pieces = replay.sample(np.random.default_rng(0), 3, 100, num_new=10)
    assert pieces.segment.valid.any(axis=0).all()
    found = {(int(step), int(env)) for step, env in pieces.segment.obs[pieces.segment.valid]}
    assert found == {(4, 0), (19, 0), (19, 1)}


def test_some_trajectories_can_be_reset():
    data, which = segment(ends=()), np.array([False, True, False])
    early, late = ([array[part] for array in data] for part in (slice(0, 3), slice(3, T)))
    still = make("byol-explore", learning_rate=1e-12, **RAW)
    alone = still.reward(*late)
    still.update(*early)
    gone_on = still.reward(*late)
    still.reset(which)
    np.testing.assert_allclose(still.reward(*late), np.where(which, alone, gone_on), rtol=1e-4, atol=1e-5)
    assert np.abs(alone - gone_on).min() > 1e-4
    assert still._replay.rows.ended[2].tolist() == which.tolist()


@pytest.mark.parametrize("which", [np.ones(2, bool), [0, 1, 1], True])
def test_a_mask_of_trajectories_is_checked(which):
    curiosity = make("rnd")
    curiosity.update(*segment())
    with pytest.raises(curiax.UserError, match=r"^which: got .*, expected true or false for each of 3 trajectories$"):
        curiosity.reset(which)


def test_a_mask_of_steps_is_checked():
    with pytest.raises(curiax.UserError, match=r"^valid: got shape \[3\], expected \[6, 3\], as obs has"):
        make("rnd").reward(*segment(), valid=np.ones(3, bool))

"""Noise for any environment: numpy and JAX do the same, coin by coin and statistic by statistic."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from curiax.envs.noise.disturb import NOISES, Draw, View, make
from curiax.envs.noise.wrappers import draw_of
from curiax.errors import UserError
from tests.support.noisy_worlds import GREY, NUM_ACTIONS, SHAPE, Episodes, play_gym, play_jax

VIEW = View(SHAPE, "uint8", 255.0, NUM_ACTIONS)
OPTIONS = {
    "on-demand": {"action": 2},
    "patches": {"side": 4},
    "sticky": {"probability": 0.4},
    "cells": {"probability": 0.05, "high": 255},
}
NUM_EPISODES, LENGTH = 160, 25


def signal(name: str, obs: np.ndarray) -> np.ndarray:
    """The part of the observations in which the noise is, [E, L + 1, P], in 0..1."""
    obs = obs.astype(float)
    parts = {
        "persistive": lambda: ((obs - GREY) % 256)[:, :, 1:] / 50,
        "patches": lambda: obs[:, :, -1] / 255,
        "cells": lambda: obs[:, :, 1:] / 255,
        "sticky": lambda: obs[:, :, 0, 0] / NUM_ACTIONS,
        # Where is the lit pixel?
        "brownian": lambda: np.stack(np.divmod(obs[..., 1].reshape(*obs.shape[:2], -1).argmax(-1), 13), -1) / 13,
    }
    part = parts[name]() if name in parts else obs[..., 1] / 255
    return part.reshape(*obs.shape[:2], -1)


def statistics(name: str, episodes: Episodes) -> np.ndarray:
    """Of each episode: mean, square, products of neighbours in time; and by action: mean, change, share of noise."""
    x = signal(name, episodes.obs)
    after, before = x[:, 1:], x[:, :-1]
    chosen = episodes.action[:, :, None] == np.arange(NUM_ACTIONS)  # [E, L, A]
    each = [after.mean((1, 2)), (after**2).mean((1, 2)), (after * before)[:, 1:].mean((1, 2))]
    for of_step in (after.mean(2), np.abs(after - before).mean(2), episodes.noise.astype(float)):
        each.extend((of_step[:, :, None] * chosen).mean(1).T)
    return np.stack(each, axis=1)  # [E, statistics]


@pytest.mark.slow
@pytest.mark.parametrize("name", NOISES)
def test_gymnasium_and_jax_agree_statistic_by_statistic(name):
    rng = np.random.default_rng(1)
    one, other = (rng.integers(0, NUM_ACTIONS, (NUM_EPISODES, LENGTH)) for _ in range(2))
    options = OPTIONS.get(name, {})
    here = statistics(name, play_gym(name, one, 3, **options))
    there = statistics(name, play_jax(name, other, 4, **options))
    spread = np.sqrt((here.var(0) + there.var(0)) / NUM_EPISODES)
    difference = np.abs(here.mean(0) - there.mean(0))
    assert np.all(difference <= 5 * spread + 1e-6), (difference / (spread + 1e-9)).round(1)
    assert here.var(0).max() > 0  # there is noise


@pytest.mark.parametrize("name", NOISES)
def test_the_same_coins_give_the_same_observations(name):
    generator = np.random.default_rng(0)
    ours, theirs = (make(xp, name, VIEW, OPTIONS.get(name, {})) for xp in (np, jnp))
    assert (ours.coins, ours.probability, ours.layer) == (theirs.coins, theirs.probability, theirs.layer)
    see = jax.jit(theirs.see)
    memory, memory_jax = ours.start(), theirs.start()
    for _ in range(12):
        obs = generator.integers(0, 256, SHAPE, dtype=np.uint8)
        action = generator.integers(0, NUM_ACTIONS)
        draw = draw_of(ours, generator)
        draw_jax = Draw(*map(jnp.asarray, draw))
        np.testing.assert_array_equal(ours.first(obs), theirs.first(jnp.asarray(obs)))
        taken, taken_jax = ours.act(memory, action, draw), theirs.act(memory_jax, jnp.int32(action), draw_jax)
        assert taken == taken_jax
        memory, seen, noisy = ours.see(memory, obs, action, taken, draw)
        memory_jax, seen_jax, noisy_jax = see(memory_jax, jnp.asarray(obs), jnp.int32(action), taken_jax, draw_jax)
        np.testing.assert_array_equal(seen, seen_jax)
        assert seen.dtype == seen_jax.dtype == np.uint8 and bool(noisy) == bool(noisy_jax)


def test_noise_on_demand_comes_with_its_action_and_with_no_other():
    actions = np.random.default_rng(0).integers(0, NUM_ACTIONS, (10, LENGTH))
    played = play_gym("on-demand", actions, 0, action=2)
    lit = played.obs[:, 1:, :, :, 1].any((2, 3))
    np.testing.assert_array_equal(lit, actions == 2)
    np.testing.assert_array_equal(played.noise, actions == 2)
    assert abs(played.obs[:, 1:, :, :, 1][actions == 2].mean() / 255 - 0.5) < 0.02


def test_random_pixels_come_one_step_in_four_whatever_is_done():
    actions = np.random.default_rng(0).integers(0, NUM_ACTIONS, (NUM_EPISODES, LENGTH))
    played = play_gym("random", actions, 0)
    assert abs(played.noise.mean() - 0.25) < 5 * np.sqrt(0.25 * 0.75 / actions.size)
    np.testing.assert_array_equal(played.obs[:, 1:, :, :, 1].any((2, 3)), played.noise)
    for action in range(NUM_ACTIONS):
        assert abs(played.noise[actions == action].mean() - 0.25) < 0.07


def test_a_walker_takes_one_step_at_a_time_and_stays_in_the_picture():
    actions = np.zeros((20, 100), int)
    place = (signal("brownian", play_gym("brownian", actions, 0).obs) * 13).round()
    np.testing.assert_array_equal(np.abs(place[:, 1] - [7, 6]), 1)  # from the middle
    moved = np.abs(np.diff(place[:, 1:], axis=1))
    assert moved.max() == 1 and 0 < np.mean(moved == 0) < 0.3  # still at the walls only
    assert place.max() <= 13 and place[:, 1:].std() > 3


def test_sticky_actions_repeat_what_the_environment_did_and_not_what_was_chosen():
    actions = np.random.default_rng(0).integers(0, NUM_ACTIONS, (NUM_EPISODES, LENGTH))
    played = play_gym("sticky", actions, 0, probability=0.4)
    taken = played.obs[:, 1:, 0, 0]
    np.testing.assert_array_equal(taken[:, 0], actions[:, 0])  # the first action is the agent's own
    stuck = taken[:, 1:] != actions[:, 1:]
    np.testing.assert_array_equal(stuck, played.noise[:, 1:])
    np.testing.assert_array_equal(taken[:, 1:][stuck], taken[:, :-1][stuck])
    assert abs(stuck.mean() - 0.4 * 3 / 4) < 0.03  # one in four is chosen anyway


def redrawn(probability: float, num_steps: int) -> np.ndarray:
    """What `cells` makes of a MiniGrid view of 200s, [T, 7, 7, 3]."""
    grid = View((7, 7, 3), "uint8", 255.0, 7)
    noise, generator = make(np, "cells", grid, {"probability": probability}), np.random.default_rng(0)
    clean = np.full(grid.shape, 200, np.uint8)
    return np.stack([noise.see((), clean, 0, 0, draw_of(noise, generator))[1] for _ in range(num_steps)])


def test_cells_are_redrawn_whole_each_by_itself_with_the_probability():
    num_steps, probability = 4000, 0.1
    changed = redrawn(probability, num_steps) != 200
    np.testing.assert_array_equal(changed, np.repeat(changed[..., :1], 3, axis=-1))  # all channels of a cell, or none
    cells = changed[..., 0].reshape(num_steps, 49).astype(float)
    deviation = np.sqrt(probability * (1 - probability) / num_steps)
    assert np.abs(cells.mean(axis=0) - probability).max() < 5 * deviation
    together = np.corrcoef(cells.T)[~np.eye(49, dtype=bool)]
    assert np.abs(together).max() < 6 / np.sqrt(num_steps)
    assert abs(np.mean(cells[1:] * cells[:-1]) - probability**2) < 0.001  # nor does a step depend on the one before


def test_redrawn_cells_are_uniform_in_the_range_of_each_channel_of_minigrid():
    drawn = redrawn(1.0, 2000)
    for channel, high in enumerate((10, 5, 2)):
        shares = np.bincount(drawn[..., channel].ravel(), minlength=high + 1) / drawn[..., channel].size
        np.testing.assert_allclose(shares, 1 / (high + 1), atol=0.006)
    pair = np.corrcoef(drawn.reshape(-1, 3).T)[~np.eye(3, dtype=bool)]
    assert np.abs(pair).max() < 0.02


def test_cells_tells_of_noise_where_a_cell_is_redrawn():
    grid = View((7, 7, 3), "uint8", 255.0, 7)
    clean = np.zeros(grid.shape, np.uint8)
    for probability, expected in ((0.0, 0.0), (0.02, 1 - 0.98**49), (1.0, 1.0)):
        noise, generator = make(np, "cells", grid, {"probability": probability}), np.random.default_rng(0)
        told = [bool(noise.see((), clean, 0, 0, draw_of(noise, generator))[2]) for _ in range(1000)]
        assert abs(np.mean(told) - expected) < 0.08


@pytest.mark.parametrize(
    ("name", "view", "options", "words"),
    [
        ("randm", VIEW, {}, ("noise randm", "Did you mean random")),
        ("random", VIEW, {"probabilty": 0.1}, ("option probabilty", "Did you mean probability")),
        ("random", VIEW, {"probability": 1.5}, ("probability: got 1.5", "0 to 1")),
        ("random", VIEW._replace(shape=(3, 84, 84)), {}, ("[3, 84, 84]", "channels last")),
        ("brownian", VIEW._replace(shape=()), {}, ("shape []", "vectors or images")),
        ("brownian", VIEW, {"walkers": 0}, ("walkers: got 0",)),
        ("on-demand", VIEW, {"action": 4}, ("action: got 4, expected 0 to 3",)),
        ("on-demand", VIEW._replace(num_actions=None), {}, ("vectors, expected Discrete",)),
        ("persistive", VIEW._replace(dtype="float32"), {}, ("float32", "bytes")),
        ("patches", VIEW._replace(shape=(7, 7, 3)), {}, ("[7, 7, 3]", "higher than 12")),
        ("patches", VIEW._replace(num_actions=19), {}, ("19 actions", "at most 18")),
        ("cells", VIEW._replace(dtype="float32"), {}, ("[14, 13] of float32", "grid of integers")),
        ("cells", VIEW, {}, ("got 1 channels", "give high")),
        ("cells", VIEW._replace(shape=(7, 7, 3)), {"high": (10, 5)}, ("got 2 numbers, expected 3",)),
        ("cells", VIEW._replace(lit=10.0), {"high": 11}, ("got [11], expected numbers from 0 to 10",)),
    ],
)
def test_what_does_not_fit_is_said_in_one_line(name, view, options, words):
    with pytest.raises(UserError) as error:
        make(np, name, view, options)
    assert "\n" not in str(error.value) and all(word in str(error.value) for word in words), str(error.value)

"""Noise over frames: the paper's equations, written out slowly, and what an agent can find out."""

import numpy as np
import pytest

from curiax.envs.noise import equations as noise

FRAME = (84, 84)


def frames(generator, batch_size, frame=FRAME):
    return generator.integers(0, 256, (batch_size, *frame), dtype=np.uint8)


def script(num_steps, batch_size, seed=0):
    """First flags and actions of streams: all start together, then each starts anew at times of its own."""
    generator = np.random.default_rng(seed)
    first = generator.random((num_steps, batch_size)) < 0.1
    first[0] = True
    return first, generator.integers(0, 18, (num_steps, batch_size))


def walks(num_steps, batch_size, frame=FRAME, seed=0):
    """U_t of many streams, found from noisy frames and clean ones, with the first flags and actions that led to it."""
    first, action = script(num_steps, batch_size, seed)
    layer = noise.make("persistive", batch_size, frame, seed)
    generator = np.random.default_rng(seed)
    found = []
    for t in range(num_steps):
        clean = frames(generator, batch_size, frame)
        noisy = clean.copy()
        layer.apply(noisy, first[t], action[t])
        found.append((noisy.astype(int) - clean) % 256)
    return np.stack(found), first, action


def test_persistive_noise_is_the_equations():
    num_steps, batch_size, frame = 60, 5, (6, 7)
    first, action = script(num_steps, batch_size)
    layer = noise.make("persistive", batch_size, frame, seed=3)
    same_coins = noise.generator_of(3)
    walk = np.zeros((batch_size, *frame), int)
    for t in range(num_steps):
        clean = frames(np.random.default_rng(t), batch_size, frame)
        noisy = clean.copy()
        layer.apply(noisy, first[t], action[t])
        up = noise.coins(same_coins, walk.shape)
        for b, i, j in np.ndindex(walk.shape):
            size = 1 if action[t, b] % 2 == 1 else 11
            epsilon = size if up[b, i, j] else -size
            walk[b, i, j] = 0 if first[t, b] else (walk[b, i, j] + epsilon) % 50
            assert noisy[b, i, j] == (int(clean[b, i, j]) + walk[b, i, j]) % 256
    assert walk.max() > 40  # it got about


def test_persistive_noise_starts_at_zero_and_steps_by_1_or_11_modulo_50():
    walk, first, action = walks(40, 16)
    assert walk.min() >= 0 and walk.max() == 49
    assert not np.any(walk[first])
    stride = (walk[1:] - walk[:-1]) % 50
    going_on = ~first[1:]
    odd, even = going_on & (action[1:] % 2 == 1), going_on & (action[1:] % 2 == 0)
    assert set(np.unique(stride[odd])) == {1, 49}
    assert set(np.unique(stride[even])) == {11, 39}


def test_every_pixel_steps_by_a_fair_coin_of_its_own():
    walk, first, action = walks(60, 16)
    going_on = ~first[1:] & (action[1:] % 2 == 1)
    up = ((walk[1:] - walk[:-1]) % 50 == 1)[going_on].reshape(going_on.sum(), -1) * 2.0 - 1  # [n, pixels]
    num_coins = up.size
    assert abs(up.mean()) < 5 / np.sqrt(num_coins)
    for one, other in ((up[:, 1:], up[:, :-1]), (up[:, 84:], up[:, :-84]), (up[1:], up[:-1])):  # beside, above, before
        assert abs(np.mean(one * other)) < 5 / np.sqrt(one.size)
    assert np.abs(up.mean(axis=0)).max() < 6 / np.sqrt(len(up))  # no pixel leans


def test_long_strides_count_as_noise():
    first, action = script(30, 8)
    layer = noise.make("persistive", 8, FRAME, seed=0)
    for t in range(30):
        told = layer.apply(np.zeros((8, *FRAME), np.uint8), first[t], action[t])
        np.testing.assert_array_equal(told, (action[t] % 2 == 0) & ~first[t])


def test_patches_lie_along_the_bottom_and_nowhere_else():
    clean = frames(np.random.default_rng(0), 4)
    noisy = clean.copy()
    told = noise.make("patches", 4, FRAME, seed=0).apply(noisy, np.zeros(4, bool), np.array([0, 3, 9, 17]))
    assert told.all()
    np.testing.assert_array_equal(noisy[:, :-12], clean[:, :-12])
    strip = noisy[:, -12:].reshape(4, 12, 7, 12)
    assert np.all(strip == strip[:, :1, :, :1]), "a patch has one grey"


def test_each_action_has_two_greys_of_its_own_for_the_patches():
    num_draws = 400
    layer = noise.make("patches", 18, FRAME, seed=0)
    drawn = []
    for _ in range(num_draws):
        obs = np.zeros((18, *FRAME), np.uint8)
        layer.apply(obs, np.zeros(18, bool), np.arange(18))
        drawn.append(obs[:, -1, ::12].astype(int))
    drawn = np.stack(drawn)  # [draws, action, patch]
    greys = [np.unique(drawn[:, action]) for action in range(18)]
    assert all(len(pair) == 2 and pair[1] - pair[0] == 96 for pair in greys)
    assert len({tuple(pair) for pair in greys}) == 18
    light = drawn > drawn.mean(axis=0, keepdims=True)
    np.testing.assert_allclose(light.mean(axis=0), 0.5, atol=0.13)  # five deviations
    assert abs(np.corrcoef(light[..., 0].ravel(), light[..., 1].ravel())[0, 1]) < 0.06


def test_the_strip_is_black_at_the_start_of_an_episode():
    obs = np.full((2, *FRAME), 200, np.uint8)
    told = noise.make("patches", 2, FRAME, seed=0).apply(obs, np.array([True, False]), np.array([5, 5]))
    assert not obs[0, -12:].any() and obs[1, -12:].any()
    assert told.tolist() == [False, True]


def test_no_noise_leaves_frames_alone():
    clean = frames(np.random.default_rng(0), 3)
    obs = clean.copy()
    assert not noise.make("none", 3, FRAME, seed=0).apply(obs, np.zeros(3, bool), np.arange(3)).any()
    np.testing.assert_array_equal(obs, clean)


@pytest.mark.parametrize("name", ["persistive", "patches"])
def test_noise_is_a_matter_of_its_seed(name):
    def draw(seed):
        layer = noise.make(name, 2, FRAME, seed)
        obs = np.zeros((2, *FRAME), np.uint8)
        for _ in range(3):
            layer.apply(obs, np.zeros(2, bool), np.array([1, 2]))
        return obs

    np.testing.assert_array_equal(draw(0), draw(0))
    assert np.any(draw(0) != draw(1))


def test_a_stride_worked_by_hand():
    walk = np.array([[0, 0, 49, 49, 10], [0, 5, 45, 49, 20]], np.uint8)
    up = np.array([[0, 1, 0, 1, 1], [0, 0, 1, 1, 0]], np.uint8)
    strode = noise.stride(np, walk, np.array([[1], [11]], np.uint8), up)
    assert strode.tolist() == [[49, 1, 48, 0, 11], [39, 44, 6, 10, 9]]

"""Observation spaces of every kind, read as one array."""

import numpy as np
import pytest
from gymnasium import spaces

from curiax.envs.gymnasium_observations import pick, picked, read, read_space
from curiax.errors import UserError

IMAGE = spaces.Box(0, 255, (20, 16, 3), np.uint8)
SMALL = spaces.Box(0, 9, (2, 2), np.int64)


def roundtrip(space, obs, kinds=0):
    """As a vector environment of one would give it."""
    reading = read_space(space, kinds)
    chosen = pick(reading, obs)
    batch = {name: x[None] for name, x in chosen.items()} if isinstance(chosen, dict) else chosen[None]
    x = read(picked(reading, space)[0], batch, (1,))
    assert x.shape == (1, *reading.shape) and x.dtype == reading.dtype
    return reading, x[0]


def test_bytes_of_an_image_stay_bytes_and_its_shape_is_kept():
    image = np.arange(960, dtype=np.uint8).reshape(20, 16, 3)
    reading, x = roundtrip(IMAGE, image)
    assert reading.scale == 255 and x.dtype == np.uint8
    np.testing.assert_array_equal(x, image)


def test_floats_are_made_float32():
    reading, x = roundtrip(spaces.Box(-np.inf, np.inf, (2,), np.float64), np.array([1.5, -2.0]))
    assert (x.dtype, x.tolist(), reading.scale) == (np.float32, [1.5, -2.0], 1.0)


def test_of_a_dict_with_an_image_the_image_is_taken_and_the_rest_is_dropped():
    space = spaces.Dict({"camera": IMAGE, "speed": spaces.Box(-1, 1, (2,)), "mission": spaces.Text(9)})
    image = np.full((20, 16, 3), 7, np.uint8)
    reading, x = roundtrip(space, {"camera": image, "speed": np.zeros(2, np.float32), "mission": "go"})
    np.testing.assert_array_equal(x, image)
    assert set(reading.dropped) == {"speed", "mission"} and x.dtype == np.uint8


def test_of_other_dicts_all_numbers_stand_side_by_side_each_in_its_own_unit():
    space = spaces.Dict({"a": SMALL, "b": spaces.Tuple([spaces.Discrete(3, start=1), spaces.Box(-5.0, 5.0, (1,))])})
    obs = {"a": np.array([[0, 9], [3, 6]]), "b": (np.int64(3), np.array([2.5], np.float32))}
    reading, x = roundtrip(space, obs)
    np.testing.assert_allclose(x, [0, 1, 1 / 3, 2 / 3, 0, 0, 1, 2.5], rtol=1e-6)
    assert reading.dropped == () and x.dtype == np.float32


def test_kinds_are_inputs_of_their_own_and_bytes():
    _, x = roundtrip(SMALL, np.array([[0, 1], [2, 1]]), kinds=3)
    assert x.reshape(4, 3).tolist() == [[1, 0, 0], [0, 1, 0], [0, 0, 1], [0, 1, 0]] and x.dtype == np.uint8
    _, x = roundtrip(spaces.MultiDiscrete([2, 3]), np.array([1, 2]))
    assert x.tolist() == [0, 1, 0, 0, 1]
    with pytest.raises(ValueError, match="has a category that is not one of 3"):
        roundtrip(SMALL, np.full((2, 2), 3), kinds=3)


def test_another_shape_is_said():
    space = spaces.Dict({"a": SMALL, "b": SMALL})
    with pytest.raises(ValueError, match=r"its b has shape \(2, 3\), where its space says \(2, 2\)"):
        pick(read_space(space), {"a": np.zeros((2, 2)), "b": np.zeros((2, 3))})


def test_a_space_without_numbers_is_refused():
    with pytest.raises(UserError, match="in which there are no numbers"):
        read_space(spaces.Text(5))

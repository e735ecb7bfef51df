"""Spaces read by their attributes, and arrays checked against them."""

from types import SimpleNamespace

import numpy as np
import pytest

from curiax.envs.spaces import Box, Discrete, MultiDiscrete, check_actions, check_segment, read_action_space
from curiax.envs.spaces import read_observation_space as read
from curiax.errors import UserError

T, B = 4, 3
VECTOR = read(Box((2,)), None)
FOUR = read_action_space(Discrete(4))


def arrays(**changed):
    """A segment that is right, but for what is changed."""
    right = {
        "obs": np.zeros((T, B, 2), np.float32),
        "actions": np.zeros((T, B), np.int64),
        "next_obs": np.ones((T, B, 2), np.float32),
        "terminated": np.zeros((T, B), bool),
        "truncated": np.zeros((T, B), bool),
    }
    return (right | changed).values()


def with_entry(value, dtype=np.float32, shape=(T, B, 2), index=(2, 1)):
    x = np.zeros(shape, dtype)
    x[index] = value
    return x


def test_spaces_are_known_by_their_attributes():
    # What Gymnasium's spaces have, without Gymnasium.
    image = SimpleNamespace(
        shape=(32, 32, 3), dtype=np.dtype("uint8"), low=np.zeros((32, 32, 3)), high=np.full((32, 32, 3), 255)
    )
    assert read(image, None)[:3] == ((32, 32, 3), "uint8", 255.0)
    discrete = SimpleNamespace(n=np.int64(5), start=np.int64(2), shape=(), dtype=np.dtype("int64"))
    assert read_action_space(discrete) == ((), None, 5, (2,), (), ())
    several = SimpleNamespace(nvec=np.array([2, 3]), shape=(2,), dtype=np.dtype("int64"))
    assert read_action_space(several) == ((2,), (2, 3), 5, (0, 0), (), ())
    low, high = np.array([-1.0, 0.0]), np.array([1.0, np.inf])
    box = SimpleNamespace(shape=(2,), dtype=np.dtype("float32"), low=low, high=high)
    assert read_action_space(box) == ((2,), (), 2, (), (-1.0, 0.0), (1.0, np.inf))


def test_only_integers_are_scaled_by_their_bounds_unless_told_otherwise():
    assert read(Box((2,), "float32", -8, 8), None).scale == 1
    assert read(Box((2,), "int16", -300, 20), None).scale == 300
    assert read(Box((2,), "float32", -8, 8), 8.0).scale == 8


def test_discrete_actions_begin_at_zero_whatever_their_start():
    space = read_action_space(Discrete(3, start=-1))
    np.testing.assert_array_equal(check_actions(space, np.array([[-1, 0, 1]]), (1, 3)), [[0, 1, 2]])


def test_several_discrete_actions_become_one_hot_parts_side_by_side():
    space = read_action_space(MultiDiscrete((2, 3)))
    np.testing.assert_array_equal(
        check_actions(space, np.array([[[1, 0], [0, 2]]]), (1, 2)), [[[0, 1, 1, 0, 0], [1, 0, 0, 0, 1]]]
    )


def test_real_actions_are_clipped_to_their_bounds_and_scaled():
    space = read_action_space(Box((3,), "float32", np.array([0, -1, -np.inf]), np.array([4, 1, np.inf])))
    scaled = check_actions(space, np.array([[[1.0, 5.0, 7.0]]]), (1, 1))
    np.testing.assert_allclose(scaled, [[[-0.5, 1.0, 7.0]]])


def test_bytes_stay_bytes_and_other_numbers_become_single_floats():
    assert check_segment(VECTOR, FOUR, *arrays(obs=np.zeros((T, B, 2), np.float64))).obs.dtype == np.float32
    grey = read(Box((2,), "uint8", 0, 255), None)
    x = np.zeros((T, B, 2), np.uint8)
    assert check_segment(grey, FOUR, *arrays(obs=x, next_obs=x)).obs.dtype == np.uint8


def test_either_flag_ends_an_episode():
    flags = arrays(terminated=with_entry(1, int, (T, B)), truncated=with_entry(True, bool, (T, B), (0, 0)))
    ended = check_segment(VECTOR, FOUR, *flags).ended
    assert ended[2, 1] and ended[0, 0] and ended.sum() == 2


MISTAKES = {
    "obs of another shape": ({"obs": np.zeros((T, B, 5), np.float32)}, ("obs", "[4, 3, 5]", "[T, B, 2]")),
    "no batch axis": ({"obs": np.zeros((T, 2), np.float32)}, ("obs", "[4, 2]", "[T, B, 2]")),
    "no steps": ({"obs": np.zeros((0, B, 2), np.float32)}, ("obs", "[0, 3, 2]", "[T, B, 2]")),
    "ragged": ({"obs": [[[1.0, 2.0]], [[1.0]]]}, ("obs", "unequal length")),
    "integers for floats": ({"obs": np.zeros((T, B, 2), np.uint8)}, ("obs", "uint8", "floats")),
    "NaN": ({"obs": with_entry(np.nan)}, ("obs", "nan", "step 2", "trajectory 1", "finite")),
    "infinity": ({"next_obs": with_entry(np.inf)}, ("next_obs", "inf", "step 2", "trajectory 1", "finite")),
    "fewer next_obs": ({"next_obs": np.zeros((T - 1, B, 2), np.float32)}, ("next_obs", "[3, 3, 2]", "[4, 3, 2]")),
    "more actions": ({"actions": np.zeros((T + 1, B), int)}, ("actions", "[5, 3]", "[4, 3]")),
    "float actions": ({"actions": np.zeros((T, B))}, ("actions", "float64", "integers")),
    "action too high": ({"actions": with_entry(4, int, (T, B))}, ("actions", "got 4", "step 2", "0 to 3")),
    "action too low": ({"actions": with_entry(-1, int, (T, B))}, ("actions", "got -1", "trajectory 1", "0 to 3")),
    "flags of another shape": ({"terminated": np.zeros(B, bool)}, ("terminated", "[3]", "[4, 3]")),
    "flags that are no flags": ({"truncated": with_entry(2, int, (T, B))}, ("truncated", "int64", "true or false")),
}


@pytest.mark.parametrize("mistake", MISTAKES)
def test_a_mistake_is_one_line_that_names_argument_got_and_expected(mistake):
    changed, words = MISTAKES[mistake]
    with pytest.raises(UserError) as error:
        check_segment(VECTOR, FOUR, *arrays(**changed))
    assert "\n" not in str(error.value)
    assert all(word in str(error.value) for word in words), str(error.value)


@pytest.mark.parametrize(
    ("space", "x", "words"),
    [
        (MultiDiscrete((2, 3)), with_entry(3, int), ("actions", "got 3", "0 to 1")),
        (Box((2,)), with_entry(np.nan), ("actions", "nan", "finite")),
        (Box((2,)), np.full((T, B, 2), "a"), ("actions", "numbers")),
    ],
)
def test_vector_actions_are_checked_too(space, x, words):
    with pytest.raises(UserError) as error:
        check_actions(read_action_space(space), x, (T, B))
    assert all(word in str(error.value) for word in words), str(error.value)


def test_floats_for_bytes_are_refused():
    with pytest.raises(UserError, match="obs: got float32, expected uint8"):
        check_segment(read(Box((2,), "uint8", 0, 255), None), FOUR, *arrays())


@pytest.mark.parametrize(
    "space",
    [
        SimpleNamespace(n=4, shape=(4,)),  # MultiBinary
        SimpleNamespace(spaces={}),
        Discrete(0),
        MultiDiscrete((2, 0)),
        Box((2,), "float32", 1, 1),
        Box((2,), "int32", 0, 5),
    ],
)
def test_other_action_spaces_are_refused(space):
    with pytest.raises(UserError, match=r"action_space: got .* expected Discrete, MultiDiscrete or a Box"):
        read_action_space(space)


@pytest.mark.parametrize(
    ("space", "scale", "words"),
    [
        (SimpleNamespace(spaces={}), None, "expected a Box"),
        (Box((2,), "complex64"), None, "expected numbers"),
        (Box((0,)), None, "at least one"),
        (Box((4, 84, 84), "uint8", 0, 255), None, "expected channels last"),
        (Box((2,)), 0.0, "observation_scale: got 0.0"),
    ],
)
def test_other_observation_spaces_are_refused(space, scale, words):
    with pytest.raises(UserError, match=words):
        read(space, scale)

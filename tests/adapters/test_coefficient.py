"""The weight of the bonus."""

import numpy as np
import pytest

import curiax
from curiax.dropin.coefficient import Coefficient, Returns


def test_returns_worked_by_hand_start_anew_with_an_episode():
    returns = Returns(0.5)
    reward = np.array([[1.0, 0.0], [2.0, 4.0], [3.0, 0.0]])
    ended = np.array([[False, False], [True, False], [False, False]])
    np.testing.assert_allclose(returns.add(reward, ended), [[1, 0], [2.5, 4], [3, 2]])
    np.testing.assert_allclose(returns.add(np.zeros((1, 2)), np.zeros((1, 2), bool)), [[1.5, 1.0]])  # goes on


@pytest.mark.parametrize("share", [0.1, 0.5])
def test_auto_holds_the_intrinsic_share_of_the_return(share):
    coefficient, rng = Coefficient("auto", share), np.random.default_rng(0)
    for _ in range(50):
        coefficient.see(-3 * rng.random((20, 2)), 0.2 * rng.random((20, 2)))
    extrinsic, intrinsic = 1.5, 0.1 * coefficient.value
    assert intrinsic / (extrinsic + intrinsic) == pytest.approx(share, rel=0.05)


def test_without_any_reward_the_bonus_is_paid_as_it_is():
    coefficient = Coefficient("auto")
    assert coefficient.value == 1
    coefficient.see(np.zeros((4, 1)), np.ones((4, 1)))
    assert coefficient.value == 1


def test_a_number_stays():
    coefficient = Coefficient(0.3)
    coefficient.see(np.ones((4, 1)), np.ones((4, 1)))
    assert coefficient.value == 0.3


@pytest.mark.parametrize(
    ("arguments", "line"),
    [
        (("automatic",), r"^coefficient: got 'automatic', expected a number of at least 0, or 'auto'$"),
        ((-1,), "^coefficient: got -1, expected"),
        ((float("nan"),), "^coefficient: got nan, expected"),
        (("auto", 1.0), "^share: got 1.0, expected a number between 0 and 1$"),
    ],
)
def test_mistakes_are_one_line(arguments, line):
    with pytest.raises(curiax.UserError, match=line):
        Coefficient(*arguments)

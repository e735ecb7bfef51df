"""Fields set by dotted names: what is allowed, and what is said of the rest."""

import numpy as np
import pytest

from curiax.config import LAPTOP
from curiax.config.dotted import names, override
from curiax.errors import UserError


def test_one_field_changes_and_the_rest_stays():
    config = override(LAPTOP, "world.latent", 7)
    assert config.world.latent == 7 and LAPTOP.world.latent != 7
    assert override(config, "world.latent", LAPTOP.world.latent) == LAPTOP


def test_numbers_and_lists_take_the_type_of_the_field():
    config = override(override(LAPTOP, "learning_rate", np.float64(0.5)), "network.channels", [4, np.int64(8)])
    assert type(config.learning_rate) is float and config.network.channels == (4, 8)
    assert type(override(LAPTOP, "bonus.decay", 0).bonus.decay) is float
    hash(config)  # programs are compiled for it


def test_names_are_those_of_the_command_line():
    assert {"seed", "world.hidden", "bonus.prioritise", "method.dora_rate"} <= set(names(LAPTOP))
    assert "world" not in names(LAPTOP)


@pytest.mark.parametrize(
    ("name", "value", "words"),
    [
        ("world.laten", 3, ("world.laten", "Did you mean world.latent?")),
        ("world", 3, ("option world", "unknown")),
        ("world.latent", 3.5, ("world.latent", "3.5", "an integer")),
        ("world.latent", True, ("world.latent", "True", "an integer")),
        ("world.latent", "3", ("world.latent", "'3'", "an integer")),
        ("learning_rate", "fast", ("learning_rate", "'fast'", "a number")),
        ("bonus.prioritise", 1, ("bonus.prioritise", "1", "True or False")),
        ("world.hidden", 8, ("world.hidden", "8", "a tuple")),
        ("world.hidden", (8, "8"), ("world.hidden", "'8'", "an integer")),
        ("world.critic", "round", ("world.critic", "'round'", "concat, separable")),
        ("curiosity", 3, ("curiosity", "3", "str")),
    ],
)
def test_a_mistake_is_one_line_that_names_field_value_and_what_is_allowed(name, value, words):
    with pytest.raises(UserError) as error:
        override(LAPTOP, name, value)
    assert "\n" not in str(error.value)
    assert all(word in str(error.value) for word in words), str(error.value)

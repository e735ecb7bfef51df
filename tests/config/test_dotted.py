"""Fields set by dotted names: what is allowed, and what is said of the rest."""

import numpy as np
import pytest

from curiax.commands.parsing import parse
from curiax.config import LAPTOP, Config
from curiax.config.dotted import differences, names, option, override, refuse_unread, replaced
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
    assert {"seed", "world.hidden", "bonus.prioritise", "vmpo.return_lambda"} <= set(names(LAPTOP))
    assert "world" not in names(LAPTOP)


def test_fields_are_replaced_several_at_a_time_and_in_groups():
    config = replaced(LAPTOP, {"seed": 3, "world.latent": 7, "world.noise": 8})
    assert (config.seed, config.world.latent, config.world.noise) == (3, 7, 8)
    assert differences(LAPTOP, config) == {"seed": (0, 3), "world.latent": (32, 7), "world.noise": (32, 8)}
    assert differences(LAPTOP, LAPTOP) == {}


def test_an_option_is_spelled_as_the_command_line_reads_it():
    spelled = {
        "vmpo.return_lambda": (0.5, ["--vmpo.return-lambda", "0.5"]),
        "vmpo.form": ("sparse", ["--vmpo.form", "sparse"]),
        "world.hidden": ((9, 8), ["--world.hidden", "9", "8"]),
        "network.feature_hidden": ((), ["--network.feature-hidden"]),
        "sync": (True, ["--sync"]),
        "bonus.prioritise": (False, ["--bonus.no-prioritise"]),
        "world.layer_norm": (False, ["--world.no-layer-norm"]),
    }
    for name, (value, words) in spelled.items():
        assert option(name, value) == words
    words = [word for name, (value, _) in spelled.items() for word in option(name, value)]
    expected = replaced(LAPTOP, {name: value for name, (value, _) in spelled.items()})
    assert parse(Config, words, "train", LAPTOP) == expected


def test_a_field_that_was_set_and_is_not_read_is_refused_by_its_flag():
    read = ("seed", "world.*")
    refuse_unread("the test", replaced(LAPTOP, {"seed": 3, "world.latent": 7}), LAPTOP, read)
    with pytest.raises(UserError) as error:
        refuse_unread("the test", replaced(LAPTOP, {"seed": 3, "vmpo.return_lambda": 0.5}), LAPTOP, read)
    assert str(error.value) == "--vmpo.return-lambda: the test does not read it; it reads --seed, --world.*"


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
        ("vmpo.form", "round", ("vmpo.form", "'round'", "paper, sparse")),
        ("atari.noise", "round", ("atari.noise", "'round'", "none, persistive, patches")),
        ("curiosity", 3, ("curiosity", "3", "str")),
    ],
)
def test_a_mistake_is_one_line_that_names_field_value_and_what_is_allowed(name, value, words):
    with pytest.raises(UserError) as error:
        override(LAPTOP, name, value)
    assert "\n" not in str(error.value)
    assert all(word in str(error.value) for word in words), str(error.value)

"""Every field has beside it what it may be; a value outside is refused in one line."""

import dataclasses
import math
import re
import typing

import pytest

from curiax.commands.cli import main
from curiax.config import LAPTOP, validate
from curiax.config.dotted import flag, get, names, replaced, type_of
from curiax.config.ranges import Above, Range, must_not_be_empty, range_of
from curiax.config.validation import check_field
from curiax.errors import UserError


def bare(name):
    """The type of a field without what is annotated to it."""
    hint = type_of(LAPTOP, name)
    return hint.__origin__ if hasattr(hint, "__metadata__") else hint


def allowed(name):
    return range_of(type_of(LAPTOP, name))


NUMBERS = [name for name in names(LAPTOP) if bare(name) in (int, float)]
FLOATS = [name for name in NUMBERS if bare(name) is float]
LAYERS = [name for name in names(LAPTOP) if bare(name) == tuple[int, ...]]
CHOICES = [name for name in names(LAPTOP) if typing.get_origin(bare(name)) is typing.Literal]


def ends(name):
    """The lowest and the highest value that is allowed, where there is one."""
    low, high = allowed(name)
    step = 1e-6 if isinstance(allowed(name), Above) else 0
    return [bare(name)(value) for value in (low + step, high - step) if math.isfinite(value)]


def outside(name):
    """Values just beyond the ends of the range."""
    low, high = allowed(name)
    step = {Above: 0, Range: 1 if bare(name) is int else 1e-6}[type(allowed(name))]
    return [bare(name)(value) for value in (low - step, high + step) if math.isfinite(value)]


def home(name):
    """A config in which the field may be set: of its own family, with a value of each stream of reward, and of a method
    to which a batch of 1 is enough."""
    env = {"atari": "atari/hero", "gym": "gym/CartPole-v1"}.get(name.partition(".")[0], LAPTOP.env)
    streams = {} if name == "reward" else {"reward": "mixed", "value": "separate"}
    return dataclasses.replace(LAPTOP, env=env, curiosity="byol-explore", **streams)


def refusal(name, value):
    """The one line with which a value is refused."""
    with pytest.raises(UserError) as caught:
        validate(replaced(home(name), {name: value}))
    message = str(caught.value)
    assert "\n" not in message
    return message


def each_value(values_of):
    return pytest.mark.parametrize(("name", "value"), [(name, value) for name in NUMBERS for value in values_of(name)])


@pytest.mark.parametrize("name", NUMBERS)
def test_every_number_has_its_range_beside_it(name):
    assert isinstance(allowed(name), Range | Above)
    assert allowed(name).allows(get(LAPTOP, name))


def test_every_field_is_a_number_layers_a_choice_a_switch_or_a_text():
    rest = [name for name in names(LAPTOP) if name not in {*NUMBERS, *LAYERS, *CHOICES} and bare(name) is not bool]
    assert rest == ["env", "curiosity", "gym.kwargs"]
    assert [name for name in rest if bare(name) is not str] == ["gym.kwargs"]
    assert bare("gym.kwargs") == tuple[str, ...]


def test_every_layer_has_from_1_to_65536_units():
    assert {name: allowed(name) for name in LAYERS} == dict.fromkeys(LAYERS, Range(1, 2**16)) != {}


@each_value(ends)
def test_the_ends_of_a_range_are_allowed(name, value):
    config = replaced(home(name), {name: value})
    assert validate(config) == config


@each_value(outside)
def test_a_value_outside_its_range_is_refused_by_flag_value_and_what_is_allowed(name, value):
    message = refusal(name, value)
    assert message.startswith(f"--{name.replace('_', '-')} {value}: must be ")
    said = message.split("must be")[1]
    assert all(str(end) in said for end in allowed(name) if math.isfinite(end)), message


def test_refusals_golden():
    assert refusal("vmpo.return_lambda", 1.5) == "--vmpo.return-lambda 1.5: must be from 0 to 1"
    assert refusal("bonus.decay", 1.0) == "--bonus.decay 1.0: must be above 0 and below 1"
    assert refusal("world.temperature", 0.0) == "--world.temperature 0.0: must be above 0"
    assert refusal("world.horizon", 0) == "--world.horizon 0: must be at least 1"
    assert refusal("seed", 2**32) == "--seed 4294967296: must be from 0 to 4294967295"


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf])
@pytest.mark.parametrize("name", FLOATS)
def test_a_number_must_be_finite(name, value):
    assert refusal(name, value) == f"{flag(name)} {value}: must be finite and {allowed(name)}"


@pytest.mark.parametrize("name", LAYERS)
def test_layers_of_no_size_and_of_any_size_are_refused(name):
    for size in (0, -3, 2**16 + 1, 10**400):
        assert refusal(name, (8, size)) == f"{flag(name)} {size}: must be from 1 to 65536"


@pytest.mark.parametrize("name", LAYERS)
def test_no_layers_at_all_are_allowed_only_where_a_network_does_without(name):
    if must_not_be_empty(type_of(LAPTOP, name)):
        assert refusal(name, ()) == f"{flag(name)}: needs at least one value"
    else:
        validate(replaced(LAPTOP, {name: ()}))
    validate(replaced(LAPTOP, {name: (1,)}))


def test_convolutions_world_model_and_critic_need_a_layer():
    needed = [name for name in LAYERS if must_not_be_empty(type_of(LAPTOP, name))]
    assert needed == ["network.channels", "world.hidden", "world.critic_hidden"]


@pytest.mark.parametrize("name", CHOICES)
def test_a_word_that_is_no_choice_is_refused_with_those_there_are(name):
    choices = typing.get_args(bare(name))
    with pytest.raises(UserError) as caught:
        check_field(name, type_of(LAPTOP, name), "other")  # no config of these tests can hold it: types are checked
    assert str(caught.value) == f"{flag(name)} other: must be one of {', '.join(choices)}"
    for choice in choices:
        validate(replaced(home(name), {name: choice}))


def test_flags_are_spelled_as_the_help_of_the_command_line_spells_them(capsys):
    with pytest.raises(SystemExit):
        main(["train", "--help"])
    spelled = set(re.findall(r"--[\w.-]+", capsys.readouterr().out))
    assert [name for name in names(LAPTOP) if flag(name) not in spelled] == ["env"]  # which is given by its place
    assert "--vmpo.return-lambda" in spelled

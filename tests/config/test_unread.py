"""No option is silently ignored: what a command does not read is refused by name, what it reads reaches the work."""

import typing

import pytest
from rich.console import Console

import curiax
from curiax import dropin
from curiax.commands import diagnose, study
from curiax.config import LAPTOP, get
from curiax.config.dotted import flag, names, option, type_of
from curiax.config.presets import BASE
from curiax.errors import UserError
from curiax.lab.patches import run as patches
from curiax.lab.patches import world as patches_world
from curiax.lab.scm import stream as scm

FIELDS = names(LAPTOP)
each_field = pytest.mark.parametrize("name", FIELDS)

# What the studies say of fields that are their own, where the flag is not what they name.
OWN = {"env": "environment", "curiosity": "method", "seed": "seed", "atari.noise": "noise"}

# What an option needs beside it.
STREAMS = ["--reward", "mixed", "--value", "separate"]
NEEDS = {"value": STREAMS[:2], "vmpo.intrinsic_discount": STREAMS, "vmpo.intrinsic_episodic": STREAMS}


def bare(name):
    """The type of a field without what is annotated to it."""
    hint = type_of(LAPTOP, name)
    return hint.__origin__ if hasattr(hint, "__metadata__") else hint


def another(config, name):
    """A value of the field that is allowed, and not the config's."""
    value = get(config, name)
    texts = {"env": "atari/hero", "curiosity": "rnd", "gym.kwargs": ("size=8",)}
    if name in texts:
        return texts[name]
    if isinstance(value, bool):
        return not value
    if isinstance(value, str):
        return next(choice for choice in typing.get_args(bare(name)) if choice != value)
    if isinstance(value, int):
        return value + 1
    return (*value, 9) if isinstance(value, tuple) else value / 2 or 0.5


def is_read(name, read):
    return name in read or f"{name.partition('.')[0]}.*" in read


def refusal(give):
    """The one line with which something is refused."""
    with pytest.raises(UserError) as caught:
        give()
    assert "\n" not in str(caught.value)
    return str(caught.value)


@pytest.fixture
def begun(monkeypatch):
    """The configs with which work would have begun."""
    configs = []

    def begin(config, *_):
        configs.append(config)
        return 0

    monkeypatch.setattr("curiax.lab.scm.run.run", begin)
    monkeypatch.setattr("curiax.lab.patches.run.run", begin)
    monkeypatch.setattr("curiax.lab.diagnose.run.run", lambda request, console: begin(request.config))
    monkeypatch.setattr("curiax.dropin.curiosity.begin", lambda setup: begin(setup.config))
    return configs


@pytest.mark.parametrize("read", [scm.READ, patches.READ, diagnose.UNREAD, dropin.READ])
def test_what_is_said_to_be_read_or_not_are_fields_or_groups_of_them(read):
    groups = {f"{name.partition('.')[0]}.*" for name in FIELDS if "." in name}
    assert set(read) <= {*FIELDS, *groups}


@each_field
@pytest.mark.parametrize(
    ("command", "usual", "read"),
    [("scm", scm.CONFIG, scm.READ), ("patches", patches_world.CONFIG, patches.READ)],
    ids=["scm", "patches"],
)
def test_a_study_of_one_process_refuses_what_it_does_not_read(command, usual, read, name, begun):
    value = another(usual, name)

    def give():
        return study.main([command, *option(name, value)], Console())

    if is_read(name, read):
        assert give() == 0
        assert [get(config, name) for config in begun] == [value]
        return
    message = refusal(give)
    assert message.startswith((f"{flag(name)}: ", f"{flag(name)} ")) or (name in OWN and OWN[name] in message)
    assert begun == []


@each_field
def test_a_diagnosis_refuses_what_its_exploration_does_not_read(name, begun):
    env = {"atari": "atari/hero", "gym": "gym/CartPole-v1"}.get(name.partition(".")[0], "maze/random")
    value = another(LAPTOP, name)

    def give():
        return diagnose.main([env, *NEEDS.get(name, []), *option(name, value)], Console())

    if name == "env_steps":  # an option of the command itself
        request = diagnose.read([env, *option(name, value)])
        assert request.budget.steps == value and request.config.env_steps == LAPTOP.env_steps
    elif name not in diagnose.UNREAD:
        assert give() == 0
        assert [get(config, name) for config in begun] == [value]
    else:
        assert refusal(give).startswith(f"{flag(name)}: the exploration does not read it")
        assert begun == []


@each_field
def test_a_curiosity_in_another_loop_refuses_options_that_it_does_not_read(name, begun):
    value = another(BASE, name)

    def give():
        return curiax.Curiosity("byol-hindsight", curiax.Box((3,)), curiax.Discrete(2), options={name: value})

    if is_read(name, dropin.READ):
        give()
        assert [get(config, name) for config in begun] == [value]
    else:
        assert refusal(give) == f"options: {name}: a curiosity in your own loop does not read it"
        assert begun == []

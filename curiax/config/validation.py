"""Checks a config: the range of each field, and conditions on several fields. Checks the options of a command."""

import math
import typing
from dataclasses import fields
from typing import Any, TypeVar

from curiax.config.dotted import flag, get, names, type_of
from curiax.config.ranges import must_not_be_empty, range_of
from curiax.config.schema import AtariOptions, Config, GymOptions, VMPOConfig, keywords
from curiax.errors import UserError

Options = TypeVar("Options")


def validate(config: Config) -> Config:
    """Returns the config. Raises a UserError that names the field, its value and what is allowed."""
    for name in names(config):
        check_field(name, type_of(config, name), get(config, name))
    keywords(config.gym)  # raises if they cannot be read
    if config.world.horizon > config.unroll:
        raise UserError(f"--world.horizon {config.world.horizon}: must be from 1 to the unroll, {config.unroll}")
    check_values(config)
    refuse_options_of_others(config, "atari", AtariOptions())
    refuse_options_of_others(config, "gym", GymOptions())
    return config


def check_values(config: Config) -> None:
    """Raises a UserError if there are not two streams of reward, or if an option of theirs was set without them."""
    if config.value == "separate":
        if config.reward != "mixed":
            raise UserError(f"--value separate: is for --reward mixed only, not for {config.reward}")
        return
    for name in ("intrinsic_discount", "intrinsic_episodic"):
        if (value := getattr(config.vmpo, name)) != getattr(VMPOConfig(), name):
            raise UserError(f"{flag(f'vmpo.{name}')} {value}: is for --value separate only, not for {config.value}")


def check_options(options: Options) -> Options:
    """Returns the options of a command, a dataclass. Raises a UserError if one is outside the range beside it."""
    hints = typing.get_type_hints(type(options), include_extras=True)
    for field in fields(options):  # pyright: ignore[reportArgumentType]
        if (value := getattr(options, field.name)) is not None:
            check_field(field.name, hints[field.name], value)
    return options


def check_field(name: str, hint: Any, value: Any) -> None:
    """Raises a UserError if the value is not allowed. The range of a tuple is that of each item."""
    allowed = range_of(hint)
    items = value if isinstance(value, tuple) else (value,)
    bad = [item for item in items if allowed is not None and not allowed.allows(item)]
    if bad:
        finite = "" if -math.inf < bad[0] < math.inf else "finite and "
        raise UserError(f"{flag(name)} {bad[0]}: must be {finite}{allowed}")
    if must_not_be_empty(hint) and not value:
        raise UserError(f"{flag(name)}: needs at least one value")
    bare = hint.__origin__ if hasattr(hint, "__metadata__") else hint  # without annotations
    options = typing.get_args(bare) if typing.get_origin(bare) is typing.Literal else ()
    if options and value not in options:
        raise UserError(f"{flag(name)} {value}: must be one of {', '.join(map(str, options))}")


def refuse_options_of_others(config: Config, family: str, usual: Any) -> None:
    """Raises a UserError if an option of another family of environments was set."""
    if config.env.startswith(f"{family}/"):
        return
    for name in names(usual):
        if (value := getattr(getattr(config, family), name)) != getattr(usual, name):
            raise UserError(f"{flag(f'{family}.{name}')} {value}: is for {family}/… only, not for {config.env}")

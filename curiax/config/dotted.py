"""Fields of the config by their dotted names, such as "world.latent"."""

import reprlib
import typing
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import fields, is_dataclass, replace
from typing import Any, Literal

from curiax.errors import UserError, unknown_name

LARGEST = 2**63  # integers are below this
EXPECTED = {int: "an integer", float: "a number", bool: "True or False", str: "a printable str"}


def names(config: Any, prefix: str = "") -> list[str]:
    """All dotted names."""
    found = []
    for field in fields(config):
        part = getattr(config, field.name)
        found += names(part, f"{prefix}{field.name}.") if is_dataclass(part) else [prefix + field.name]
    return found


def get(config: Any, name: str) -> Any:
    """The value of a field."""
    for part in name.split("."):
        config = getattr(config, part)
    return config


def replaced(config: Any, values: Mapping[str, Any]) -> Any:
    """The config with other values in some fields."""
    for name, value in values.items():
        first, _, rest = name.partition(".")
        value = replaced(getattr(config, first), {rest: value}) if rest else value
        config = replace(config, **{first: value})
    return config


def type_of(config: Any, name: str) -> Any:
    """The annotation of a field."""
    *parents, last = name.split(".")
    for parent in parents:
        config = getattr(config, parent)
    return typing.get_type_hints(type(config), include_extras=True)[last]


def differences(old: Any, new: Any) -> dict[str, tuple[Any, Any]]:
    """Dotted names of the fields in which two configs differ, and both values."""
    pairs = {name: (get(old, name), get(new, name)) for name in names(new)}
    return {name: (before, after) for name, (before, after) in pairs.items() if before != after}


def flag(name: str) -> str:
    """A field as the command line spells it; the environment is positional."""
    return "ENV" if name == "env" else f"--{name.replace('_', '-')}"


def option(name: str, value: Any) -> list[str]:
    """The command-line arguments that set a field."""
    if name == "env":
        return [value]
    if isinstance(value, bool):
        *groups, last = name.split(".")
        return [flag(name if value else ".".join([*groups, f"no-{last}"]))]
    return [flag(name), *map(str, value if isinstance(value, tuple | list) else [value])]


def is_read(name: str, read: Sequence[str]) -> bool:
    return name in read or f"{name.partition('.')[0]}.*" in read


def refuse_unread(who: str, config: Any, usual: Any, read: Iterable[str]) -> None:
    """Raises a UserError if a field was set that this command does not read.

    `read` are dotted names; "world.*" is a whole group.
    """
    read = list(read)
    for name in differences(usual, config):
        if not is_read(name, read):
            raise UserError(f"{flag(name)}: {who} does not read it; it reads {', '.join(map(flag, read))}")


def read_options(options: Any, config: Any, read: Sequence[str]) -> dict[str, Any]:
    """Options of a program, by the names of their fields: "world.contrast-share" is "world.contrast_share".

    Raises a UserError if they are not names with values, or set a field that is not in `read`.
    """
    if not (options is None or (isinstance(options, Mapping) and all(isinstance(name, str) for name in options))):
        raise UserError(f"options: got {options!r}, expected names with values, such as {{'world.latent': 64}}")
    named = {name.replace("-", "_"): value for name, value in (options or {}).items()}
    for name in named:
        if name in names(config) and not is_read(name, read):
            raise UserError(f"options: {name}: a curiosity in your own loop does not read it")
    return named


def override(config: Any, name: str, value: Any) -> Any:
    """The config with one field replaced. Raises a UserError if its name is unknown or its type is wrong."""
    known = names(config)
    if name not in known:
        raise UserError(unknown_name("option", name, known))
    return replaced(config, {name: checked(name, type_of(config, name), value)})


def checked(name: str, hint: Any, value: Any) -> Any:
    """The value of a field in the field's type. Raises a UserError if it is of another type."""
    while hasattr(hint, "__metadata__"):  # Annotated
        hint = hint.__origin__
    origin, arguments = typing.get_origin(hint), typing.get_args(hint)
    if origin is tuple:
        if isinstance(value, str | Mapping) or not isinstance(value, Iterable):
            raise _wrong(name, value, "a tuple")
        return tuple(checked(name, arguments[0], item) for item in value)
    if origin is Literal:
        if value not in arguments:
            raise _wrong(name, value, f"one of {', '.join(map(str, arguments))}")
        return value
    if hint in (int, float):
        found = _number(hint, value)
    else:
        found = value if isinstance(value, hint) and str(value).isprintable() else None
    if found is None:
        raise _wrong(name, value, EXPECTED[hint])
    return found


def _number(kind: type, value: Any) -> int | float | None:
    """The value as an int or float; None if it is no such number, or too large."""
    if isinstance(value, bool) or not hasattr(value, "__index__" if kind is int else "__float__"):
        return None
    try:
        number = kind(value)
    except (OverflowError, TypeError):  # too large for a float; an array
        return None
    return number if kind is float or abs(number) < LARGEST else None


def _wrong(name: str, value: Any, expected: str) -> UserError:
    return UserError(f"{name}: got {reprlib.repr(value)}, expected {expected}")

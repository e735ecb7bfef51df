"""Fields of the config by their dotted names, such as "world.latent"."""

import typing
from collections.abc import Iterable, Mapping
from dataclasses import fields, is_dataclass, replace
from typing import Any, Literal

from curiax.errors import UserError, unknown_name


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


def refuse_unread(who: str, config: Any, usual: Any, read: Iterable[str]) -> None:
    """Raises a UserError if a field was set that this command does not read.

    `read` are dotted names; "world.*" is a whole group.
    """
    read = list(read)
    for name in differences(usual, config):
        if name not in read and f"{name.partition('.')[0]}.*" not in read:
            raise UserError(f"{flag(name)}: {who} does not read it; it reads {', '.join(map(flag, read))}")


def override(config: Any, name: str, value: Any) -> Any:
    """The config with one field replaced. Raises a UserError if its name is unknown or its type is wrong."""
    known = names(config)
    if name not in known:
        raise UserError(unknown_name("option", name, known))
    return replaced(config, {name: _checked(name, type_of(config, name), value)})


def _checked(name: str, hint: Any, value: Any) -> Any:
    while hasattr(hint, "__metadata__"):  # Annotated
        hint = hint.__origin__
    origin, arguments = typing.get_origin(hint), typing.get_args(hint)
    if origin is tuple:
        if isinstance(value, str) or not isinstance(value, Iterable):
            raise _wrong(name, value, "a tuple")
        return tuple(_checked(name, arguments[0], item) for item in value)
    if origin is Literal:
        if value not in arguments:
            raise _wrong(name, value, f"one of {', '.join(map(str, arguments))}")
        return value
    number = not isinstance(value, bool) and hasattr(value, "__index__" if hint is int else "__float__")
    if hint in (int, float) and number and not isinstance(value, str):
        return hint(value)
    if hint not in (int, float) and isinstance(value, hint):
        return value
    raise _wrong(name, value, {int: "an integer", float: "a number", bool: "True or False"}.get(hint, hint.__name__))


def _wrong(name: str, value: Any, expected: str) -> UserError:
    return UserError(f"{name}: got {value!r}, expected {expected}")

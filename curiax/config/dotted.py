"""Fields of the config set by their dotted names from Python, as the command line sets them: checked one by one."""

import typing
from dataclasses import fields, is_dataclass, replace
from typing import Any, Literal

from curiax.errors import UserError, unknown_name


def override(config: Any, name: str, value: Any) -> Any:
    """The config with one field replaced, or a line that says what is allowed."""
    known = names(config)
    if name not in known:
        raise UserError(unknown_name("option", name, known))
    return _replace(config, name.split("."), _check(name, hint_of(config, name), value))


def names(config: Any, prefix: str = "") -> list[str]:
    """All dotted names."""
    found = []
    for field in fields(config):
        part = getattr(config, field.name)
        found += names(part, f"{prefix}{field.name}.") if is_dataclass(part) else [prefix + field.name]
    return found


def hint_of(config: Any, name: str) -> Any:
    *parents, last = name.split(".")
    for parent in parents:
        config = getattr(config, parent)
    return typing.get_type_hints(type(config))[last]


def _replace(config: Any, path: list[str], value: Any) -> Any:
    head, *rest = path
    return replace(config, **{head: _replace(getattr(config, head), rest, value) if rest else value})


def _check(name: str, hint: Any, value: Any) -> Any:
    origin, arguments = typing.get_origin(hint), typing.get_args(hint)
    if origin is tuple:
        if isinstance(value, str) or not isinstance(value, typing.Iterable):
            raise _wrong(name, value, "a tuple")
        return tuple(_check(name, arguments[0], item) for item in value)
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


def get(config: Any, name: str) -> Any:
    """The value of a dotted field name."""
    for part in name.split("."):
        config = getattr(config, part)
    return config

"""Shared by all commands: reading options and one-line messages."""

import contextlib
import io
import re
from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from typing import Annotated, TypeVar

import tyro
from tyro.constructors import ConstructorRegistry, PrimitiveConstructorSpec, PrimitiveTypeInfo

from curiax.config import Config
from curiax.config.validation import check_options
from curiax.envs.modules import import_all
from curiax.errors import UserError

Command = TypeVar("Command")
MOST_DIGITS = 30  # of an integer: 1e999999999 would fill the memory
INTEGERS = ConstructorRegistry()


@INTEGERS.primitive_rule
def integer_rule(info: PrimitiveTypeInfo) -> PrimitiveConstructorSpec | None:
    """Integers may be typed as 1000000, 1_000_000, 1e6 or 2.5e6."""
    if info.type is not int:
        return None
    return PrimitiveConstructorSpec(
        nargs=1,
        metavar="INT",
        instance_from_str=lambda words: integer(words[0]),
        is_instance=lambda value: isinstance(value, int),
        str_from_instance=lambda value: [str(value)],
    )


def integer(text: str) -> int:
    """The integer that a text stands for. Raises a ValueError if there is none."""
    try:
        value = Decimal(text)
    except InvalidOperation:
        raise ValueError(f"{text!r} is not an integer") from None
    if not value.is_finite() or value != value.to_integral_value():
        raise ValueError(f"{text!r} is not an integer")
    if value.adjusted() >= MOST_DIGITS:
        raise ValueError(f"{text!r} has more than {MOST_DIGITS} digits")
    return int(value)


@dataclass(frozen=True)
class Imports:
    """Modules of your own."""

    modules: Annotated[tyro.conf.UseAppendAction[tuple[str, ...]], tyro.conf.arg(name="import", metavar="MODULE")] = ()
    """import a module of yours, which registers environments or methods; may be given several times"""


def parse(command: type[Command], args: list[str], name: str, default: Command = tyro.MISSING_NONPROP) -> Command:
    """The options of `curiax NAME`, as the command's dataclass, each in its range. Imports what `--import` names."""
    with one_line_messages(), INTEGERS:
        parsed = tyro.cli(command, args=args, prog=f"curiax {name}", default=default)
    import_all(getattr(parsed, "imports", Imports()).modules)
    return check_options(parsed)


def parse_known(command: type[Command], args: list[str], name: str) -> tuple[Command, list[str]]:
    """The same, and the arguments that are not options of this command."""
    with one_line_messages(), INTEGERS:
        parsed, rest = tyro.cli(command, args=args, prog=f"curiax {name}", return_unknown_args=True)
    import_all(getattr(parsed, "imports", Imports()).modules)
    return check_options(parsed), rest


@contextlib.contextmanager
def one_line_messages() -> Iterator[None]:
    """Turns tyro's boxed message into a `UserError` of one line."""
    message = io.StringIO()
    try:
        with contextlib.redirect_stderr(message):
            yield
    except SystemExit as stop:
        if stop.code in (0, None):
            raise
        raise UserError(one_line(message.getvalue())) from None


def one_line(boxed: str) -> str:
    """tyro's message without its box and its pointer to the help text."""
    text = re.sub(r"[─│╭╮╰╯]+|-{4,}", " ", boxed)
    text = re.split(r"For full helptext|Argument helptext", text)[0]
    words = " ".join(text.split())
    titles = "Unrecognized options|Value error|Invalid choice|Parsing error|Required options|Missing argument"
    words = re.sub(rf"^({titles}) (?=\S)", "", words)
    words = re.sub(r"no type matching .* - <class '(?!NoneType)\w+'>: ", "", words)  # of an option that may be None
    return re.sub(r"Could not find valid parse for arguments: \[(.*)\]", r"\1 are not all integers", words)


def rounded(config: Config) -> str:
    """A line that says to how many steps `--env-steps` is rounded; "" if that is less than 1 percent off."""
    steps = config.num_updates * config.steps_per_update
    if abs(steps - config.env_steps) <= 0.01 * config.env_steps:
        return ""
    interval = config.log_every * config.steps_per_update
    return f"--env-steps {config.env_steps:,} is rounded to {steps:,}, in whole log intervals of {interval:,}"

"""Shared by all commands: reading options, one-line messages, the compilation cache."""

import contextlib
import io
import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import TypeVar

import tyro

from curiax.errors import UserError

Command = TypeVar("Command")


def parse(command: type[Command], args: list[str], name: str, default: Command = tyro.MISSING_NONPROP) -> Command:
    """The options of `curiax NAME`, as an instance of the command's dataclass."""
    with one_line_messages():
        return tyro.cli(command, args=args, prog=f"curiax {name}", default=default)


def parse_known(command: type[Command], args: list[str], name: str) -> tuple[Command, list[str]]:
    """The same, and the arguments that are not options of this command."""
    with one_line_messages():
        return tyro.cli(command, args=args, prog=f"curiax {name}", return_unknown_args=True)


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
    text = re.sub(r"[─│╭╮╰╯]+", " ", boxed)
    text = re.split(r"For full helptext|Argument helptext", text)[0]
    words = " ".join(text.split())
    titles = "Unrecognized options|Value error|Invalid choice|Parsing error|Required options|Missing argument"
    return re.sub(rf"^({titles}) (?=\S)", "", words)


def use_compilation_cache() -> None:
    """Caches compiled programs on disk: where JAX's environment variables say, or in the user's cache directory."""
    import jax

    cache = Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache")) / "curiax" / "jax"
    settings = {"jax_compilation_cache_dir": str(cache), "jax_persistent_cache_min_compile_time_secs": 0.5}
    for name, value in settings.items():
        if not os.environ.get(name.upper()):
            jax.config.update(name, value)

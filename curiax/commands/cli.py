"""The command line: runs the command that is named, and turns every exception into one line."""

import contextlib
import io
import os
import platform
import signal
import sys
from collections.abc import Iterator
from importlib import import_module

from curiax.errors import DEBUG, UserError, report, unknown_name
from curiax.training.signals import INTERRUPTED, end, prompt_stop

USAGE = """curiax — curiosity that can tell noise from novelty

  curiax train ENV [--curiosity METHOD] [--seed N] [--preset laptop|paper] [--field value ...]
                                 train an agent, or resume a run   (curiax train --help: every field)
  curiax study NAME [--only PATTERN] [--seeds N ...] [--jobs N] [--out DIR] [--dry-run] [--field value ...]
                                 train all runs of a study, or resume them   (on a cluster: --launcher ray)
  curiax evaluate RUN [--episodes N] [--seed N] [--json FILE] [--video FILE.gif]
                                 play episodes with a run's newest policy
  curiax report DIR [--out DIR] [--no-films] [--against METHOD] [--json FILE]
                                 page, figure and tables of a study or of runs, finished or not
  curiax diagnose ENV [--minutes M] [--env-steps N] [--run-dir RUN] [--out DIR] [--field value ...]
                                 find the noise in an environment: explores it and writes a page
  curiax play ENV                walk a maze yourself in the terminal
  curiax list envs|methods|studies
                                 list environments, methods or studies
  curiax theory [--json FILE] [--figure FILE]
                                 the paper's lemmas and theorems, checked on random finite worlds
  curiax bench [atari] [--json FILE]
                                 speed table of this machine
  curiax --version               versions of curiax, JAX and Python

Every command takes --help, and --debug, which shows the traceback of an error. Commands that name environments, methods
or runs take --import MODULE, a module of yours that registers environments or methods.
"""

# Each is a module of this package with a function `main(args, console)`. It is imported only when it is called.
COMMANDS = ("train", "study", "evaluate", "report", "diagnose", "play", "list", "theory", "bench")
DEBUG_OPTION = "--debug"


def main(args: list[str] | None = None) -> int:
    """Runs a command and returns its exit code. Without arguments, they are those of the process."""
    words = sys.argv[1:] if args is None else args
    with prompt_stop() as stop, debug_option(words):
        try:
            return run([word for word in words if word != DEBUG_OPTION])
        except KeyboardInterrupt as error:  # before there is anything to save, or a second signal
            number = error.args[0] if error.args else signal.SIGINT
        except Exception as error:
            if stop.signal is None:
                return failed(error)
            number = stop.signal  # an import may turn KeyboardInterrupt into an ImportError
        if args is None:
            end(number)
        print(f"curiax: {INTERRUPTED}", file=sys.stderr)
        return 128 + number


@contextlib.contextmanager
def debug_option(words: list[str]) -> Iterator[None]:
    """Sets the environment variable of `--debug` inside the block, if it is given."""
    before = os.environ.get(DEBUG)
    if DEBUG_OPTION in words:
        os.environ[DEBUG] = "1"
    try:
        yield
    finally:
        os.environ.pop(DEBUG, None)
        os.environ.update({} if before is None else {DEBUG: before})


def run(args: list[str]) -> int:
    """Runs the command that the first argument names."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")  # such as "→" where the encoding is ASCII
    from rich.console import Console  # slow to import: Ctrl-C works before

    console = Console(soft_wrap=True)
    if not args or args[0] in ("-h", "--help", "help"):
        console.print(USAGE, highlight=False, markup=False)
        return 0
    if args[0] in ("-V", "--version"):
        console.print(version(), highlight=False)
        return 0
    if args[0] not in COMMANDS:
        raise UserError(unknown_name("curiax", args[0], COMMANDS))
    try:
        return import_module(f"curiax.commands.{args[0]}").main(args[1:], console)
    finally:
        sys.stdout.flush()  # if that fails, it should fail here, not at the end of the process


def version() -> str:
    """The versions of curiax, JAX and Python."""
    from importlib import metadata

    def of(package: str) -> str:
        try:
            return metadata.version(package)
        except metadata.PackageNotFoundError:  # a checkout that is on the path
            return "not installed"

    return f"curiax {of('curiax')} (JAX {of('jax')}, Python {platform.python_version()})"


def failed(error: Exception) -> int:
    """Prints the error in one line, after its traceback if that is wanted, and returns the exit code."""
    if isinstance(error, BrokenPipeError):  # nobody reads the output any more, as in `curiax list envs | head -1`
        drop_output()
        return 1
    line, code = report(error)
    if isinstance(error, OSError) and error.filename is None:
        drop_output()
    print(f"curiax: {line}", file=sys.stderr)
    return code


def drop_output() -> None:
    """Sends what is still buffered to /dev/null. Otherwise Python would fail to write it once more at exit."""
    with contextlib.suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())

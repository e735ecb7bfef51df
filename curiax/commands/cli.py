"""The command line: runs the command that is named, and prints user errors in one line."""

import signal
import sys
from importlib import import_module

from rich.console import Console

from curiax.errors import UserError, unknown_name

USAGE = """curiax — curiosity that can tell noise from novelty

  curiax train ENV [--curiosity METHOD] [--seed N] [--preset laptop|paper] [--field value ...]
                                 train an agent, or resume a run   (curiax train --help: every field)
  curiax study NAME [--only PATTERN] [--seeds N ...] [--jobs N] [--out DIR] [--dry-run] [--field value ...]
                                 train all runs of a study, or resume them   (on a cluster: --launcher ray)
  curiax evaluate RUN [--episodes N] [--seed N] [--json FILE] [--video FILE.gif]
                                 play episodes with a run's newest policy
  curiax report DIR [--out DIR] [--no-films]
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
"""

# Each is a module of this package with a function `main(args, console)`. It is imported only when it is called.
COMMANDS = ("train", "study", "evaluate", "report", "diagnose", "play", "list", "theory", "bench")


def main(args: list[str] | None = None) -> int:
    """Runs a command and returns its exit code."""
    args = sys.argv[1:] if args is None else args
    console = Console(soft_wrap=True)
    if not args or args[0] in ("-h", "--help", "help"):
        console.print(USAGE, highlight=False, markup=False)
        return 0
    try:
        if args[0] not in COMMANDS:
            raise UserError(unknown_name("curiax", args[0], COMMANDS))
        return import_module(f"curiax.commands.{args[0]}").main(args[1:], console)
    except UserError as error:
        print(f"curiax: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:  # before there is anything to save, or a second Ctrl-C
        print("curiax: interrupted", file=sys.stderr)
        return 128 + signal.SIGINT

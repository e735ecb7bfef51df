"""`python -m curiax` is the command line."""

import signal
import sys

signal.signal(signal.SIGINT, signal.SIG_DFL)  # Ctrl-C while modules are imported: no traceback

from curiax.commands.cli import main  # noqa: E402

if __name__ == "__main__":
    sys.exit(main())

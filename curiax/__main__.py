"""`python -m curiax` is the command line."""

import sys

from curiax.commands.cli import main

if __name__ == "__main__":
    sys.exit(main())

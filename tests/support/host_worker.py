"""`curiax` with one more environment, the maze stepped on the host: `host/on-demand`."""

import sys

from curiax import envs
from curiax.commands.cli import main
from tests.support.host_maze import HOST

if __name__ == "__main__":
    envs.HOSTS["host"] = HOST
    envs.ENVS["host/on-demand"] = "the maze, stepped on the host"
    sys.exit(main(sys.argv[1:]))

"""`curiax` with one more environment, the maze stepped on the host: `host/on-demand`."""

import sys

from host_maze import HOST

from curiax import envs
from curiax.cli import main

if __name__ == "__main__":
    envs.HOSTS["host"] = HOST
    envs.ENVS["host/on-demand"] = "the maze, stepped on the host"
    sys.exit(main(sys.argv[1:]))

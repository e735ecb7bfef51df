"""The table of studies."""

from curiax.studies.analyses import ANALYSES
from curiax.studies.arena import ARENA
from curiax.studies.atari import GAMES
from curiax.studies.base import Study
from curiax.studies.gymnasium import DOORKEY
from curiax.studies.maze import DEMO, MAZE
from curiax.studies.values import VALUES

STUDIES: dict[str, Study] = {"maze": MAZE, "demo": DEMO} | ANALYSES | GAMES | {"doorkey": DOORKEY} | VALUES
STUDIES["arena"] = ARENA
# Studies that train no agent; each has its own program in `lab`.
MEASURED = {
    "scm": "Table 1 measured: what every method pays for noise and for novelty, where both are known",
    "patches": "what hindsight vectors hold of an Atari game with a noisy strip, seen through five functions",
}

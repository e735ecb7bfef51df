"""The table of studies."""

from curiax.studies.base import Study
from curiax.studies.maze import DEMO, MAZE

STUDIES: dict[str, Study] = {"maze": MAZE, "demo": DEMO}

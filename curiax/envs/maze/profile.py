"""What the maze says of itself in a report."""

from functools import cache

from curiax.envs.maze.world import MAP, TIME_LIMIT, VIEW, parse
from curiax.envs.table import MAZE
from curiax.types import Profile, Score

REGIONS = ("R1", "R2", "R3", "R4")
SCORE = Score(
    "trackers",
    "regions touched per episode",
    "trackers",
    bounds=(0.0, float(len(REGIONS))),
    digits=1,
    more="touches more of the maze's four regions per episode",
    fewer="touches fewer of the maze's four regions per episode",
    parts=tuple((f"tracker_{number}", region) for number, region in enumerate(REGIONS, 1)),
)
TEXT = (
    f"The agent starts top right and sees the {VIEW}×{VIEW} cells around it. Behind each block begins a region, "
    f"R1 to R4. The score is how many of the four an episode of {TIME_LIMIT} steps touches."
)


@cache
def profile_of(setting: str) -> Profile:
    return Profile(
        title="the maze",
        about=MAZE.get(setting, ""),
        text=TEXT,
        scores=(SCORE,),
        noise="noise in view",
        map=parse(MAP),
    )

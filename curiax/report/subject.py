"""What a report tells of a family of environments: which score, in which words."""

from typing import NamedTuple

from curiax.errors import UserError
from curiax.report.read import Study


class Subject(NamedTuple):
    name: str  # of its text, assets/NAME.html
    heading: str
    scores: dict[str, str]  # metric -> what it is; the first is the score, all are figures
    bounds: tuple[float, float] | None  # of the score; None: from zero to the largest
    digits: int  # after the point, of a score in a sentence
    more: str  # … than the other
    fewer: str
    counted: str  # the score in a sentence of its own
    watched: str  # what was done with noise
    figure_note: str
    scores_note: str


NOTE = (
    "Line: mean over seeds. Band: 95 % Student's t interval over seeds, cut to what is possible; none with one seed. "
    "Point at a panel, or focus it and use the arrow keys, to see each seed."
)
LAST = "means over the last quarter of training so far, with the same interval; a dot is a seed."

MAZE = Subject(
    name="maze",
    heading="Curiosity in a noisy maze",
    scores={"trackers": "trackers touched per episode"},
    bounds=(0.0, 4.0),
    digits=1,
    more="touches more of the maze's four regions per episode",
    fewer="touches fewer of the maze's four regions per episode",
    counted="regions touched per episode, of four",
    watched="spends {} of its time with noise in view",
    figure_note=f"Regions (trackers) touched per episode against environment steps. {NOTE}",
    scores_note=(
        f"Regions (trackers) touched per episode and share of the time with noise in view: {LAST} “Reached”: "
        "environment steps until half of the episodes of a log interval touch the region, median over seeds."
    ),
)

GAMES = Subject(
    name="games",
    heading="Curiosity at play",
    scores={
        "return": "return of an episode",
        "rooms_found": "rooms found in the run so far",
        "rooms": "rooms of an episode",
    },
    bounds=None,
    digits=0,
    more="has a higher return per episode",
    fewer="has a lower return per episode",
    counted="return of an episode",
    watched="chooses loud noise {} of the time",
    figure_note=f"The environment's own rewards, summed over an episode, and rooms, where there are any. {NOTE}",
    scores_note=(
        f"Return and rooms of an episode: {LAST} “Found”: different rooms in the whole run so far. “Noise dwell”, "
        "where there is noise: share of the time with it, of persistive noise with the loud one."
    ),
)


def subject_of(study: Study) -> Subject:
    """By what its runs have logged."""
    in_maze = {"trackers" in run.metrics for run in study.logged}
    if len(in_maze) > 1:
        raise UserError("runs in mazes and in other environments: report them apart")
    return MAZE if in_maze == {True} else GAMES


def steps_name(study: Study) -> str:
    """What a time step is called: in Atari one of the agent, which is four frames of the game."""
    games = all(run.config.get("env", "").startswith("atari/") for run in study.logged)
    return "agent steps" if games else "environment steps"


def logged_scores(study: Study) -> dict[str, str]:
    """Those of the subject's that a run has logged."""
    scores = subject_of(study).scores
    return {name: title for name, title in scores.items() if any(name in run.metrics for run in study.logged)}

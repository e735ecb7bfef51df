"""Crafter's score, which Crafter and Craftax share: how often an episode unlocks each achievement."""

import math

import numpy as np

from curiax.types import RETURN, Score

ACHIEVEMENT = "achievement/"  # and its name: the share of episodes that unlocked it
COUNT = Score(
    "achievements",
    "achievements per episode",
    "achievements",
    bounds=(0.0, math.inf),
    digits=1,
    more="unlocks more achievements per episode",
    fewer="unlocks fewer achievements per episode",
)
SCORE = Score(
    "score",
    "Crafter's score over all episodes so far, percent",
    "Crafter's score",
    bounds=(0.0, math.inf),  # agents without reward have a few percent: a scale up to 100 would show nothing
    accumulates=True,
    digits=1,
    more="has a higher Crafter score",
    fewer="has a lower Crafter score",
)
SCORES = (SCORE, COUNT, RETURN)
TEXT = (
    "The agent gathers, builds and fights in a world that is new in every episode. The score is Crafter's: the "
    "geometric mean of 1 + the percentage of the episodes of the run so far that unlocked each achievement, less 1."
)


def score(means: dict[str, float]) -> dict[str, float]:
    """Crafter's score, from the shares s_i of episodes that unlocked each achievement, in percent (Hafner, 2021):
    exp(mean ln(1 + s_i)) − 1. Empty if there are no achievements."""
    shares = [value for name, value in means.items() if name.startswith(ACHIEVEMENT)]
    return {"score": float(np.expm1(np.mean(np.log1p(100 * np.array(shares)))))} if shares else {}

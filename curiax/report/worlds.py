"""The worlds of a study beside each other: every score on a scale from 0 to 1."""

from typing import NamedTuple

import numpy as np

from curiax.report.read import Pair, Study
from curiax.report.scores import final
from curiax.types import RETURN

NEAR = 0.1  # a run has solved a world, or has got nothing, within this share of the scale


class Scale(NamedTuple):
    """The scores that become 0 and 1."""

    low: float
    high: float
    source: str  # where the two come from


BOUNDS = "the score's lowest and highest possible value"
HUMAN = "a random policy and a person"
MEANS = "the lowest and the highest mean of a method of this study"


class Worlds(NamedTuple):
    """Scores of all methods in all worlds."""

    settings: list[str]
    methods: list[str]  # that have a score in every world; only these can be compared over all of them
    missing: dict[str, list[str]]  # the other methods, and the worlds in which they have no score
    scales: dict[str, Scale]
    seeds: dict[Pair, np.ndarray]  # final scores

    def normalised(self, method: str) -> list[np.ndarray]:
        """Normalised scores of a method: an array of seeds for each world."""
        return [normalise(self.seeds[setting, method], self.scales[setting]) for setting in self.settings]


def worlds_of(study: Study) -> Worlds:
    seeds = {pair: found for pair in study.pairs if len(found := final_scores(study, *pair))}
    settings = [name for name in study.settings if any(setting == name for setting, _ in seeds)]
    missing = {method: [name for name in settings if (name, method) not in seeds] for method in study.methods}
    return Worlds(
        settings=settings,
        methods=[method for method in study.methods if not missing[method]],
        missing={method: names for method, names in missing.items() if names},
        scales={name: scale_of(study, name, seeds) for name in settings},
        seeds=seeds,
    )


def several(worlds: Worlds) -> bool:
    """True if there are several worlds and several methods."""
    return min(len(worlds.settings), len(worlds.methods) + len(worlds.missing)) > 1


def comparable(worlds: Worlds) -> bool:
    """True if there are several worlds, and several methods that have a score in all of them."""
    return min(len(worlds.settings), len(worlds.methods)) > 1


def final_scores(study: Study, setting: str, method: str) -> np.ndarray:
    """The final score of each seed that has one."""
    metric = study.score_of(setting).metric
    found = np.array([final(run, metric) for run in study.group(setting, method)])
    return found[np.isfinite(found)]


def scale_of(study: Study, setting: str, seeds: dict[Pair, np.ndarray]) -> Scale:
    """The bounds of the score if both are finite, so that another method in the study changes no number. A game with
    known returns of a random policy and of a person has those. Else the methods of the study are the scale."""
    score = study.score_of(setting)
    if np.isfinite(score.bounds).all():
        return Scale(*score.bounds, BOUNDS)
    human = study.profile_of(setting).human
    if human is not None and score == RETURN:
        return Scale(*human, HUMAN)
    means = [float(np.mean(values)) for (name, _), values in seeds.items() if name == setting]
    return Scale(min(means), max(means), MEANS)


def normalise(values: np.ndarray, scale: Scale) -> np.ndarray:
    """(score − low) / (high − low); 0 if no method differs from another."""
    width = scale.high - scale.low
    return (values - scale.low) / width if width else np.zeros_like(values)


def all_or_nothing(worlds: Worlds, setting: str) -> bool:
    """True if the score has bounds, and every run ends near one of them, some near each."""
    if worlds.scales[setting].source != BOUNDS:
        return False
    found = [values for (name, _), values in worlds.seeds.items() if name == setting]
    scores = normalise(np.concatenate(found), worlds.scales[setting])
    solved, failed = scores >= 1 - NEAR, scores <= NEAR
    return bool(solved.any() and failed.any() and (solved | failed).all())


def num_solved(worlds: Worlds, setting: str, method: str) -> int:
    return int(np.sum(normalise(worlds.seeds[setting, method], worlds.scales[setting]) >= 1 - NEAR))

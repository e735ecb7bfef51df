"""Films of runs: all that a report shows, or one for `curiax evaluate --video`."""

from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from curiax.config import Config
from curiax.errors import UserError
from curiax.report.kinds import Filming, filming_of
from curiax.report.names import method_title
from curiax.report.read import Pair, RunData, Study
from curiax.report.scores import final
from curiax.report.words import main_pair, notes_on_missing, telling_setting
from curiax.training.evaluate import load, named_config
from curiax.training.run.outputs import check_file, writing_file
from curiax.types import LearnerState

MAX_BESIDE = 2  # films side by side


class Shot(NamedTuple):
    """A film, how it was made, and where."""

    filming: Filming
    env: str
    film: Any


def shoot_study(study: Study, tell: Callable[[str], None]) -> tuple[dict[Pair, Shot], list[str]]:
    """A film for each setting and method that the page can play or the GIF shows, and notes on those that failed."""
    shots, failed, beside = {}, {}, shown_beside(study)
    for pair in study.pairs:
        if not all(run.trained for run in study.group(*pair)):
            continue  # nobody acts there
        run = median_run(study.group(*pair), study.score_of(pair[0]).metric)
        try:
            config = named_config(run.directory)
            filming = filming_of(config)
            if filming.payload is not None or pair in beside:
                tell(f"filming {run.setting}, {method_title(run.method)}, seed {run.seed}")
                shots[pair] = Shot(filming, config.env, filming.shoot(*load(run.directory), 0))
        except UserError as error:
            failed[pair] = str(error)
    return shots, notes_on_missing("film", failed, study)


def median_run(runs: list[RunData], score: str) -> RunData:
    """The run with the median score; of two, the lower."""
    ranked = sorted(runs, key=lambda run: np.nan_to_num(final(run, score)))
    return ranked[(len(ranked) - 1) // 2]


def shown_beside(study: Study) -> list[Pair]:
    """What the GIF shows side by side: the pair that is compared, hindsight last, where it differs most."""
    pair = main_pair(study)
    methods = study.methods[:MAX_BESIDE] if pair is None else pair[::-1]
    return [(telling_setting(study), method) for method in methods]


def write_beside(study: Study, shots: dict[Pair, Shot], path: Path) -> bool:
    """Writes the GIF; False if none of its films was made."""
    pairs = [pair for pair in shown_beside(study) if pair in shots]
    if not pairs:
        return False
    first = shots[pairs[0]]
    first.filming.write(path, first.env, {method: shots[setting, method].film for setting, method in pairs})
    return True


def check_film(config: Config, path: Path) -> None:
    """Raises a `UserError` if `write_film` would fail."""
    if path.suffix.lower() != ".gif":
        raise UserError(f"--video {path}: its name must end in .gif, the one format there is")
    try:
        filming_of(config)
    except UserError as error:
        raise UserError(f"--video: {error}") from None
    check_file("--video", path)


def write_film(config: Config, state: LearnerState, path: Path, seed: int) -> None:
    """Films an episode of a run's policy and writes it as a GIF."""
    filming = filming_of(config)
    with writing_file("--video", path) as file:
        filming.write(file, config.env, {config.curiosity: filming.shoot(config, state, seed)})

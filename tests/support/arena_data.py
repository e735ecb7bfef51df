"""A small arena made up for tests: the files that its runs and measurements leave."""

import json
from pathlib import Path

from curiax.config.dotted import replaced
from curiax.studies import STUDIES
from curiax.studies.base import Member, base_config, member_config
from tests.support.report_data import write_columns, write_study_json

ARENA = STUDIES["arena"]
ERRORS = "method,kind,seed,novelty,noise_end\n"


def config_of(world: str, method: str, seed: int, num_rows: int):
    """That of the study, shortened to a few rows of metrics."""
    config = member_config(ARENA, base_config(ARENA, "laptop"), Member(world, method, seed))
    return replaced(config, {"env_steps": num_rows * config.log_every * config.steps_per_update})


def write_arena(root: Path, runs: dict[tuple[str, str], list[dict[str, list[float]]]]) -> None:
    """Finished runs by world and method: the columns of metrics.csv for each seed."""
    names = []
    for (world, method), seeds in runs.items():
        for seed, columns in enumerate(seeds):
            num_rows = len(next(iter(columns.values())))
            write_columns(root / world / method / str(seed), config_of(world, method, seed, num_rows), columns)
            names.append((world, method, seed))
    write_study_json(root, names, command="curiax study arena", name="arena")


def write_measured(root: Path, rows: list[tuple[str, str, int, float, float]]) -> None:
    """What `curiax study scm` leaves: method, kind, seed, reward on novelty, reward on noise."""
    (root / "scm").mkdir(parents=True)
    settings = {"chunk": 600, "dark": 3, "lit": 1, "batch_size": 128, "unroll": 2}
    (root / "scm" / "settings.json").write_text(json.dumps(settings))
    lines = [",".join(map(str, row)) + "\n" for row in rows]
    (root / "scm" / "errors.csv").write_text(ERRORS + "".join(lines))

"""Scores as JSON, in the shapes that rliable and marl-eval read."""

import json
from pathlib import Path
from typing import Any

import numpy as np

from curiax.report.read import RunData, Study
from curiax.report.scores import NUM_BINS, binned, final
from curiax.report.worlds import Worlds, normalise, worlds_of
from curiax.training.run.outputs import writing_file

METRIC = "score"  # marl-eval wants the same metrics in all tasks
Runs = dict[tuple[str, str], dict[int, RunData]]  # setting and method -> seed -> run


def write_json(study: Study, path: Path) -> None:
    with writing_file("--json", path) as file:
        file.write_text(json.dumps(export(study), indent=1, allow_nan=False) + "\n")


def export(study: Study) -> dict[str, Any]:
    """The methods that have a score in every world; `left_out` names the others and what they lack."""
    worlds = worlds_of(study)
    runs = runs_with_scores(study, worlds)
    seeds = {method: shared_seeds(worlds, runs, [method]) for method in worlds.methods}
    return {
        "study": study.name,
        "tasks": worlds.settings,
        "scales": {
            name: {"low": scale.low, "high": scale.high, "from": scale.source} for name, scale in worlds.scales.items()
        },
        "seeds": seeds,
        "rliable": {method: matrix(study, worlds, runs, method, seeds[method]) for method in worlds.methods},
        "marl_eval": {study.name.lower(): marl_eval_tasks(study, worlds, runs)},
        "left_out": worlds.missing,
    }


def runs_with_scores(study: Study, worlds: Worlds) -> Runs:
    return {
        (setting, method): {
            run.seed: run
            for run in study.group(setting, method)
            if np.isfinite(final(run, study.score_of(setting).metric))
        }
        for setting, method in worlds.seeds
    }


def shared_seeds(worlds: Worlds, runs: Runs, methods: list[str]) -> list[int]:
    """The seeds that these methods have in every world."""
    found = [set(runs[setting, method]) for setting in worlds.settings for method in methods]
    return sorted(set.intersection(*found)) if found else []


def matrix(study: Study, worlds: Worlds, runs: Runs, method: str, seeds: list[int]) -> list[list[float]]:
    """Normalised scores [runs × tasks]: rows in the order of `seeds`, columns in the order of `tasks`."""
    columns = []
    for setting in worlds.settings:
        metric = study.score_of(setting).metric
        values = np.array([final(runs[setting, method][seed], metric) for seed in seeds])
        columns.append(normalise(values, worlds.scales[setting]))
    return np.transpose(columns).tolist()


def marl_eval_tasks(study: Study, worlds: Worlds, runs: Runs) -> dict[str, Any]:
    """task → algorithm → seed → step → score, not normalised. marl-eval needs the same seeds and the same number of
    steps everywhere, and looks names up in small letters."""
    seeds = shared_seeds(worlds, runs, worlds.methods)
    used = {pair: {seed: runs[pair][seed] for seed in seeds} for pair in runs if pair[1] in worlds.methods}
    num_rows = [len(run.metrics["update"]) for found in used.values() for run in found.values()]
    num_bins = min([NUM_BINS, *num_rows])
    edges = {name: np.linspace(0, end_of(used, name), num_bins + 1) for name in worlds.settings}
    curves = {
        (*pair, seed): binned(run, study.score_of(pair[0]).metric, edges[pair[0]])
        for pair, found in used.items()
        for seed, run in found.items()
    }
    known = np.isfinite(list(curves.values())).all(axis=0) if curves else np.zeros(num_bins, bool)
    tasks: dict[str, Any] = {}
    for (setting, method, seed), values in curves.items():
        steps = {
            f"step_{index}": {"step_count": round(edges[setting][bin + 1]), METRIC: [values[bin]]}
            for index, bin in enumerate(np.flatnonzero(known), 1)
        }
        end = final(used[setting, method][seed], study.score_of(setting).metric)
        steps["absolute_metrics"] = {METRIC: [end]}
        tasks.setdefault(setting.lower(), {}).setdefault(method, {})[f"seed_{seed}"] = steps
    return tasks


def end_of(runs: Runs, setting: str) -> int:
    """Environment steps of the longest run of a setting."""
    return max(
        (run.env_steps for pair, found in runs.items() if pair[0] == setting for run in found.values()), default=1
    )

"""What the results in this repository say about a claim: numbers and a verdict."""

import csv
import itertools
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

from curiax.training.statistics import differ, in_last_quarter, t_interval

ROOT = Path(__file__).parents[1]
RESULTS = ROOT / "results"
EARLIER_FORM = "Made with an earlier form of hindsight"  # in the README of results that are to be made again
SHOWN, NOT_SHOWN, REFUTED = "shown", "not shown", "refuted"
OUT_OF_REACH, NOT_YET = "out of reach at this size", "not measured yet"
ALL = 3.5  # regions per episode of an agent that explores the whole maze, of 4
TRAPPED = 1.0  # regions per episode of an agent that stays near the start
H, E, RND = "byol-hindsight", "byol-explore", "rnd"
NOISY = ("brownian", "random", "on-demand")


class Finding(NamedTuple):
    measured: str
    verdict: str
    seeds: int | None = None
    figure: str = ""  # relative to results/


def read(path: Path) -> list[dict[str, str]]:
    with path.open(newline="") as file:
        return list(csv.DictReader(file))


def is_current(study: str) -> bool:
    """Whether the committed results of a study are made with the paper's form of hindsight."""
    readme = RESULTS / study / "README.md"
    return readme.exists() and EARLIER_FORM not in readme.read_text()


def scores(study: str, setting: str, method: str, column: str = "score") -> list[float]:
    """A column of scores.csv, a number per seed."""
    rows = read(RESULTS / study / "scores.csv")
    return [float(row[column]) for row in rows if (row["setting"], row["method"]) == (setting, method)]


def curves(study: str, setting: str, method: str, column: str) -> list[np.ndarray]:
    """A column of curves.csv, an array per seed."""
    rows = [
        row
        for row in read(RESULTS / study / "curves.csv")
        if (row["setting"], row["method"]) == (setting, method) and row[column]
    ]
    return [
        np.array([float(row[column]) for row in rows if row["seed"] == seed])
        for seed in dict.fromkeys(row["seed"] for row in rows)
    ]


def at_end(study: str, setting: str, method: str, column: str) -> list[float]:
    """Means over the last quarter of training, a number per seed."""
    return [
        float(curve[in_last_quarter(np.arange(1.0, len(curve) + 1))].mean())
        for curve in curves(study, setting, method, column)
    ]


def interval(values: Sequence[float], digits: int = 2) -> str:
    """`3.98 ± 0.05`: the mean over seeds and half of its 95 % interval by Student's t."""
    mean, half = t_interval(np.array(values))
    return f"{mean:.{digits}f}" + (f" ± {half:.{digits}f}" if np.isfinite(half) else "")


def regions(settings: Sequence[str], methods: Sequence[str], study: str = "maze") -> str:
    return "; ".join(
        f"{setting}: " + ", ".join(f"{NAMES[method]} {interval(scores(study, setting, method))}" for method in methods)
        for setting in settings
    )


NAMES = {H: "BYOL-Hindsight", E: "BYOL-Explore", RND: "RND", "icm": "ICM", "icm+hindsight": "ICM + hindsight"}


def in_maze(settings: Sequence[str], methods: Sequence[str], verdict: Callable[..., str]) -> Callable[[], Finding]:
    """A claim about regions per episode in the maze study; `verdict` gets the seeds' scores, setting by setting, method
    by method."""

    def find() -> Finding:
        values = [scores("maze", setting, method) for setting in settings for method in methods]
        return Finding(regions(settings, methods), verdict(*values), min(map(len, values)), "maze/figure.png")

    return find


def reach_all(*groups: list[float]) -> str:
    """Do all touch nearly all regions?"""
    return SHOWN if all(np.mean(group) >= ALL for group in groups) else REFUTED


def no_less(left: list[float], right: list[float]) -> str:
    """Is the first no lower than the second?"""
    return REFUTED if differ(left, right) < 0 else SHOWN


def lower(left: list[float], right: list[float]) -> str:
    """Is the first lower than the second?"""
    return {-1: SHOWN, 0: NOT_SHOWN, 1: REFUTED}[differ(left, right)]


def stops_at_two(seeds: list[float]) -> str:
    return SHOWN if np.mean(seeds) <= 2.5 else REFUTED


def rnd_loses_interest() -> Finding:
    """Regions in the best interval against those at the end."""
    all_curves = curves("maze", "baseline", RND, "trackers")
    best, end = [curve.max() for curve in all_curves], at_end("maze", "baseline", RND, "trackers")
    text = f"RND {interval(best)} in its best interval, {interval(end)} at the end"
    return Finding(text, lower(end, best), len(end), "maze/figure.png")


def adapts_later() -> Finding:
    """Steps until the last interval with fewer regions than ALL, in `random` and in `baseline`."""
    steps = {name: [settled("maze", name, H, seed) for seed in range(5)] for name in ("random", "baseline")}
    text = "; ".join(f"{name}: all four for good after {interval(values)} M steps" for name, values in steps.items())
    return Finding(text, lower(steps["baseline"], steps["random"]), 5, "maze/figure.png")


def settled(study: str, setting: str, method: str, seed: int) -> float:
    """Millions of steps after which a run never falls below ALL again."""
    curve = curves(study, setting, method, "trackers")[seed]
    rows = [row for row in read(RESULTS / study / "scores.csv") if (row["setting"], row["method"]) == (setting, method)]
    below = np.flatnonzero(curve < ALL)
    return (below[-1] + 1 if len(below) else 0) / len(curve) * float(rows[seed]["env_steps"]) / 1e6


def explore_watches() -> Finding:
    dwell = scores("maze", "on-demand", E, "noise_dwell")
    text = f"{regions(['on-demand'], [E])}, {100 * np.mean(dwell):.1f} % of its time on the noise"
    return Finding(text, SHOWN if np.mean(dwell) > 0.9 else NOT_SHOWN, len(dwell), "maze/figure.png")


def rnd_suffers() -> Finding:
    clean, noisy = (scores("maze", setting, RND) for setting in ("baseline", "on-demand"))
    dwell = scores("maze", "on-demand", RND, "noise_dwell")
    text = f"{regions(['baseline', 'on-demand'], [RND])}, {100 * np.mean(dwell):.0f} % of its time on the noise"
    caught = np.mean(noisy) <= TRAPPED
    verdict = SHOWN if caught else f"partly: {SHOWN} for its time, {NOT_SHOWN} for the regions"
    return Finding(text, verdict if differ(noisy, clean) <= 0 else REFUTED, len(noisy), "maze/figure.png")


def pending(study: str, find: Callable[[], Finding]) -> Callable[[], Finding]:
    """The finding, if the study's results are made with the paper's form."""
    missing = Finding(f"`curiax study {study}` is to be run again", NOT_YET)
    return lambda: find() if is_current(study) else missing


def too_large(text: str, study: str = "") -> Callable[[], Finding]:
    """A claim that needs the paper's budget."""
    return lambda: Finding(text, OUT_OF_REACH, figure=f"{study}/figure.png" if study else "")


def temperature(setting: str, verdict: Callable[[dict[str, list[float]]], str]) -> Callable[[], Finding]:
    def find() -> Finding:
        taus = ("0.1", "0.25", "0.5", "1", "2")
        found = {tau: scores("temperature", setting, f"tau-{tau}") for tau in taus}
        text = f"{setting}, regions by τ: " + ", ".join(f"{tau}: {interval(seeds)}" for tau, seeds in found.items())
        return Finding(text, verdict(found), min(map(len, found.values())), "temperature/figure.png")

    return pending("temperature", find)


def hardly_differ(found: dict[str, list[float]]) -> str:
    means = [np.mean(seeds) for seeds in found.values()]
    return SHOWN if max(means) - min(means) <= 0.5 else REFUTED


def low_is_better(found: dict[str, list[float]]) -> str:
    return lower(found["2"], found["0.1"])


def outcome(columns: Sequence[str], setting: str, verdict: Callable[..., str]) -> Callable[[], Finding]:
    """A claim about losses at the end of training in the study of outcomes."""

    def find() -> Finding:
        values = [at_end("outcomes", setting, "hindsight", column) for column in columns]
        text = ", ".join(f"{LOSSES[name]} {interval(seeds, 3)}" for name, seeds in zip(columns, values, strict=True))
        return Finding(f"{setting}: {text}", verdict(*values), len(values[0]), "outcomes/outcomes.png")

    return pending("outcomes", find)


LOSSES = {
    "hindsight_only_error": "z alone",
    "prediction_error": "prediction",
    "reconstruction_error": "reconstruction",
    "contrastive_value": "contrastive value (nats)",
    "target_variance": "variance of the targets",
}


def falls(*groups: list[float]) -> str:
    """Is every group higher than the next?"""
    found = [differ(left, right) for left, right in itertools.pairwise(groups)]
    return REFUTED if -1 in found else SHOWN if 0 not in found else NOT_SHOWN


def about_equal(left: list[float], right: list[float]) -> str:
    ratio = np.mean(left) / np.mean(right)
    return SHOWN if 1 / 1.5 <= ratio <= 1.5 else REFUTED


def small_not_zero(reconstruction: list[float], variance: list[float]) -> str:
    return SHOWN if 0 < np.mean(reconstruction) < 0.1 * np.mean(variance) else NOT_SHOWN


def well_enforced(value: list[float]) -> str:
    return SHOWN if np.mean(value) < 0.1 else NOT_SHOWN


def losses(
    variants: Sequence[str], settings: Sequence[str], verdict: Callable[[dict[str, list[float]]], str]
) -> Callable[[], Finding]:
    """A claim about the study of the two losses; `verdict` gets the seeds' scores by SETTING/VARIANT."""

    def find() -> Finding:
        found = {f"{setting}/{name}": scores("losses", setting, name) for setting in settings for name in variants}
        text = ", ".join(f"{name} {interval(seeds)}" for name, seeds in found.items())
        return Finding(text, verdict(found), min(map(len, found.values())), "losses/figure.png")

    return pending("losses", find)


def fails(variant: str, settings: Sequence[str]) -> Callable[[dict[str, list[float]]], str]:
    """Does a variant explore less than both losses do, in every setting?"""

    def verdict(found: dict[str, list[float]]) -> str:
        signs = [differ(found[f"{name}/{variant}"], found[f"{name}/both"]) for name in settings]
        return SHOWN if all(sign < 0 for sign in signs) else REFUTED if not any(signs) else NOT_SHOWN

    return verdict


def unchanged(variant: str, settings: Sequence[str]) -> Callable[[dict[str, list[float]]], str]:
    """Does a variant explore as both losses do, in every setting?"""

    def verdict(found: dict[str, list[float]]) -> str:
        same = [differ(found[f"{name}/{variant}"], found[f"{name}/both"]) == 0 for name in settings]
        return SHOWN if all(same) else REFUTED

    return verdict


def error_vanishes() -> Finding:
    found = {
        name: at_end("losses", "baseline", name, "reconstruction_error")
        for name in ("both", "no-contrastive", "no-contrastive-z128")
    }
    text = "baseline, reconstruction error: " + ", ".join(f"{name} {interval(v, 4)}" for name, v in found.items())
    verdict = lower(found["no-contrastive-z128"], found["both"])
    return Finding(text, verdict, min(map(len, found.values())), "losses/losses.png")


def patches(left: str, right: str, place: str, holds: Callable[[float], bool]) -> Callable[[], Finding]:
    """A claim about the ratio of two errors in the study of patches."""

    def find() -> Finding:
        rows = {row["function"]: row for row in read(RESULTS / "patches" / "table.csv")}
        ratio = float(rows[left][f"{place}_error"]) / float(rows[right][f"{place}_error"])
        where = "in the noisy strip" if place == "strip" else "in the rest of the frame"
        text = f"{left} errs {ratio:.1f} times as much as {right} {where}"
        return Finding(text, SHOWN if holds(ratio) else REFUTED, 1, "patches/patches.png")

    return pending("patches", find)

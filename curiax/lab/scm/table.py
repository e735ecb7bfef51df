"""The tables of the study, from the errors of every update."""

import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
from jaxtyping import Float
from numpy import ndarray
from rich.console import Console
from rich.table import Table

from curiax.curiosity import resolve
from curiax.envs.scm import KINDS
from curiax.lab.scm.stream import CHUNK, CLASSES, NUM_DARK
from curiax.training.run.files import write_csv
from curiax.training.run.metrics import number

METHODS = (
    *("ae", "icm", "emi", "rnd", "dora", "ama", "byol-explore", "random+predict", "pixel+predict"),
    *("byol-hindsight", "ae+hindsight", "icm+hindsight", "emi+hindsight", "random+hindsight", "pixel+hindsight"),
    *(f"{name}+hindsight-averaged" for name in ("byol", "ae", "icm", "emi", "random", "pixel")),
    *("lpm", "critic", "lbs", "disagreement", "progress"),
)
OWN_UNITS = ("lpm", "critic", "lbs")  # measures whose rewards are logarithms, roots or nats, not prediction errors
PREDICTORS = {"byol": "byol-explore", "icm": "icm", "ae": "ae"}  # names in Table 1 of REPRESENTATION+predict
ORDINARY, NOISE, NOVELTY = range(len(CLASSES))
LIT = CHUNK * NUM_DARK  # the first update with lit lamps
FIRST, LAST, SMOOTH = 20, 100, 10  # numbers of updates: at the start, at the end, in a moving mean


class Measured(NamedTuple):
    """Results of one run."""

    total: Float[ndarray, "updates classes"]  # sums of errors
    count: Float[ndarray, "updates classes"]  # numbers of transitions
    leak_nats: float = math.nan  # NaN if the method has no z, as all that follow
    critic_nats: float = math.nan
    noise_in_z: float = math.nan
    noise_in_target: float = math.nan


class Row(NamedTuple):
    """A row of table.csv."""

    method: str
    kind: str
    seed: int
    noise_reward_ratio: float
    novelty_reward_ratio: float
    leak_nats: float  # NaN if the method has no z, as all that follow
    critic_nats: float  # what the critic in training sees of the leak
    noise_in_z: float
    noise_in_target: float


class Errors(NamedTuple):
    """A row of errors.csv: mean errors, in the units of the method."""

    method: str
    kind: str
    seed: int
    start: float  # of all transitions, in the first updates
    ordinary: float  # in the last updates with dark lamps
    noise: float  # likewise
    novelty: float  # until it is learned
    updates: int  # until novelty is learned
    ordinary_end: float  # in the last updates
    noise_end: float
    novelty_end: float


Found = Mapping[tuple[str, str, int], Measured]  # kind, method, seed


def reference_of(method: str) -> str | None:
    """The method that pays the prediction error of the same representation; None for RND, DORA and EMI."""
    representation, _, measure = resolve(method).partition("+")
    if not measure:
        return None
    return PREDICTORS.get(representation, f"{representation}+predict")


def mean(measured: Measured, classes: int | slice, begin: int, end: int) -> float:
    """The mean error per transition over updates begin … end − 1."""
    return float(measured.total[begin:end, classes].sum() / max(measured.count[begin:end, classes].sum(), 1.0))


def size_at_first(measured: Measured) -> float:
    """The mean error of the first updates, without the sign of each update's."""
    return float(np.abs(measured.total[:FIRST].sum(axis=1)).sum() / measured.count[:FIRST].sum())


def num_unlearned(reference: Measured) -> int:
    """The number of updates with lit lamps until the error on them is half of what it was at first."""
    total, count = reference.total[LIT:, NOVELTY], reference.count[LIT:, NOVELTY]
    window = np.ones(SMOOTH)
    moving = np.convolve(total, window, "valid") / np.maximum(np.convolve(count, window, "valid"), 1.0)
    below = np.flatnonzero(moving < moving[0] / 2)
    return int(below[0]) if len(below) else len(total)


def make_row(method: str, kind: str, seed: int, measured: Measured, reference: Measured | None) -> Row:
    """Rewards relative to the prediction error of the same representation on the same transitions. Those without a
    reference, or in units of their own, are relative to their own for all transitions in the first updates."""
    end, unlearned = len(measured.total), num_unlearned(reference or measured)
    noise, novelty = mean(measured, NOISE, end - LAST, end), mean(measured, NOVELTY, LIT, LIT + unlearned)
    if reference is None or resolve(method).partition("+")[2] in OWN_UNITS:
        new = size_at_first(measured)
        return Row(method, kind, seed, noise / new, novelty / new, *measured[2:])
    return Row(
        *(method, kind, seed),
        noise_reward_ratio=noise / mean(reference, NOISE, end - LAST, end),
        novelty_reward_ratio=novelty / mean(reference, NOVELTY, LIT, LIT + unlearned),
        leak_nats=measured.leak_nats,
        critic_nats=measured.critic_nats,
        noise_in_z=measured.noise_in_z,
        noise_in_target=measured.noise_in_target,
    )


def make_errors(method: str, kind: str, seed: int, measured: Measured, reference: Measured | None) -> Errors:
    end, unlearned = len(measured.total), num_unlearned(reference or measured)
    return Errors(
        *(method, kind, seed),
        start=mean(measured, slice(None), 0, FIRST),
        ordinary=mean(measured, ORDINARY, LIT - LAST, LIT),
        noise=mean(measured, NOISE, LIT - LAST, LIT),
        novelty=mean(measured, NOVELTY, LIT, LIT + unlearned),
        updates=unlearned,
        ordinary_end=mean(measured, ORDINARY, end - LAST, end),
        noise_end=mean(measured, NOISE, end - LAST, end),
        novelty_end=mean(measured, NOVELTY, end - LAST, end),
    )


def complete(found: Found) -> list[tuple[str, str, int, Measured, Measured | None]]:
    """The runs whose reference is measured too, in the order of the table."""
    runs = []
    for method in METHODS:
        for kind in KINDS:
            for seed in sorted({seed for _, _, seed in found}):
                reference = reference_of(method)
                if (kind, method, seed) in found and (reference is None or (kind, reference, seed) in found):
                    beside = None if reference is None else found[kind, reference, seed]
                    runs.append((method, kind, seed, found[kind, method, seed], beside))
    return runs


def write_table(path: Path, rows: Sequence[Row] | Sequence[Errors], fields: tuple[str, ...]) -> None:
    write_csv(path, fields, ([cell(value) for value in row] for row in rows))


def cell(value: str | int | float) -> str:
    if isinstance(value, str):
        return value
    return "" if math.isnan(value) else number(round(value, 5))


def print_rows(console: Console, rows: Sequence[Row]) -> None:
    """Prints means over seeds."""
    table = Table("method", "noise", "noise reward", "novelty reward", "leak (nats)", "seen", "u in z (R²)", "u in x")
    for method, kind in dict.fromkeys((row.method, row.kind) for row in rows):
        some = [row for row in rows if (row.method, row.kind) == (method, kind)]
        values = [np.mean([getattr(row, field) for row in some]) for field in Row._fields[3:]]
        table.add_row(method, kind, *("" if np.isnan(value) else f"{value:.3f}" for value in values))
    console.print(table)

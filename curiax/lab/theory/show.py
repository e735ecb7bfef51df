"""The results of the claims: a table, a file and a figure."""

import json
from pathlib import Path
from typing import Any, NamedTuple

import matplotlib
import numpy as np
from jaxtyping import Float
from numpy import ndarray
from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table

from curiax.errors import UserError
from curiax.lab.theory.asymptotics import large_batches
from curiax.lab.theory.cases import Case
from curiax.lab.theory.claims import TOLERANCE, Row
from curiax.training.run.outputs import check_file, writing_file

matplotlib.use("Agg")
import matplotlib.pyplot as plt
from matplotlib.axes import Axes

SMALLEST = 0.01  # pairs with smaller χ² are not shown: their gap for large batches is rounding error
QUANTILES = (0.0, 0.4, 0.8, 1.0)  # of χ²: one curve each
COLOURS = ("#0072b2", "#e69f00", "#009e73", "#d55e00")  # Okabe and Ito's palette
MARKERS = ("o", "s", "^", "D")
FORMATS = (".png", ".svg", ".pdf")


class Gaps(NamedTuple):
    """R_inv − R_con at the optimal critic, by pair (x, a) with χ² ≥ SMALLEST, sorted by χ², and batch size."""

    batch_sizes: list[int]
    chi_square: Float[ndarray, " N"]
    gap: Float[ndarray, "N K"]

    @property
    def relative(self) -> Float[ndarray, "N K"]:
        """2K · gap / χ², which converges to one."""
        return 2 * np.array(self.batch_sizes) * self.gap / self.chi_square[:, None]


def measure_gaps(case: Case) -> Gaps:
    batches = list(large_batches(case))
    chi_square = batches[0].chi_square.ravel()
    order = np.argsort(chi_square)[np.sum(chi_square < SMALLEST) :]
    gap = np.stack([batch.gap.ravel() for batch in batches], axis=1)
    return Gaps([batch.batch_size for batch in batches], chi_square[order], gap[order])


def verdict(row: Row) -> str:
    """Whether a claim holds, in words."""
    if row.printed:
        return f"printed form fails in {row.worlds_violated:,} of {row.worlds:,} worlds"
    return "holds" if row.holds else f"BROKEN in {row.worlds_violated:,} of {row.worlds:,} worlds"


def print_table(console: Console, rows: list[Row]) -> None:
    table = Table(title="the paper's claims on random finite worlds", box=SIMPLE_HEAD, padding=(0, 1, 0, 0))
    for column in ("claim", "where in the paper", "instances", "violations", "worst margin", "verdict"):
        number = column in ("instances", "violations", "worst margin")
        table.add_column(column, justify="right" if number else "left", overflow="fold")
    for row in rows:
        counts = (f"{row.instances:,}", f"{row.violations:,}", f"{row.worst_margin:.1e}")
        style = "dim" if row.printed else None if row.holds else "bold red"
        table.add_row(row.claim, row.where, *counts, verdict(row), style=style)
    console.print(table)


def as_json(rows: list[Row], gaps: Gaps, num_worlds: int, seed: int) -> dict[str, Any]:
    return {
        "worlds": num_worlds,
        "seed": seed,
        "tolerance": TOLERANCE,
        "claims": [row._asdict() | {"verdict": verdict(row)} for row in rows],
        "gap": {
            "batch_sizes": gaps.batch_sizes,
            "chi_square": gaps.chi_square.tolist(),
            "gap": gaps.gap.tolist(),
        },
    }


def write_json(path: Path, result: dict[str, Any]) -> None:
    with writing_file("--json", path) as file:
        file.write_text(json.dumps(result, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")


def check_outputs(json_path: Path | None, figure_path: Path | None) -> None:
    """Raises a `UserError` if one of the files cannot be written."""
    check_file("--json", json_path)
    if figure_path is not None and figure_path.suffix.lower() not in FORMATS:
        raise UserError(f"--figure {figure_path}: its name must end in {', '.join(FORMATS)}")
    check_file("--figure", figure_path)


def draw_curves(absolute: Axes, relative: Axes, gaps: Gaps) -> None:
    for quantile, colour, marker in zip(QUANTILES, COLOURS, MARKERS, strict=True):
        index = round(quantile * (len(gaps.gap) - 1))
        chi_square = gaps.chi_square[index]
        style = {"color": colour, "marker": marker, "markersize": 5}
        absolute.plot(gaps.batch_sizes, gaps.gap[index], linewidth=0, label=f"χ² = {chi_square:.2g}", **style)
        absolute.plot(gaps.batch_sizes, chi_square / (2 * np.array(gaps.batch_sizes)), color=colour, linewidth=1)
        relative.plot(gaps.batch_sizes, gaps.relative[index], linewidth=1, **style)
    absolute.plot([], [], color="black", linewidth=1, label="χ²/(2K)")


def draw(path: Path, gaps: Gaps) -> None:
    """Draws the gap against K with χ²/(2K) as lines, and the ratio of both with its range over all pairs (x, a)."""
    if not len(gaps.gap):
        raise UserError(f"--figure: no world has χ² ≥ {SMALLEST}; take more --worlds")
    figure, (absolute, relative) = plt.subplots(1, 2, figsize=(10, 4.2), layout="constrained")
    low, high = gaps.relative.min(0), gaps.relative.max(0)
    relative.fill_between(gaps.batch_sizes, low, high, color="#dddddd", label=f"range of {len(gaps.gap)} pairs (x, a)")
    relative.axhline(1, color="black", linewidth=1)
    draw_curves(absolute, relative, gaps)
    absolute.set_yscale("log")
    absolute.set_ylabel("information − contrastive bonus (nats)")
    relative.set_ylabel("gap / (χ²/(2K))")
    absolute.set_title("gap at the optimal critic, exact (marks)")
    relative.set_title("the same over χ²/(2K)")
    for axes in (absolute, relative):
        axes.set_xscale("log", base=2)
        axes.set_xticks(gaps.batch_sizes[::2], [f"{size}" for size in gaps.batch_sizes[::2]])
        axes.set_xlabel("K, hindsight vectors in the batch")
        axes.grid(color="#eeeeee")
        axes.legend(frameon=False)
    with writing_file("--figure", path) as file:
        figure.savefig(file, dpi=130)
    plt.close(figure)

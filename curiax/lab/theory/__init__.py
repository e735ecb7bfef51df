"""`curiax theory`: the paper's lemmas and theorems on random finite worlds, computed as exact sums."""

from pathlib import Path

from rich.console import Console

from curiax.errors import UserError
from curiax.lab.theory.cases import sample_cases
from curiax.lab.theory.claims import CLAIMS, tally
from curiax.lab.theory.show import as_json, draw, measure_gaps, print_table, write_json


def theory(console: Console, num_worlds: int, seed: int, json_path: Path | None, figure_path: Path | None) -> int:
    """Prints the table. Returns 0 if every claim holds in its corrected form; the printed forms may fail."""
    if num_worlds < 1:
        raise UserError(f"--worlds: {num_worlds}; at least 1")
    if seed < 0:
        raise UserError(f"--seed: {seed}; at least 0")
    cases = sample_cases(num_worlds, seed)
    rows = [tally(claim, cases) for claim in CLAIMS]
    print_table(console, rows)
    gaps = measure_gaps(cases[0])
    if json_path is not None:
        write_json(json_path, as_json(rows, gaps, num_worlds, seed))
    if figure_path is not None:
        draw(figure_path, gaps)
    return int(any(not row.printed and not row.holds for row in rows))

"""`curiax theory`: the paper's lemmas and theorems on random finite worlds, computed as exact sums."""

from pathlib import Path

from rich.console import Console

from curiax.lab.theory.cases import BYTES, sample_cases
from curiax.lab.theory.claims import CLAIMS, tally
from curiax.lab.theory.show import as_json, check_outputs, draw, measure_gaps, print_table, write_json
from curiax.training.memory import require_memory


def theory(console: Console, num_worlds: int, seed: int, json_path: Path | None, figure_path: Path | None) -> int:
    """Prints the table. Returns 0 if every claim holds in its corrected form; the printed forms may fail."""
    require_memory(num_worlds * BYTES, f"--worlds {num_worlds}")
    check_outputs(json_path, figure_path)
    cases = sample_cases(num_worlds, seed)
    rows = [tally(claim, cases) for claim in CLAIMS]
    print_table(console, rows)
    gaps = measure_gaps(cases[0])
    if json_path is not None:
        write_json(json_path, as_json(rows, gaps, num_worlds, seed))
    if figure_path is not None:
        draw(figure_path, gaps)
    return int(any(not row.printed and not row.holds for row in rows))

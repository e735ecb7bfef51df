"""A made-up study of Montezuma's Revenge, with and without sticky actions, for the tests of the report."""

import numpy as np

from tests.support.report_data import game_of, rooms_of, write_columns, write_study_json

ROWS, SEEDS = 8, (0, 1, 2)
METHODS = ("byol-hindsight", "byol-explore")
ROOMS = {"byol-hindsight": [(0, 4), (1, 3), (1, 5)], "byol-explore": [(0, 4)]}


def write_games(root, settings=("sticky-intrinsic", "non-sticky-mixed")):
    """Hindsight comes to a return of 400 and three rooms, BYOL-Explore to nothing and one. A row has no episode."""
    names = [(setting, method, seed) for setting in settings for method in METHODS for seed in SEEDS]
    for setting, method, seed in names:
        good = method == "byol-hindsight"
        returns = [float("nan")] + [(400.0 + seed) * good] * (ROWS - 1)
        columns = {
            "return": returns,
            "rooms": [1.0 + 0.5 * good] * ROWS,
            "rooms_found": [float(min(row + 1, 3) if good else 1) for row in range(ROWS)],
            "noise_dwell": [0.0] * ROWS,
            "prediction_error": list(np.linspace(0.5, 0.2, ROWS)),
            "entropy": [2.5] * ROWS,
        }
        if good:
            columns |= {name: [0.1] * ROWS for name in ("reconstruction_error", "contrastive_value", "target_variance")}
        fields = {
            "atari.sticky": 0.0 if setting.startswith("non") else 0.1,
            "reward": setting.rpartition("-")[2],
        }
        config = game_of("montezuma_revenge", method, seed, ROWS, **fields)
        write_columns(root / setting / method / str(seed), config, columns, rooms_of(ROWS, ROOMS[method]))
    write_study_json(root, names, "curiax study montezuma", "montezuma")

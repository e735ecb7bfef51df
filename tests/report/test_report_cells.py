"""The picture of errors: a map of each setting and method, over the last quarter of training."""

import numpy as np

from curiax.report.cells import draw_errors, error_map
from curiax.report.read import read_study
from tests.support.report_data import LAYOUT, config_of, staring, write_run

ROWS = 8
CELL = (4, 12)  # where the agent stares


def study_of(path, *runs):
    for seed, (maps, num_rows) in enumerate(runs):
        write_run(path / str(seed), config_of("on-demand", "rnd", seed, ROWS), [1.0] * num_rows, [0.5] * num_rows, maps)
    return read_study(path)


def errors_of(path, *runs):
    return error_map(study_of(path, *runs).group("on-demand", "rnd"))


def test_errors_are_per_visit_and_unknown_in_walls(tmp_path):
    errors = errors_of(tmp_path, (staring(ROWS, CELL, since=0), ROWS))
    assert np.isclose(errors[CELL], 4.0)
    elsewhere = ~LAYOUT.wall
    elsewhere[CELL] = False
    np.testing.assert_allclose(errors[elsewhere], 0.4, rtol=1e-6)
    assert np.isnan(errors[LAYOUT.wall]).all()


def test_only_the_last_quarter_of_training_counts(tmp_path):
    maps = staring(ROWS, CELL, since=0)
    for row in maps[: 3 * ROWS // 4]:
        row["error"] = 100 * row["error"]
    assert np.isclose(errors_of(tmp_path, (maps, ROWS))[CELL], 4.0)


def test_seeds_count_by_their_visits(tmp_path):
    maps = staring(ROWS, CELL, since=0)
    threefold = [{name: 3 * row[name] for name in row} | {"error": 0 * row["error"]} for row in maps]
    errors = errors_of(tmp_path, (maps, ROWS), (threefold, ROWS))
    assert np.isclose(errors[CELL], 4.0 / 4)


def test_rows_of_maps_beyond_the_metrics_are_left_out(tmp_path):
    """A run in training may have written a map and not yet its row of metrics."""
    half = ROWS // 2
    maps = staring(half, CELL, since=0)
    study = study_of(tmp_path, (maps, half))
    with (tmp_path / "0" / "cells.f32").open("ab") as file:
        file.write(np.full((3, *LAYOUT.wall.shape), 1e6, np.float32).tobytes())
    assert np.isclose(error_map(study.group("on-demand", "rnd"))[CELL], 4.0)


def test_without_maps_or_errors_there_is_no_picture(tmp_path):
    maps = staring(ROWS, CELL, since=0)
    without = [row | {"error": 0 * row["error"]} for row in maps]
    for name, study in {
        "none": study_of(tmp_path / "none", ([], ROWS)),
        "zero": study_of(tmp_path / "zero", (without, ROWS)),
    }.items():
        assert not draw_errors(study, tmp_path / f"{name}.png")
        assert not (tmp_path / f"{name}.png").exists()


def test_the_picture_is_written(tmp_path):
    assert draw_errors(study_of(tmp_path / "runs", (staring(ROWS, CELL, since=0), ROWS)), tmp_path / "errors.png")
    assert (tmp_path / "errors.png").stat().st_size > 1000

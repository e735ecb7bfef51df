"""From runs to numbers, and to the tables that hold them."""

import csv

import numpy as np
import pytest

from curiax.report.read import read_study
from curiax.report.scores import CURVES, binned, columns, curve, final, first_reach, grid, interval, intervals
from curiax.report.table import all_results, scores_table, write_curves
from curiax.studies.scores import write_scores
from tests.support.report_data import config_of, write_run

STEPS = 25 * 1024  # of a row


def runs_of(path, *runs, rows=8):
    """One run per (method, trackers, dwell), seeds in their order, in the setting `random`."""
    for seed, (method, trackers, dwell) in enumerate(runs):
        write_run(path / method / str(seed), config_of("random", method, seed, rows), trackers, dwell)
    return read_study(path)


def test_interval_of_three_seeds_worked_by_hand():
    found = interval([1.0, 2.0, 3.0])
    half = 4.302653 / np.sqrt(3)  # t of two degrees at 97.5 %, standard deviation 1
    np.testing.assert_allclose([found.mean, found.low, found.high], [2, 2 - half, 2 + half], rtol=1e-6)
    assert found.num_seeds == 3


def test_interval_is_cut_to_what_is_possible():
    found = interval([3.0, 4.0, 4.0], (0.0, 4.0))
    assert found.high == 4.0
    assert 0.0 < found.low < found.mean


def test_one_seed_has_no_interval_and_missing_values_are_left_out():
    one = interval([2.0, np.nan])
    assert (one.mean, one.num_seeds) == (2.0, 1)
    assert np.isnan([one.low, one.high]).all()
    assert np.isnan(interval([np.nan]).mean)
    mean, low, high = intervals(np.array([[1.0, 5.0], [3.0, np.nan]]))
    np.testing.assert_array_equal(mean, [2.0, 5.0])
    assert low[0] < 1 and high[0] > 3
    assert np.isnan([low[1], high[1]]).all()


def test_score_is_the_mean_of_the_last_quarter(tmp_path):
    study = runs_of(tmp_path, ("rnd", [0, 0, 0, 0, 9, 9, 2, 3], [0, 0, 0, 0, 0, 0, 0.5, 1.0]))
    assert final(study.runs[0], "trackers") == 2.5
    assert final(study.runs[0], "noise_dwell") == 0.75


def test_score_leaves_out_intervals_in_which_no_episode_ended(tmp_path):
    study = runs_of(tmp_path, ("rnd", [0, 0, 0, 0, 0, 0, np.nan, 3], [0] * 8))
    assert final(study.runs[0], "trackers") == 3


def test_a_region_is_reached_when_half_of_the_episodes_touch_it(tmp_path):
    study = runs_of(tmp_path, ("rnd", [0, 0.4, 0.5, 1.4, 1.6, 1, 1, 1], [0] * 8))
    assert first_reach(study.runs[0], "tracker_1") == 3 * STEPS
    assert first_reach(study.runs[0], "tracker_2") == 5 * STEPS
    assert np.isnan(first_reach(study.runs[0], "tracker_3"))


def test_curves_share_one_grid_and_end_where_their_runs_do(tmp_path):
    study = runs_of(tmp_path, ("rnd", [1, 2, 3, 4], [0] * 4), ("rnd", [3, 4], [0] * 2), rows=4)
    edges = grid(study)
    np.testing.assert_array_equal(edges, STEPS * np.arange(5))
    np.testing.assert_array_equal(binned(study.runs[1], "trackers", edges), [3, 4, np.nan, np.nan])
    found = curve(study.group("random", "rnd"), "trackers", edges)
    np.testing.assert_array_equal(found.mean, [2, 3, 3, 4])
    np.testing.assert_array_equal(np.isnan(found.low), [False, False, True, True])
    assert (found.high[:2] == 4).all()  # cut


def test_a_bin_is_the_mean_of_its_log_intervals(tmp_path):
    study = runs_of(tmp_path, ("rnd", np.arange(120) % 4, [0] * 120), rows=120)
    edges = grid(study)
    assert len(edges) == 61
    np.testing.assert_allclose(binned(study.runs[0], "trackers", edges), [0.5, 2.5] * 30)


def test_what_nobody_logged_has_no_curve_and_the_speed_is_measured(tmp_path):
    study = runs_of(tmp_path, ("rnd", [1, 2, 3, 4], [0] * 4), rows=4)
    assert curve(study.group("random", "rnd"), "contrastive_value", grid(study)) is None
    speed = columns(study.runs[0])["steps_per_second"]
    assert np.isnan(speed[0])  # compilation is in it
    np.testing.assert_allclose(speed[1:], STEPS / 2.56)


def test_scores_and_curves_are_files_that_read_back(tmp_path):
    study = runs_of(tmp_path / "runs", ("rnd", [1, 2, 3, 4], [0, 0, 0, 0.5]), ("byol-explore", [3, 3], [0, 0]), rows=4)
    write_scores(tmp_path / "scores.csv", all_results(study))
    write_curves(study, tmp_path / "curves.csv")
    with (tmp_path / "scores.csv").open() as file:
        scores = list(csv.DictReader(file))
    assert list(scores[0])[:5] == ["setting", "method", "seed", "score", "noise_dwell"]
    assert list(scores[0])[5:] == ["env_steps", "wall_minutes", "entropy"]
    assert [row["method"] for row in scores] == ["byol-explore", "rnd"]
    assert [float(scores[1][name]) for name in ("seed", "score", "noise_dwell", "env_steps")] == [0, 4, 0.5, 4 * STEPS]
    assert float(scores[1]["wall_minutes"]) == pytest.approx((20 + 3 * 2.56) / 60)
    with (tmp_path / "curves.csv").open() as file:
        curves = list(csv.DictReader(file))
    assert set(curves[0]) == {"setting", "method", "seed", "env_steps", "trackers", *CURVES}
    assert [float(row["trackers"]) for row in curves if row["method"] == "rnd"] == [1, 2, 3, 4]
    assert len([row for row in curves if row["method"] == "byol-explore"]) == 2  # no rows for what is not done
    assert {row["contrastive_value"] for row in curves} == {""}


def test_table_tells_means_intervals_and_when_each_region_was_reached(tmp_path):
    trackers = [0, 1, 1, 1, 1, 1, 1, 1]
    others = [0, 0, 0, 1, 2, 2, 2, 2]
    table = scores_table(runs_of(tmp_path, ("rnd", trackers, [0.1] * 8), ("rnd", others, [0.3] * 8)))
    assert "<b>1.50</b> <small>[0.00, 4.00]</small>" in table
    assert "20 % <small>[0, 100]</small>" in table
    assert table.count("<circle") == 2  # a dot per seed
    assert "51 k" in table  # R1: the lower of two seeds
    assert "128 k <small>1 of 2</small>" in table  # R2: the other never did
    assert table.count("never <small>0 of 2</small>") == 2  # R3 and R4


def test_one_seed_is_called_one_seed(tmp_path):
    table = scores_table(runs_of(tmp_path, ("rnd", [2] * 4, [0.1] * 4)))
    assert "<b>2.00</b> <small>one seed</small>" in table
    assert "50 % done" in table

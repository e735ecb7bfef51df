"""The report's sentences: they say what the numbers say, and no more."""

import numpy as np

from curiax.envs import scores_of
from curiax.report.names import amount, count, enumerate_words, steps
from curiax.report.read import read_study
from curiax.report.words import headline, progress, telling_setting
from tests.support.report_data import config_of, game_of, write_columns, write_run, write_study_json

ROWS = 8


def study_of(root, scores, dwell=None, num_rows=ROWS):
    """Runs with constant scores: {(setting, method): one score per seed}."""
    for (setting, method), seeds in scores.items():
        for seed, score in enumerate(seeds):
            noise = (dwell or {}).get((setting, method), 0.0)
            config = config_of(setting, method, seed, ROWS)
            write_run(root / setting / method / str(seed), config, [score] * num_rows, [noise] * num_rows)
    return read_study(root)


HINDSIGHT, EXPLORE = ("on-demand", "byol-hindsight"), ("on-demand", "byol-explore")
CLEAR = {HINDSIGHT: (3.5, 3.6, 3.7), EXPLORE: (0.2, 0.3, 0.4)}


def test_a_clear_difference_is_told_with_its_numbers(tmp_path):
    further, noise, done = headline(study_of(tmp_path, CLEAR, {HINDSIGHT: 0.1, EXPLORE: 0.9}))
    assert further == (
        "BYOL-Hindsight touches more of the maze's four regions per episode than BYOL-Explore in on-demand "
        "(3.6 against 0.3)."
    )
    assert noise == "In on-demand, BYOL-Explore spends 90 % of its time with noise in view, BYOL-Hindsight 10 %."
    assert "six runs, three seeds each, up to 205 k environment steps a run" in done


def test_the_opposite_result_is_told_too(tmp_path):
    turned = {HINDSIGHT: CLEAR[EXPLORE], EXPLORE: CLEAR[HINDSIGHT]}
    assert "BYOL-Hindsight touches fewer" in headline(study_of(tmp_path, turned))[0]


def test_overlapping_seeds_are_not_called_a_difference(tmp_path):
    further = headline(study_of(tmp_path, {HINDSIGHT: (1.0, 3.5, 3.0), EXPLORE: (2.0, 0.5, 3.0)}))[0]
    assert "(2.5 against 1.8); the seeds do not tell the two apart" in further
    assert "touches more" not in further


def test_one_seed_is_not_evidence(tmp_path):
    further = headline(study_of(tmp_path, {HINDSIGHT: (4.0,), EXPLORE: (0.0,)}))[0]
    assert "one seed cannot tell skill from luck" in further
    assert "touches more" not in further


def test_settings_are_sorted_by_what_can_be_told_of_them(tmp_path):
    same = {("baseline", "byol-hindsight"): (3.9, 3.7, 3.8), ("baseline", "byol-explore"): (3.7, 3.9, 3.8)}
    study = study_of(tmp_path, CLEAR | same)
    further = headline(study)[0]
    assert "in on-demand (3.6 against 0.3); in baseline (3.8 against 3.8) the seeds do not tell" in further
    assert telling_setting(study) == "on-demand"
    game = {"byol-hindsight": 100.0, "byol-explore": 0.0}  # points: 0.08 of a person's
    for method, points in game.items():
        write_columns(tmp_path / "venture" / method, game_of("venture", method, 0, 1), {"return": [points]})
    assert telling_setting(read_study(tmp_path)) == "on-demand"


def test_a_study_without_noise_says_so(tmp_path):
    assert headline(study_of(tmp_path, CLEAR))[1] == "There was no noise to watch."


def test_without_a_pair_to_compare_the_scores_stand_alone(tmp_path):
    first, _ = headline(study_of(tmp_path, {("random", "rnd"): (1.0, 2.0), ("random", "icm"): (3.0,)}))
    assert first == "Regions touched per episode, 0 to 4: in random, ICM 3.0 (one seed) and RND 1.5 (two seeds)."


def test_other_methods_are_compared_with_themselves_without_hindsight(tmp_path):
    scores = {("random", "icm+hindsight"): (3.0, 3.1), ("random", "icm"): (1.0, 1.1), ("random", "rnd"): (4.0, 4.0)}
    assert "ICM + hindsight touches more" in headline(study_of(tmp_path, scores))[0]


def test_an_unfinished_study_says_so_far(tmp_path):
    study = study_of(tmp_path, CLEAR, num_rows=ROWS // 2)
    assert headline(study)[0].startswith("So far: ")


def test_runs_in_which_no_episode_has_ended_are_no_score(tmp_path):
    first = headline(study_of(tmp_path, {HINDSIGHT: (np.nan,), EXPLORE: (np.nan,)}))[0]
    assert first == "No episode has ended yet."


def test_progress_counts_and_names_what_is_missing(tmp_path):
    study_of(tmp_path, {HINDSIGHT: (3.0,)})
    study_of(tmp_path, {EXPLORE: (3.0,)}, num_rows=ROWS // 4)
    failed = tmp_path / "on-demand" / "rnd" / "0"
    failed.mkdir(parents=True)
    (failed / "FAILED").write_text("no space left\n")
    write_study_json(tmp_path, [(*HINDSIGHT, 0), (*EXPLORE, 0), ("on-demand", "rnd", 0), ("on-demand", "icm", 2)])
    summary, failures, missing = progress(read_study(tmp_path))
    assert summary == "1 of 4 runs finished, 1 unfinished, 1 not started, 1 failed. This is how it stands."
    assert failures == ["Failed: on-demand / RND / seed 0: no space left"]
    assert missing == ["on-demand / BYOL-Explore / seed 0: 25 % done", "on-demand / ICM / seed 2: not started"]


def test_a_whole_study_has_nothing_to_add(tmp_path):
    assert progress(study_of(tmp_path, CLEAR)) == ("", [], [])


def test_numbers_in_words():
    assert [count(1, "seed"), count(3, "seed"), count(48, "run")] == ["one seed", "three seeds", "48 runs"]
    assert [enumerate_words(["a"]), enumerate_words(["a", "b", "c"])] == ["a", "a, b and c"]
    assert [steps(300_400), steps(999_600), steps(5_000_000)] == ["300 k", "1.0 M", "5.0 M"]


def test_small_returns_are_told_to_the_hundredth_and_large_ones_are_not():
    (returns,), (regions,) = scores_of("atari/hero"), scores_of("maze/random")
    assert [amount(returns, score) for score in (0.0, 0.957, -0.5, 401.4, 3400.2)] == [
        "0",
        "0.96",
        "-0.50",
        "401",
        "3,400",
    ]
    assert amount(regions, 3.57) == "3.6"

"""A report of games: returns and rooms instead of a maze's regions."""

import csv
import dataclasses
import itertools
import re

import matplotlib.pyplot as plt
import numpy as np
import pytest

from curiax import envs
from curiax.config import LAPTOP
from curiax.errors import UserError
from curiax.report import made, names, words
from curiax.report.figure import draw_figure, draw_losses
from curiax.report.read import read_study
from curiax.report.rooms import visits
from curiax.report.scores import final
from curiax.report.table import all_results, heads, scores_table
from curiax.studies.scores import write_scores
from tests.support.report_data import config_of, game_of, write_columns, write_run, write_study_json
from tests.support.report_games import ROWS, SEEDS, write_games


@pytest.fixture(scope="module")
def study(tmp_path_factory):
    root = tmp_path_factory.mktemp("montezuma")
    write_games(root)
    return read_study(root)


def test_the_scores_of_a_study_are_those_of_its_environments_that_were_logged(study, tmp_path):
    assert [score.metric for score in study.scores] == ["return", "rooms_found", "rooms"]
    write_run(tmp_path / "maze", config_of("random", "rnd", 0, 2), [1.0] * 2, [0.0] * 2)
    assert [score.metric for score in read_study(tmp_path).scores] == ["trackers"]
    write_columns(tmp_path / "game", game_of("hero", "rnd", 0, 2), {"return": [1.0, 2.0]})
    both = read_study(tmp_path)
    assert [score.metric for score in both.scores] == ["return", "trackers"]
    assert [both.score_of(name).metric for name in ("hero", "random")] == ["return", "trackers"]
    assert both.score.title == "score"  # of no single environment


def test_a_run_without_its_score_is_one_clear_line(tmp_path):
    write_columns(tmp_path / "game", game_of("hero", "rnd", 0, 2), {"trackers": [1.0, 2.0]})
    with pytest.raises(UserError, match="a run in atari/hero that has not logged its score, return"):
        read_study(tmp_path)


def test_an_environment_that_reports_did_not_know_is_told_in_its_own_words(tmp_path):
    for seed, (method, level) in enumerate(itertools.product(("icm+hindsight", "icm"), (3.0, 3.2))):
        config = dataclasses.replace(LAPTOP, env="craftax/classic-symbolic", curiosity=method, seed=seed)
        found = level * (2 if method == "icm" else 1)
        columns = {"score": [found] * 4, "achievements": [2.0] * 4, "return": [0.5] * 4, "noise_dwell": [0.0] * 4}
        write_columns(tmp_path / method / str(seed), config, columns)
    crafter = read_study(tmp_path)
    assert words.headline(crafter)[0] == (
        "So far: ICM + hindsight has a lower Crafter score than ICM in classic-symbolic (3.1 against 6.2)."
    )
    assert words.headline(crafter)[-1].startswith("Two methods of curiosity in one setting of Crafter")
    assert heads(crafter)[1].startswith("Crafter's score over all episodes so far")


def test_settings_stand_in_the_order_of_the_study_and_say_what_they_are(study):
    assert study.settings == ["sticky-intrinsic", "non-sticky-mixed"]
    about = [names.setting_about(study, name) for name in study.settings]
    assert about[0] == "atari/montezuma_revenge, sticky 0.1, intrinsic rewards only"
    assert about[1] == "atari/montezuma_revenge, intrinsic and extrinsic rewards"


def test_what_the_study_varies_is_no_warning_and_what_differs_besides_is(study, tmp_path):
    assert made.warnings(study) == [] and set(made.differing_fields(study.logged)) == {"reward", "atari.sticky"}
    for seed, unroll in enumerate((32, 16)):
        config = dataclasses.replace(game_of("hero", "rnd", seed, 2), unroll=unroll)
        write_columns(tmp_path / str(seed), config, {"return": [1.0, 2.0]})
    (warning,) = made.warnings(read_study(tmp_path))
    assert "unroll is 32 and 16" in warning


def test_the_headline_tells_returns_and_rooms_and_of_what(study):
    further, rooms, done = words.headline(study)
    assert further == (
        "BYOL-Hindsight has a higher return per episode than BYOL-Explore in sticky-intrinsic (401 against 0) "
        "and non-sticky-mixed (401 against 0)."
    )
    assert rooms == (
        "Rooms found in the run so far, BYOL-Hindsight against BYOL-Explore: sticky-intrinsic (3.0 against 1.0) and "
        "non-sticky-mixed (3.0 against 1.0)."
    )
    assert done.startswith("Two methods of curiosity in two settings of Montezuma's Revenge, alone and beside the")
    assert done.endswith("agent steps a run.")


def test_games_have_the_names_that_people_write_and_others_those_that_they_have():
    games = ("montezuma_revenge", "qbert", "hero", "bank_heist", "ms_pacman")
    titles = ["Montezuma's Revenge", "Q*bert", "H.E.R.O.", "Bank Heist", "Ms. Pac-Man"]
    assert [envs.profile_of(f"atari/{game}").title for game in games] == titles
    assert envs.profile_of("gym/MiniGrid-DoorKey-8x8-v0").title == "MiniGrid-DoorKey-8x8-v0"


def test_rooms_found_are_those_of_the_end_and_returns_of_the_last_quarter(study):
    (run, *_) = study.group("sticky-intrinsic", "byol-hindsight")
    assert (final(run, "rooms_found"), final(run, "return"), final(run, "rooms")) == (3.0, 400.0, 1.5)
    assert np.isnan(final(run, "trackers"))


def test_scores_have_rooms_where_there_are_rooms(study, tmp_path):
    write_scores(tmp_path / "scores.csv", all_results(study))
    with (tmp_path / "scores.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert list(rows[0])[3:] == ["score", "noise_dwell", "env_steps", "wall_minutes", "entropy", "rooms_found", "rooms"]
    assert (float(rows[0]["score"]), float(rows[0]["rooms_found"])) == (400.0, 3.0)
    assert len(rows) == 2 * 2 * len(SEEDS)


def test_the_table_has_returns_and_rooms_and_no_regions(study):
    table = scores_table(study)
    assert "<b>401</b> <small>[399, 403]</small>" in table and "3.00 <small>[3.00, 3.00]</small>" in table
    assert "Rooms found" in table and "R1 reached" not in table
    assert table.count("<circle") == 2 * 2 * len(SEEDS)


def test_where_a_game_has_noise_the_table_has_noise_dwell(study, tmp_path):
    assert "Noise dwell" not in scores_table(study)
    for noise, dwell in (("persistive", [0.2, 0.6]), ("none", [0.0, 0.0])):
        config = game_of("hero", "rnd", 0, 2, **{"atari.noise": noise})
        columns = {"return": [1.0, 2.0], "noise_dwell": dwell}
        write_columns(tmp_path / noise / "rnd" / "0", config, columns)
    write_study_json(tmp_path, [("persistive", "rnd", 0), ("none", "rnd", 0)], name="noise")
    noisy = read_study(tmp_path)
    assert heads(noisy) == ["Method", "Return of an episode", "", "Noise dwell"]
    cells = re.findall(r'<td data-label="Noise dwell"><span>(.*?)</span>', scores_table(noisy))
    assert dict(zip(noisy.settings, cells, strict=True)) == {"persistive": "60 %", "none": "no noise"}


def test_visits_are_summed_over_seeds_and_there_is_no_room_in_the_corner(study):
    found = visits(study.group("sticky-intrinsic", "byol-hindsight"))
    assert found.shape == (4, 9) and np.isnan(found[0, 0]) and np.isfinite(found).sum() == 24
    assert found[1, 5] == 50 * ROWS * len(SEEDS) and np.nansum(found > 0) == 3


def test_a_game_whose_memory_tells_no_rooms_has_no_map_of_them(tmp_path):
    write_columns(tmp_path / "run", game_of("hero", "rnd", 0, 2), {"return": [1.0, 2.0]})
    assert visits(list(read_study(tmp_path).runs)) is None


def figure_of(draw, study, path, monkeypatch):
    drawn = []
    monkeypatch.setattr(plt, "close", drawn.append)
    draw(study, [path])
    return [axes for axes in drawn[0].axes if axes.axison]


def test_the_figure_has_a_row_of_panels_for_each_score_all_of_one_scale(study, tmp_path, monkeypatch):
    panels = figure_of(draw_figure, study, tmp_path / "figure.png", monkeypatch)
    titles = ["return of an episode", "rooms found in the run so far", "rooms of an episode"]
    assert [axes.get_ylabel() for axes in panels[::2]] == titles
    assert len(panels) == 3 * 2 and panels[0].get_ylim() == panels[1].get_ylim()
    assert panels[0].get_ylim()[1] > 400 and panels[0].get_ylim()[0] <= 0
    assert {axes.get_xlabel() for axes in panels} == {"agent steps, millions"}


def test_noise_that_never_was_and_what_nobody_logged_have_no_panel(study, tmp_path, monkeypatch):
    panels = figure_of(draw_losses, study, tmp_path / "losses.png", monkeypatch)
    labels = [axes.get_ylabel() for axes in panels[::2]]
    assert labels == [
        "prediction error",
        "reconstruction error",
        "targets' variance",
        "contrastive value, nats",
        "entropy of the policy",
    ]


def test_of_many_settings_the_losses_are_turned(tmp_path, monkeypatch):
    games = ("alien", "freeway", "gravitar", "hero", "pitfall", "solaris", "venture")
    for game in games:
        columns = {"return": [1.0, 2.0], "prediction_error": [0.5, 0.25], "entropy": [1.0, 2.0]}
        write_columns(tmp_path / game, game_of(game, "rnd", 0, 2), columns)
    panels = figure_of(draw_losses, read_study(tmp_path), tmp_path / "losses.png", monkeypatch)
    assert [axes.get_ylabel() for axes in panels[::2]] == list(games)
    assert [axes.get_title() for axes in panels[:2]] == ["prediction error", "entropy of the policy"]

"""The page of an arena: worlds of several families, measurements without an agent, published scores beside ours."""

import csv

import numpy as np
import pytest

from curiax.commands.cli import main
from curiax.envs import profile_of
from curiax.report import made, words
from curiax.report.aggregate import reference_of
from curiax.report.export import export
from curiax.report.heat import draw_heat, heat, quoted
from curiax.report.read import read_study
from curiax.report.scores import final
from curiax.report.sides import cost, dwell, left_out_notes, side_tables
from curiax.report.worlds import BOUNDS, all_or_nothing, worlds_of
from curiax.studies.published import PUBLISHED, published_in
from tests.support.arena_data import write_arena, write_measured
from tests.support.report_data import config_of, write_run

ROWS = 20


def played(end):
    """A run in MiniGrid whose deterministic policy ends with this return, evaluated in every other row."""
    evaluations = [np.nan if row % 2 else end * (row >= ROWS - 4) for row in range(ROWS)]
    return {"return": [0.1] * ROWS, "evaluation/return": evaluations, "noise_dwell": [0.99] * ROWS}


def crafted(end):
    return {"score": np.linspace(0, end, ROWS).tolist(), "achievements": [1.0] * ROWS, "noise_dwell": [0.0] * ROWS}


RUNS = {
    ("maze-random", "byol-hindsight"): [{"trackers": [4.0] * ROWS, "noise_dwell": [0.0] * ROWS}] * 2,
    ("maze-random", "rnd"): [{"trackers": [2.0] * ROWS, "noise_dwell": [0.5] * ROWS}] * 2,
    ("doorkey-5x5-noisy", "byol-hindsight"): [played(0.95), played(0.97)],
    ("doorkey-5x5-noisy", "rnd"): [played(0.0), played(0.96)],
    ("crafter", "byol-hindsight"): [crafted(3.0), crafted(4.0)],
    ("crafter", "rnd"): [crafted(1.0), crafted(2.0)],
}
MEASURED = [
    *(("byol-hindsight", "state", seed, 0.3, 0.0) for seed in (0, 1)),
    *(("rnd", "state", seed, 0.3, 0.1) for seed in (0, 1)),
]


@pytest.fixture(scope="module")
def root(tmp_path_factory):
    root = tmp_path_factory.mktemp("arena") / "arena"
    write_arena(root, RUNS)
    write_measured(root, MEASURED)
    return root


@pytest.fixture(scope="module")
def study(root):
    return read_study(root)


def test_measurements_are_runs_of_the_study_in_its_order_of_worlds(study):
    assert study.settings == ["maze-random", "scm-state", "doorkey-5x5-noisy", "crafter"]
    assert [final(run, "preference") for run in study.group("scm-state", "rnd")] == pytest.approx([0.5, 0.5])
    assert not any(run.trained for run in study.group("scm-state", "rnd"))


def test_a_run_that_evaluates_its_deterministic_policy_is_judged_by_that(study):
    (run, _) = study.group("doorkey-5x5-noisy", "byol-hindsight")
    assert run.profile.scores[0].metric == "evaluation/return"
    assert final(run, "evaluation/return") == 0.95, "the last of ten evaluations"
    assert final(run, "return") == pytest.approx(0.1)


def test_a_damaged_table_of_measurements_is_a_note_and_the_runs_are_shown(tmp_path):
    write_run(tmp_path / "random" / "rnd" / "0", config_of("random", "rnd", 0, 4), [1.0] * 4, [0.0] * 4)
    write_measured(tmp_path, MEASURED)
    (tmp_path / "scm" / "errors.csv").write_text("nothing,of,this\n1,2,3\n")
    found = read_study(tmp_path)
    assert found.settings == ["random"] and "not a table of this version" in found.notes[0]


def test_an_arena_with_measurements_alone_can_be_read(tmp_path):
    write_measured(tmp_path, MEASURED)
    assert read_study(tmp_path).settings == ["scm-state"]


def test_minigrid_returns_and_crafters_score_have_bounds_where_they_have_any():
    assert profile_of("gym/MiniGrid-DoorKey-5x5-v0+cells").scores[0].bounds == (0.0, 1.0)
    assert profile_of("gym/BabyAI-GoToLocal-v0").scores[0].bounds == (0.0, 1.0)
    for name in ("gym/MiniGrid-Dynamic-Obstacles-8x8-v0", "gym/CartPole-v1"):
        assert not np.isfinite(profile_of(name).scores[0].bounds).any()


def test_minigrid_is_all_or_nothing_with_solve_rates(study):
    worlds = worlds_of(study)
    assert worlds.scales["doorkey-5x5-noisy"].source == BOUNDS and all_or_nothing(worlds, "doorkey-5x5-noisy")
    assert heat(study, worlds, "doorkey-5x5-noisy", "rnd").more.startswith("1 of 2 solved")


def test_crafters_column_is_on_the_scale_of_the_study(study):
    scale = worlds_of(study).scales["crafter"]
    assert (scale.low, scale.high) == (1.5, 3.5)


def test_published_scores_are_coloured_on_the_scale_of_the_study_and_clipped(study):
    worlds = worlds_of(study)
    lpm, crafter = PUBLISHED[2], next(row for row in PUBLISHED if row.name == "Plan2Explore")
    ours = heat(study, worlds, "doorkey-5x5-noisy", "byol-hindsight")
    assert quoted(worlds, "doorkey-5x5-noisy", lpm)[:2] == ("0.96", "") and ours.text == "0.96"
    assert quoted(worlds, "doorkey-5x5-noisy", lpm).paint == ours.paint
    assert quoted(worlds, "crafter", crafter)[:2] == ("2.10", "± 0.10")
    assert quoted(worlds, "maze-random", lpm).text == "" == quoted(worlds, "crafter", lpm).text


def test_only_sources_with_a_world_of_the_study_are_quoted(study):
    assert {row.name for row in published_in(["crafter"])} == {"Plan2Explore", "RND", "Random policy"}
    assert published_in(["on-demand"]) == [] and len(published_in(study.settings)) == len(PUBLISHED)


def test_dwell_and_cost_stand_beside_the_scores(study):
    (title, _, rows), (_, _, costs) = side_tables(study, study.settings)
    assert title == "Noise dwell"
    assert dict(rows) == {"BYOL-Hindsight": ["0 %", "–", "99 %", "–"], "RND": ["50 %", "–", "99 %", "–"]}
    assert dict(costs)["RND"][1] == "–", "nobody measured the time there"
    (run, _) = study.group("crafter", "rnd")
    step = 2.56 / np.diff(run.metrics["env_steps"])[0]
    assert cost([run]) == f"{1e6 * step:,.0f}" and dwell([run]) == "–"


def test_who_is_left_out_and_why(study):
    (line,) = left_out_notes(study)
    assert line.startswith("Random policy is not in scm-independent, scm-state and scm-action: ")


def test_the_runs_of_families_differ_without_a_warning(study):
    assert made.warnings(study) == []


def test_every_world_has_a_command_of_its_own(study):
    first, *others = made.commands(study)
    assert first == "curiax study arena"
    assert [line.rpartition("# ")[2] for line in others] == ["maze-random", "doorkey-5x5-noisy", "crafter"]
    assert "curiax train gym/MiniGrid-DoorKey-5x5-v0+cells" in others[1] and "--evaluate-every 40" in others[1]


def test_the_export_and_the_sentences_know_all_worlds(study):
    assert reference_of(worlds_of(study), None) == "byol-hindsight"
    assert export(study)["tasks"] == study.settings
    assert any("scm-state" in line for line in words.headline(study))


@pytest.mark.slow
def test_the_page_has_the_table_with_published_rows_apart(root, study, tmp_path):
    assert main(["report", str(root), "--no-films", "--out", str(tmp_path / "report")]) == 0
    page = (tmp_path / "report" / "report.html").read_text()
    for text in ("Published, by Crafter", "Published, by a reproduction of LPM", "PPO with RND", "Plan2Explore"):
        assert text in page
    assert page.count('<tbody class="published">') == 2
    for text in ("Noise dwell", "Cost per step", "curiax train crafter", "Random policy is not in"):
        assert text in page
    with (tmp_path / "report" / "scores.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert {row["world"] for row in rows} == set(study.settings) and len(rows) == 16


@pytest.mark.slow
def test_the_picture_has_the_published_rows_too(study, tmp_path):
    draw_heat(study, worlds_of(study), [tmp_path / "worlds.svg"])
    text = (tmp_path / "worlds.svg").read_text()
    for label in ("PPO with LPM (a)", "Plan2Explore (b)", "(b) published: Crafter"):
        assert f"<!-- {label}" in text

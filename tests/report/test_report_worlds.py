"""All worlds of a study together: normalised scores, the comparison over all worlds, the table, and the export."""

import json

import matplotlib.pyplot as plt
import numpy as np
import pytest

from curiax.commands.cli import main
from curiax.config.dotted import replaced
from curiax.errors import UserError
from curiax.report.across import missing_note, scale_note, table_note, worlds_section
from curiax.report.aggregate import aggregates, draw_aggregate, reference_of
from curiax.report.export import export
from curiax.report.heat import draw_heat, heat, luminance, short, wrap
from curiax.report.read import read_study
from curiax.report.worlds import BOUNDS, HUMAN, MEANS, all_or_nothing, num_solved, worlds_of
from tests.support.report_data import config_of, game_of, write_columns, write_run

ROWS = 4
SCORES = {  # of the maze, out of four
    ("on-demand", "byol-hindsight"): [4.0, 4.0, 3.8],
    ("on-demand", "byol-explore"): [0.0, 0.0, 4.0],
    ("random", "byol-hindsight"): [4.0, 3.0, 2.0],
    ("random", "byol-explore"): [1.0, 2.0, 3.0],
}


def write_maze(root, setting, method, seeds):
    for seed, score in enumerate(seeds):
        config = config_of(setting, method, seed, ROWS)
        write_run(root / setting / method / str(seed), config, [0.0, 1.0, 2.0, score], [0.2] * ROWS)


def write_game(root, game, method, returns):
    for seed, value in enumerate(returns):
        config = game_of(game, method, seed, ROWS)
        write_columns(root / game / method / str(seed), config, {"return": [0.0, 0.0, 0.0, value]})


@pytest.fixture
def root(tmp_path):
    for (setting, method), seeds in SCORES.items():
        write_maze(tmp_path / "study", setting, method, seeds)
    return tmp_path / "study"


def test_scores_with_bounds_are_normalised_by_them(root):
    worlds = worlds_of(read_study(root))
    assert worlds.scales["random"] == (0.0, 4.0, BOUNDS)
    random, on_demand = worlds.normalised("byol-hindsight")
    np.testing.assert_allclose(random, [1.0, 0.75, 0.5])
    np.testing.assert_allclose(on_demand, [1.0, 1.0, 0.95])


def test_a_game_with_human_scores_is_normalised_by_them(tmp_path):
    write_game(tmp_path, "venture", "rnd", [0.0, 1187.5])
    worlds = worlds_of(read_study(tmp_path))
    assert worlds.scales["venture"].source == HUMAN
    np.testing.assert_allclose(worlds.normalised("rnd")[0], [0.0, 1.0])


def test_other_scores_are_normalised_by_the_lowest_and_the_highest_mean_of_a_method(tmp_path):
    fields = {"env": "gymnax/CartPole-v1"}
    for method, returns in {"rnd": [10.0, 30.0], "icm": [40.0, 60.0], "byol-explore": [35.0]}.items():
        for seed, value in enumerate(returns):
            config = replaced(config_of("random", method, seed, 1), fields)
            write_columns(tmp_path / method / str(seed), config, {"return": [value]})
    worlds = worlds_of(read_study(tmp_path))
    assert worlds.scales["CartPole-v1"] == (20.0, 50.0, MEANS)
    np.testing.assert_allclose(worlds.normalised("icm")[0], [2 / 3, 4 / 3])


def test_methods_that_do_not_differ_are_at_zero(tmp_path):
    fields = {"env": "gymnax/CartPole-v1"}
    for method in ("rnd", "icm"):
        write_columns(tmp_path / method, replaced(config_of("random", method, 0, 1), fields), {"return": [9.0]})
    assert worlds_of(read_study(tmp_path)).normalised("rnd")[0].tolist() == [0.0]


def test_aggregates_worked_by_hand_the_best_first(root):
    first, second = aggregates(worlds_of(read_study(root)), "byol-hindsight")
    assert (first.method, second.method) == ("byol-hindsight", "byol-explore")
    assert first.mean.value == pytest.approx((0.75 + 0.95 + 1 + 1) / 4)  # of 0.5, 0.75, 0.95, 1, 1, 1
    assert second.mean.value == pytest.approx((0 + 0.25 + 0.5 + 0.75) / 4)  # of 0, 0, 0.25, 0.5, 0.75, 1
    assert first.improvement is None
    random = (0 + 0.5 + (1 + 0.5)) / 9  # 1 beats none of 4, 3, 2; 2 ties with 2; 3 beats 2 and ties with 3
    on_demand = (1 + 0.5 + 0.5) / 9  # 4 beats 3.8 and ties with both others
    assert second.improvement.value == pytest.approx((random + on_demand) / 2)
    assert second.improvement.low < second.improvement.value < second.improvement.high


def test_a_method_without_a_score_in_some_world_is_named_and_not_compared(root):
    write_maze(root, "random", "rnd", [1.0, 1.0])
    study = read_study(root)
    worlds = worlds_of(study)
    assert worlds.missing == {"rnd": ["on-demand"]}
    assert [row.method for row in aggregates(worlds, "byol-explore")] == ["byol-hindsight", "byol-explore"]
    assert missing_note(worlds) == "Not compared over all worlds: RND has no score in on-demand."
    assert heat(study, worlds, "on-demand", "rnd").text == "–"
    with pytest.raises(UserError, match="--against rnd: has no score in on-demand"):
        reference_of(worlds, "rnd")


def test_the_reference_is_the_first_method_or_the_named_one(root):
    worlds = worlds_of(read_study(root))
    assert reference_of(worlds, None) == "byol-hindsight"
    assert reference_of(worlds, "byol-explore") == "byol-explore"
    with pytest.raises(UserError, match=r"--against byol-explor: unknown\. Did you mean byol-explore\?"):
        reference_of(worlds, "byol-explor")


def test_one_world_has_no_reference(tmp_path):
    write_maze(tmp_path, "random", "rnd", [1.0])
    write_maze(tmp_path, "random", "icm", [2.0])
    worlds = worlds_of(read_study(tmp_path))
    assert reference_of(worlds, None) is None
    with pytest.raises(UserError, match="--against rnd: needs several worlds"):
        reference_of(worlds, "rnd")


def test_where_runs_get_all_or_nothing_the_table_counts_those_that_solve_it(root):
    study = read_study(root)
    worlds = worlds_of(study)
    assert all_or_nothing(worlds, "on-demand") and not all_or_nothing(worlds, "random")
    assert [num_solved(worlds, "on-demand", method) for method in worlds.methods] == [3, 1]
    cell = heat(study, worlds, "on-demand", "byol-explore")
    assert (cell.text, cell.more) == ("1.33", "1 of 3 solved [6, 79] %")
    assert heat(study, worlds, "random", "byol-explore").more == "[0.00, 4.00]"  # Student's t, cut to what is possible
    assert "In on-demand, a run gets all or nothing" in table_note(worlds)


def test_a_world_that_nobody_solves_keeps_its_means(tmp_path):
    for method in ("rnd", "icm"):
        write_maze(tmp_path, "random", method, [0.0, 0.1])
    assert not all_or_nothing(worlds_of(read_study(tmp_path)), "random")


def test_cells_are_lighter_with_higher_scores_and_their_text_can_be_read(root):
    study = read_study(root)
    worlds = worlds_of(study)
    cells = [heat(study, worlds, "random", method) for method in ("byol-explore", "byol-hindsight")]
    light = [luminance(plt.matplotlib.colors.to_rgb(cell.paint)) for cell in cells]
    assert light[0] < light[1]
    for cell, behind in zip(cells, light, strict=True):
        ink = luminance(plt.matplotlib.colors.to_rgb(cell.ink))
        assert (max(ink, behind) + 0.05) / (min(ink, behind) + 0.05) > 4.5


def test_numbers_and_names_are_short():
    assert [short(value) for value in (0.125, 9.999, 12.34, 1234.5)] == ["0.12", "10.0", "12.3", "1,234"]
    assert wrap("doorkey-5x5-noisy") == "doorkey-5x5-\nnoisy"


def test_figures_have_a_row_for_each_method(root, monkeypatch):
    drawn = []
    monkeypatch.setattr(plt, "close", drawn.append)
    study = read_study(root)
    worlds = worlds_of(study)
    draw_aggregate(study, worlds, "byol-hindsight", [root / "aggregate.png", root / "aggregate.svg"])
    draw_heat(study, worlds, [root / "worlds.png"])
    left, right = drawn[0].axes
    assert [label.get_text() for label in left.get_yticklabels()] == ["BYOL-Hindsight", "BYOL-Explore"]
    means = [line.get_xdata()[0] for line in left.get_lines() if line.get_marker() == "o"]
    assert means == pytest.approx([3.7 / 4, 1.5 / 4])
    assert right.get_xlabel() == "probability of improvement over BYOL-Hindsight"
    texts = {text.get_text() for text in drawn[1].axes[0].texts}
    assert {"3.00", "2.00", "3.93", "1.33", "1 of 3 [6, 79] %"} <= texts
    assert all((root / name).stat().st_size > 0 for name in ("aggregate.png", "aggregate.svg", "worlds.png"))


def test_worlds_with_different_scores_stand_in_one_report(root):
    write_game(root, "venture", "byol-hindsight", [0.0, 1187.5])
    write_game(root, "venture", "byol-explore", [0.0, 0.0])
    worlds = worlds_of(study := read_study(root))
    assert worlds.methods == ["byol-hindsight", "byol-explore"] and len(worlds.settings) == 3
    assert (
        scale_note(worlds) == f"A normalised score is 0 and 1 at {BOUNDS} in random and on-demand; {HUMAN} in venture."
    )
    assert "594" in worlds_section(study, worlds, "byol-explore")  # points, beside the maze's regions
    assert main(["report", str(root), "--no-films", "--against", "byol-explore"]) == 0
    page = (root / "report" / "report.html").read_text()
    assert "Improves on BYOL-Explore" in page and "venture" in page


def test_export_has_the_matrices_of_rliable(root):
    write_maze(root, "random", "rnd", [1.0])
    found = export(read_study(root))
    assert found["tasks"] == ["random", "on-demand"] and found["left_out"] == {"rnd": ["on-demand"]}
    assert set(found["rliable"]) == set(found["seeds"]) == {"byol-hindsight", "byol-explore"}
    np.testing.assert_allclose(found["rliable"]["byol-explore"], [[0.25, 0.0], [0.5, 0.0], [0.75, 1.0]])
    assert found["seeds"]["byol-explore"] == [0, 1, 2]
    assert found["scales"]["random"] == {"low": 0.0, "high": 4.0, "from": BOUNDS}


def test_export_has_the_seeds_that_a_method_has_in_every_world(root):
    write_maze(root, "random", "rnd", [1.0, 2.0, 3.0, 4.0])
    write_maze(root, "on-demand", "rnd", [0.0, 4.0])
    found = export(read_study(root))
    np.testing.assert_allclose(found["rliable"]["rnd"], [[0.25, 0.0], [0.5, 1.0]])
    runs = found["marl_eval"]["study"]["random"]
    assert set(runs) == {"byol-hindsight", "byol-explore", "rnd"}
    assert all(list(seeds) == ["seed_0", "seed_1"] for seeds in runs.values())


def test_export_has_the_steps_of_marl_eval(root):
    run = export(read_study(root))["marl_eval"]["study"]["random"]["byol-hindsight"]["seed_1"]
    assert list(run) == ["step_1", "step_2", "step_3", "step_4", "absolute_metrics"]
    assert [run[f"step_{number}"]["score"] for number in (1, 2, 3, 4)] == [[0.0], [1.0], [2.0], [3.0]]
    assert run["step_2"]["step_count"] == 2 * 25 * 1024
    assert run["absolute_metrics"] == {"score": [3.0]}


def test_export_leaves_out_steps_at_which_some_run_has_no_value(root):
    path = root / "random" / "byol-hindsight" / "0" / "metrics.csv"
    lines = path.read_text().splitlines()
    column = lines[0].split(",").index("trackers")
    first = lines[1].split(",")
    first[column] = "nan"
    path.write_text("\n".join([lines[0], ",".join(first), *lines[2:]]) + "\n")
    tasks = export(read_study(root))["marl_eval"]["study"]
    kept = [list(run) for task in tasks.values() for seeds in task.values() for run in seeds.values()]
    assert kept == [["step_1", "step_2", "step_3", "absolute_metrics"]] * 12
    assert tasks["random"]["byol-explore"]["seed_0"]["step_1"]["step_count"] == 2 * 25 * 1024


def test_report_writes_the_export_where_it_is_told(root, tmp_path, capsys):
    assert main(["report", str(root), "--no-films", "--json", str(tmp_path / "scores.json")]) == 0
    assert json.loads((tmp_path / "scores.json").read_text()) == export(read_study(root))
    assert main(["report", str(root), "--no-films", "--json", str(tmp_path / "none" / "scores.json")]) == 2
    assert "--json" in capsys.readouterr().err

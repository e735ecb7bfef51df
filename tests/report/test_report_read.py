"""A study is read as it is on disk: finished or not, with study.json or without."""

import shutil

import pytest

from curiax.errors import UserError
from curiax.report.read import read_study
from tests.support.report_data import config_of, write_run, write_study_json

ROWS = 8


def add_run(root, setting, method, seed, num_rows=ROWS, name=None):
    directory = root / setting / method / (name or str(seed))
    write_run(directory, config_of(setting, method, seed, ROWS), [1.0] * num_rows, [0.0] * num_rows)
    return directory


@pytest.fixture
def running(tmp_path):
    """One run finished, one half done, one failed at once, one not begun."""
    add_run(tmp_path, "on-demand", "byol-hindsight", 0)
    add_run(tmp_path, "on-demand", "byol-explore", 0, num_rows=ROWS // 2)
    (tmp_path / "baseline" / "rnd" / "0").mkdir(parents=True)
    (tmp_path / "baseline" / "rnd" / "0" / "FAILED").write_text("Traceback\nno space left\n")
    runs = [("on-demand", "byol-hindsight", 0), ("on-demand", "byol-explore", 0)]
    write_study_json(tmp_path, [*runs, ("baseline", "rnd", 0), ("baseline", "icm", 0)])
    return tmp_path


def test_a_running_study_tells_how_far_each_of_its_runs_is(running):
    study = read_study(running)
    found = {run.method: (run.status, run.progress, run.reason) for run in study.runs}
    assert found == {
        "byol-hindsight": ("finished", 1.0, ""),
        "byol-explore": ("unfinished", 0.5, ""),
        "rnd": ("failed", 0.0, "no space left"),
        "icm": ("not started", 0.0, ""),
    }
    assert (study.name, study.command) == ("maze", "curiax study maze")


def test_only_what_was_logged_is_shown_and_the_pair_of_the_paper_comes_first(running):
    study = read_study(running)
    assert study.settings == ["on-demand"]
    assert study.methods == ["byol-hindsight", "byol-explore"]
    assert [run.method for run in study.group("on-demand", "byol-explore")] == ["byol-explore"]


def test_a_failed_run_that_is_at_work_again_is_not_called_failed_when_it_is_done(running):
    directory = running / "on-demand" / "byol-hindsight" / "0"
    (directory / "FAILED").write_text("killed\n")
    assert {run.status for run in read_study(running).group("on-demand", "byol-hindsight")} == {"finished"}


def test_runs_are_found_without_a_study_and_earlier_ones_set_aside_are_not(tmp_path):
    add_run(tmp_path, "random", "rnd", 1)
    add_run(tmp_path, "random", "rnd", 2)
    add_run(tmp_path, "random", "rnd", 2, name="2.1")
    add_run(tmp_path, "baseline", "icm", 0)
    study = read_study(tmp_path)
    assert [(run.setting, run.method, run.seed) for run in study.runs] == [
        ("baseline", "icm", 0),
        ("random", "rnd", 1),
        ("random", "rnd", 2),
    ]
    assert study.settings == ["baseline", "random"]
    assert study.command == ""


def test_a_config_of_another_program_is_passed_over(tmp_path):
    add_run(tmp_path, "random", "rnd", 1)
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "config.json").write_text('{"env": "CartPole"}')
    assert len(read_study(tmp_path).runs) == 1


def test_a_single_run_is_a_study_of_one(tmp_path):
    directory = add_run(tmp_path, "random", "rnd", 1)
    study = read_study(directory)
    assert [run.directory for run in study.runs] == [directory]
    assert study.runs[0].env_steps == ROWS * 25 * 1024


def test_half_a_row_left_by_a_kill_is_not_read(tmp_path):
    directory = add_run(tmp_path, "random", "rnd", 1, num_rows=3)
    with (directory / "metrics.csv").open("a") as file:
        file.write("200,10240")
    assert read_study(directory).runs[0].metrics["update"].tolist() == [50, 100, 150]


def test_a_directory_without_runs_is_one_clear_line(tmp_path):
    with pytest.raises(UserError, match="no runs here"):
        read_study(tmp_path)
    with pytest.raises(UserError, match="no such directory"):
        read_study(tmp_path / "nowhere")


def test_a_study_that_has_logged_nothing_is_one_clear_line(tmp_path):
    write_study_json(tmp_path, [("baseline", "icm", 0), ("baseline", "icm", 1)])
    with pytest.raises(UserError, match="none of its 2 runs"):
        read_study(tmp_path)


def test_a_study_may_be_moved(running, tmp_path_factory):
    elsewhere = tmp_path_factory.mktemp("elsewhere") / "study"
    shutil.move(running, elsewhere)
    assert all(run.directory.is_relative_to(elsewhere) for run in read_study(elsewhere).runs)

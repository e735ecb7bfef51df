"""The files of a report: what is written, and what is said when it cannot be."""

import pytest

from curiax.commands.cli import main
from curiax.report.write import write_report
from tests.support.report_data import config_of, write_run

ROWS = 3
FILES = {".curiax", "report.html", "figure.png", "figure.svg", "losses.png", "scores.csv", "curves.csv"}


@pytest.fixture
def run(tmp_path):
    write_run(tmp_path / "run", config_of("brownian", "rnd", 0, ROWS), [1.0] * ROWS, [0.2] * ROWS)
    return tmp_path / "run"


@pytest.mark.slow
def test_a_report_is_written_beside_the_runs_unless_told_otherwise(run, capsys):
    assert main(["report", str(run), "--no-films"]) == 0
    assert {path.name for path in (run / "report").iterdir()} == FILES
    assert str(run / "report" / "report.html") in capsys.readouterr().out
    assert main(["report", str(run), "--no-films", "--out", str(run / "elsewhere")]) == 0
    assert {path.name for path in (run / "elsewhere").iterdir()} == FILES


@pytest.mark.slow
def test_with_hindsight_the_report_has_a_figure_of_outcomes_and_without_it_none_stays(run, tmp_path):
    losses = {name: [0.5] * ROWS for name in ("prediction_error", "reconstruction_error")}
    config = config_of("brownian", "byol-hindsight", 0, ROWS)
    write_run(tmp_path / "other", config, [1.0] * ROWS, [0.2] * ROWS, **losses)
    write_report(tmp_path / "other", tmp_path / "out", False, lambda text: None)
    assert {path.name for path in (tmp_path / "out").iterdir()} == FILES | {"outcomes.png", "outcomes.svg"}
    write_report(run, tmp_path / "out", False, lambda text: None)
    assert {path.name for path in (tmp_path / "out").iterdir()} == FILES


def test_a_second_report_takes_the_place_of_the_first(run, tmp_path):
    write_report(run, tmp_path / "out", False, lambda text: None)
    (tmp_path / "out" / "film.gif").write_text("of runs that are no more")
    write_report(run, tmp_path / "out", False, lambda text: None)
    assert {path.name for path in (tmp_path / "out").iterdir()} == FILES


def test_a_place_that_cannot_be_written_is_one_clear_line(run, tmp_path, capsys):
    (tmp_path / "file").write_text("")
    assert main(["report", str(run), "--no-films", "--out", str(tmp_path / "file" / "out")]) == 2
    assert capsys.readouterr().err == f"curiax: {tmp_path}/file/out: cannot be written (Not a directory)\n"


def test_a_report_of_nothing_is_one_clear_line(tmp_path, capsys):
    assert main(["report", str(tmp_path)]) == 2
    assert capsys.readouterr().err == f"curiax: {tmp_path}: no runs here (no study.json and no config.json)\n"
    assert list(tmp_path.iterdir()) == []

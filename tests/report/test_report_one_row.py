"""The report of a Gymnasium run, and of runs that have logged one row of metrics."""

import dataclasses

import matplotlib.pyplot as plt
import numpy as np
import pytest

from curiax.config.presets import GYM_LAPTOP
from curiax.report import words
from curiax.report.figure import draw_figure
from curiax.report.read import read_study
from curiax.report.write import write_report
from tests.support.report_data import config_of, write_columns, write_run

POLE = dataclasses.replace(GYM_LAPTOP, env="gym/my_module:CartPole-v1", curiosity="rnd")
ROW = {"return": [20.0], "noise_dwell": [0.0], "prediction_error": [0.5], "entropy": [0.6]}


def quiet(text):
    pass


@pytest.fixture(scope="module")
def page(tmp_path_factory):
    root = tmp_path_factory.mktemp("pole")
    write_columns(root / "run", POLE, ROW)
    return write_report(root / "run", root / "out", False, quiet)


def test_a_gymnasium_run_is_told_as_one_and_its_options_are_its_own(page):
    text = page.read_text().partition('id="payload"')[0]
    assert "CartPole-v1 is a Gymnasium environment. The score is the return of an episode" in text
    assert "<h1>Curiosity in CartPole-v1</h1>" in text
    assert "atari" not in text.lower() and "vectorization" in text


def test_one_row_is_a_point_on_the_page_and_the_page_says_so(page, visit):
    page = visit(page)
    assert "Every run has logged one row of metrics so far: a point instead of a curve." in page.inner_text("#figure")
    (point,) = page.locator("#figure path.mean").all()
    assert point.get_attribute("d").endswith("h0") and point.get_attribute("stroke-linecap") == "round"
    assert page.locator("#curves .card").count() == 3  # noise dwell, prediction error, entropy; no speed yet


def panels_of(study, path, monkeypatch):
    drawn = []
    monkeypatch.setattr(plt, "close", drawn.append)
    draw_figure(study, [path])
    return drawn[0].axes


def test_one_row_is_a_point_in_the_figure(tmp_path, monkeypatch):
    write_columns(tmp_path / "run", POLE, ROW)
    (panel,) = panels_of(read_study(tmp_path / "run"), tmp_path / "figure.png", monkeypatch)
    (line,) = panel.lines
    assert line.get_marker() == "o" and np.isfinite(line.get_ydata()).sum() == 1


def test_where_no_episode_has_ended_figure_and_note_say_that(tmp_path, monkeypatch):
    write_columns(tmp_path / "run", POLE, ROW | {"return": [float("nan")]})
    study = read_study(tmp_path / "run")
    assert words.figure_note(study).endswith("but no episode has ended: there is nothing to draw.")
    (panel,) = panels_of(study, tmp_path / "figure.png", monkeypatch)
    assert [text.get_text() for text in panel.texts] == ["no values so far"]


def test_two_rows_are_a_curve(tmp_path, monkeypatch):
    write_run(tmp_path / "run", config_of("random", "rnd", 0, 2), [1.0] * 2, [0.0] * 2)
    study = read_study(tmp_path / "run")
    assert "one row" not in words.figure_note(study)
    (panel,) = panels_of(study, tmp_path / "figure.png", monkeypatch)
    assert panel.lines[0].get_marker() in ("", "None")

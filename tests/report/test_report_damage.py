"""A report shows what can be read of damaged runs, and says in a line each what it left out."""

import numpy as np
import pytest

from curiax import envs
from curiax.commands.cli import main
from curiax.errors import UserError
from curiax.report.maps import all_maps
from curiax.report.read import read_study
from tests.support.damage import CONFIGS, HEADERS, LINES, SIZES, become_directory, field, text
from tests.support.report_data import config_of, game_of, rooms_of, staring, write_columns, write_run, write_study_json

ROWS = 4
FOREIGN = ("[1]", '{"env": "CartPole"}', "// a comment", "\xff")  # of other programs


def add_run(directory, method="rnd", seed=0):
    config = config_of("on-demand", method, seed, ROWS)
    maps = staring(ROWS, (4, 12), since=2)
    write_run(directory, config, [1.0, 2.0, 3.0, 4.0], [0.5] * ROWS, maps)
    return directory


@pytest.mark.parametrize("damage", LINES.values(), ids=LINES)
def test_a_damaged_line_of_metrics_is_left_out_with_a_note_and_the_other_rows_are_shown(tmp_path, damage):
    run = add_run(tmp_path / "run")
    damage(run / "metrics.csv")
    study = read_study(tmp_path)
    assert study.runs[0].metrics["trackers"].tolist() == [1, 3, 4]
    (note,) = study.notes
    assert note.startswith(f"Left out: {run}/metrics.csv: line 3 damaged (") and note.isprintable()


def test_maps_stay_with_their_rows_if_a_line_is_damaged(tmp_path):
    whole, _ = all_maps(read_study(add_run(tmp_path / "whole")))
    LINES["bad number"](add_run(tmp_path / "run") / "metrics.csv")
    maps, notes = all_maps(read_study(tmp_path / "run"))
    before, after = (found["on-demand", "rnd"].share for found in (whole, maps))
    np.testing.assert_array_equal(after[-1], before[-1])  # the agent stares in the last rows
    np.testing.assert_array_equal(after[0], before[0])
    assert notes == []


@pytest.mark.parametrize("content", [b"", b"torn", b"\xff" * 40_000, None], ids=["empty", "torn", "NaN", "directory"])
def test_damaged_maps_do_not_hide_the_run(tmp_path, content):
    run = add_run(tmp_path / "run")
    (become_directory if content is None else text(content))(run / "cells.f32")
    maps, notes = all_maps(read_study(run))
    assert maps == {} and len(notes) == 1


@pytest.mark.parametrize(
    ("name", "damage"),
    [
        *(("metrics.csv", damage) for damage in HEADERS.values()),
        *(("config.json", damage) for damage in CONFIGS.values()),
    ],
    ids=[*HEADERS, *CONFIGS],
)
def test_a_run_that_cannot_be_read_is_left_out_with_a_note_and_alone_it_is_one_clear_line(
    tmp_path, name, damage, capsys
):
    run = add_run(tmp_path / "damaged", seed=1)
    damage(run / name)
    assert main(["report", str(tmp_path), "--out", str(tmp_path / "out")]) == 2
    out, err = capsys.readouterr()
    assert (out, err.count("\n")) == ("", 1) and f"{run}/{name}: " in err
    add_run(tmp_path / "whole")
    study = read_study(tmp_path)
    assert [found.directory.name for found in study.runs] == ["whole"]
    (note,) = study.notes
    assert note.startswith(f"Left out: {run}/{name}: ") and note.isprintable() and len(note) < 400


@pytest.mark.parametrize("damage", SIZES.values(), ids=SIZES)
def test_fields_that_a_report_does_not_use_do_not_hide_the_run(tmp_path, damage):
    damage(add_run(tmp_path / "run") / "config.json")
    study = read_study(tmp_path)
    assert (len(study.logged), study.notes) == (1, ())


def test_a_finished_run_without_rows_is_left_out_with_a_note(tmp_path):
    add_run(tmp_path / "whole")
    for name, content in (("absent", None), ("empty", b"")):
        metrics = add_run(tmp_path / name, seed=1) / "metrics.csv"
        metrics.unlink() if content is None else metrics.write_bytes(content)
    study = read_study(tmp_path)
    assert len(study.runs) == 1
    assert [note.rpartition(": ")[2] for note in study.notes] == ["a finished run without rows in metrics.csv"] * 2


def test_unrelated_files_and_folders_are_passed_over_without_a_word(tmp_path):
    add_run(tmp_path / "run")
    for number, content in enumerate(FOREIGN):
        (tmp_path / str(number)).mkdir()
        (tmp_path / str(number) / "config.json").write_text(content)
    (tmp_path / "metrics.csv").write_bytes(b"\0")
    (tmp_path / "run" / "notes.txt").write_bytes(b"\xff")
    (tmp_path / "nowhere").symlink_to(tmp_path / "missing")
    study = read_study(tmp_path)
    assert (len(study.runs), study.notes) == (1, ())


DOCUMENTS = {
    **{name: CONFIGS[name] for name in ("a directory", "empty", "cut off", "not UTF-8", "a list", "nested")},
    "runs that are none": field("runs", [3]),
    "a run without a method": field("runs", [{"setting": "on-demand", "seed": 0}]),
    "a seed that is text": field("runs", [{"setting": "on-demand", "method": "rnd", "seed": "0"}]),
    "a run elsewhere": field("runs", [{"setting": "..", "method": "rnd", "seed": 0}]),
    "a name with NUL": field("runs", [{"setting": "\0", "method": "rnd", "seed": 0}]),
    "a name that is a number": field("name", 3),
}


@pytest.mark.parametrize("damage", DOCUMENTS.values(), ids=DOCUMENTS)
def test_without_a_readable_study_the_runs_below_are_shown_with_a_note(tmp_path, damage):
    add_run(tmp_path / "on-demand" / "rnd" / "0")
    write_study_json(tmp_path, [("on-demand", "rnd", 0)])
    assert read_study(tmp_path).notes == ()
    damage(tmp_path / "study.json")
    study = read_study(tmp_path)
    assert [run.seed for run in study.runs] == [0]
    (note,) = study.notes
    assert note.startswith(f"Left out: {tmp_path}/study.json: ") and note.isprintable()


def test_the_page_and_the_terminal_tell_what_was_left_out(tmp_path, capsys):
    add_run(tmp_path / "a" / "whole", "byol-explore")
    LINES["not UTF-8"](add_run(tmp_path / "a" / "line", "byol-hindsight") / "metrics.csv")
    for number, (name, damage) in enumerate({"metrics.csv": HEADERS["other text"], "config.json": text("{")}.items()):
        damage(add_run(tmp_path / "a" / f"broken{number}") / name)
    (tmp_path / "a/line/FAILED").write_bytes(b"\xff")
    assert main(["report", str(tmp_path / "a"), "--no-films", "--out", str(tmp_path / "out")]) == 0
    out, err = capsys.readouterr()
    assert err == ""
    notes = [line for line in out.splitlines() if line.startswith("Left out: ")]
    page = (tmp_path / "out" / "report.html").read_text()
    assert len(notes) == 3 and page.count("Left out: ") == 3


def test_an_infinite_or_missing_score_does_not_stop_the_report(tmp_path, capsys):
    names = ("trackers", "noise_dwell", "prediction_error")
    for seed, values in enumerate(([np.inf] * ROWS, [np.nan] * ROWS, [1.0, -np.inf, 3e38, -3e38])):
        config = config_of("on-demand", "byol-explore" if seed else "byol-hindsight", seed, ROWS)
        write_columns(tmp_path / "runs" / str(seed), config, dict.fromkeys(names, values))
    assert main(["report", str(tmp_path / "runs"), "--no-films", "--out", str(tmp_path / "out")]) == 0
    assert capsys.readouterr().err == ""


def test_a_report_makes_no_environment(tmp_path, monkeypatch):
    add_run(tmp_path / "maze" / "run")
    game = game_of("montezuma_revenge", "rnd", 0, ROWS)
    scores = ("return", "rooms", "rooms_found", "noise_dwell")
    write_columns(tmp_path / "atari" / "run", game, dict.fromkeys(scores, [1.0] * ROWS), rooms_of(ROWS, [(0, 4)]))
    for name in ("make", "make_host", "spec_of"):
        monkeypatch.setattr(envs, name, lambda *_: pytest.fail("an environment was made"))
    for family in ("maze", "atari"):
        assert main(["report", str(tmp_path / family), "--no-films", "--out", str(tmp_path / "out" / family)]) == 0
    assert (tmp_path / "out" / "atari" / "rooms.png").exists()


def test_a_report_on_no_directory_is_one_clear_line(tmp_path):
    for place in (tmp_path / "missing", tmp_path / ("a" * 5000)):
        with pytest.raises(UserError, match="no such directory"):
            read_study(place)

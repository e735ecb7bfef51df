"""Damaged run directories: one line says what is wrong, what can be read is used, and nothing is lost."""

import json
from pathlib import Path

import numpy as np
import pytest

from curiax import envs
from curiax.commands.cli import main
from curiax.errors import UserError
from curiax.studies.runner.progress import finished, glance, progress, speed
from curiax.training import evaluate
from curiax.training.run.directory import MAPS, Run, read_maps
from curiax.training.run.metrics import MetricsFile, read, read_metrics
from tests.support.damage import CONFIGS, HEADERS, LINES, SIZES, text
from tests.support.files import contents
from tests.support.programs import train_args
from tests.support.tiny import TINY

SHAPE = envs.profile_of(TINY.env).map.wall.shape
UPDATES = (2, 4, 6, 8)


def log(run, *updates):
    for update in updates:
        maps = {name: np.full(SHAPE, update, np.float32) for name in MAPS}
        run.log(update, {"trackers": update / 2, "noise_dwell": 0.5}, 0.5 * update, maps)


@pytest.fixture
def directory(tmp_path):
    """A run of four rows that is not finished."""
    run = Run(tmp_path / "run", TINY)
    log(run, *UPDATES)
    run.close()
    return tmp_path / "run"


def updates(directory):
    return [row["update"] for row in read_metrics(directory / "metrics.csv")]


@pytest.mark.parametrize("damage", LINES.values(), ids=LINES)
def test_a_run_with_a_damaged_line_goes_on_and_keeps_the_file_as_it_was(directory, damage):
    damage(directory / "metrics.csv")
    damaged = (directory / "metrics.csv").read_bytes()
    assert updates(directory) == [2, 6, 8]
    run = Run(directory, TINY)
    (note,) = run.notes
    assert note.startswith("metrics.csv: line 3 damaged (")
    assert note.endswith("; kept as it was in metrics.damaged.1.csv")
    log(run, 8, 10)
    run.close()
    assert updates(directory) == [2, 6, 8, 10]
    assert (directory / "metrics.damaged.1.csv").read_bytes() == damaged
    assert read_maps(directory, SHAPE)[:, 0, 0, 0].tolist() == [2, 6, 8, 10]  # each with its row
    run = Run(directory, TINY)  # now whole: nothing to say
    assert run.notes == [] and not (directory / "metrics.damaged.2.csv").exists()
    run.close()


@pytest.mark.parametrize("damage", HEADERS.values(), ids=HEADERS)
def test_a_run_whose_metrics_cannot_be_read_is_refused_and_left_as_it_was(directory, damage, capsys):
    damage(directory / "metrics.csv")
    before = contents(directory)
    assert main(train_args(directory)) == 2
    err = capsys.readouterr().err
    assert err.count("\n") == 1 and f"{directory}/metrics.csv: " in err and err.isascii()
    assert contents(directory) == before


def test_half_a_row_is_cut_off_but_more_than_that_is_kept(directory):
    path = directory / "metrics.csv"
    content = path.read_bytes()
    path.write_bytes(content[:-2])
    MetricsFile(path).close()
    assert path.read_bytes() == content[: content[:-1].rindex(b"\n") + 1]
    assert not list(directory.glob("metrics.damaged.*"))
    for damaged in (content.replace(b"\n", b""), content[:-1].replace(b"\n8,", b"8,")):
        path.write_bytes(damaged)
        file = MetricsFile(path)
        file.close()
        assert len(file.notes) == 1
    assert (directory / "metrics.damaged.1.csv").read_bytes() == content.replace(b"\n", b"")


def test_maps_are_kept_if_their_rows_are_lost(directory):
    maps = (directory / "cells.f32").read_bytes()
    (directory / "metrics.csv").unlink()
    run = Run(directory, TINY)
    log(run, 10)
    run.close()
    assert (directory / "cells.lost.1.f32").read_bytes() == maps
    assert read_maps(directory, SHAPE)[:, 0, 0, 0].tolist() == [10]


def test_a_column_that_the_header_lost_is_told_once(directory, capsys):
    path = directory / "metrics.csv"
    path.write_bytes(path.read_bytes().replace(b"trackers", b"crackers", 1))
    run = Run(directory, TINY)
    log(run, 10, 12)
    run.close()
    assert capsys.readouterr().err == f"curiax: {path}: has no column for trackers; not logged\n"
    assert updates(directory) == [2, 4, 6, 8, 10, 12]


@pytest.mark.parametrize("content", [b"", b"update,env_steps,seconds\n", b"update,env"])
def test_metrics_without_rows_are_no_error(tmp_path, content):
    (tmp_path / "metrics.csv").write_bytes(content)
    assert read(tmp_path / "metrics.csv").columns == {}


COMMANDS = {
    "train": train_args,
    "evaluate": lambda run: ["evaluate", str(run), "--episodes", "1"],
    "video": lambda run: ["evaluate", str(run), "--video", str(run.parent / "film.gif")],
    "diagnose": lambda run: ["diagnose", "--run-dir", str(run), "--out", str(run.parent / "out")],
}


@pytest.mark.parametrize("command", COMMANDS.values(), ids=COMMANDS)
@pytest.mark.parametrize("damage", [*CONFIGS.values(), *SIZES.values()], ids=[*CONFIGS, *SIZES])
def test_a_damaged_config_is_one_clear_line_in_every_command(directory, damage, command, capsys):
    damage(directory / "config.json")
    before = contents(directory.parent)
    assert main(command(directory)) == 2
    out, err = capsys.readouterr()
    assert (out, err.count("\n")) == ("", 1)
    assert err.startswith(f"curiax: {directory}/config.json: not a config of this version of curiax (")
    assert err.endswith("; restore it, or train anew with --fresh\n") and len(err) < 500
    assert contents(directory.parent) == before


def test_a_finished_run_without_metrics_is_still_finished(directory, capsys):
    (directory / "DONE").write_text(json.dumps({"update": TINY.num_updates}))
    (directory / "metrics.csv").unlink()
    assert main(train_args(directory)) == 0
    out, err = capsys.readouterr()
    assert "already done: but metrics.csv has no rows" in out and err == ""
    assert (directory / "DONE").exists()


@pytest.mark.parametrize("content", [b"", b"\xff", b"[]", b'{"update": "all"}', b"{}", b"[" * 100_000])
def test_a_damaged_mark_of_the_end_counts_as_none(directory, content):
    (directory / "DONE").write_text(json.dumps({"update": TINY.num_updates}))
    assert finished(directory, TINY)
    (directory / "DONE").write_bytes(content)
    assert not finished(directory, TINY)
    run = Run(directory, TINY)
    assert not run.done
    run.close()


@pytest.mark.parametrize("damage", [*LINES.values(), *HEADERS.values()], ids=[*LINES, *HEADERS])
def test_the_progress_of_a_study_passes_over_damage(directory, damage):
    damage(directory / "metrics.csv")
    rows = glance(directory / "metrics.csv")
    assert [row["update"] for row in rows] in ([2, 6, 8], [])
    assert progress(directory, TINY).env_steps in (64, 0)
    assert speed(rows[:1] * 2) is None  # no time has passed


@pytest.mark.parametrize("name", ["²", "8", "abc", "-1"])
def test_what_is_no_checkpoint_is_passed_over(directory, name):
    (directory / "checkpoints" / name).write_bytes(b"\0")
    with pytest.raises(UserError, match="run: no whole checkpoint") as caught:
        evaluate.load(directory)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("damage", [text(""), text("\0" * 100), Path.unlink], ids=["empty", "torn", "lost"])
def test_maps_that_are_not_there_are_not_read(directory, damage):
    damage(directory / "cells.f32")
    assert read_maps(directory, SHAPE).shape == (0, 3, *SHAPE)


def test_a_map_that_cannot_be_is_zero(directory):
    maps = np.fromfile(directory / "cells.f32", np.float32).reshape(len(UPDATES), 3, *SHAPE)
    maps[1, 0, 0, 0], maps[2, 1, 0, 0] = -1, np.nan
    maps.tofile(directory / "cells.f32")
    assert read_maps(directory, SHAPE).max(axis=(1, 2, 3)).tolist() == [2, 0, 0, 8]

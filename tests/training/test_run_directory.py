"""A run's directory: what it holds, what it refuses, and what it does with damage."""

import dataclasses
import json
import math
from pathlib import Path

import numpy as np
import pytest

from curiax import envs
from curiax.config import to_dict
from curiax.errors import UserError
from curiax.training.run.directory import MAPS, Run, read_config, read_maps
from curiax.training.run.metrics import MetricsFile, read_metrics
from curiax.training.run.outputs import MARK, claim
from tests.support.files import contents
from tests.support.tiny import TINY

SHAPE = envs.make(TINY.env).spec.map_shape


def row(update, **metrics):
    return {"update": update, "env_steps": 8 * update, "seconds": 0.5 * update, "loss": 1 / (update + 1), **metrics}


def write_rows(path, *updates):
    file = MetricsFile(path)
    added = [file.append(row(update)) for update in updates]
    file.close()
    return added


def test_config_json_is_complete(tmp_path):
    Run(tmp_path / "run", TINY).close()
    assert read_config(tmp_path / "run") == TINY
    assert json.loads((tmp_path / "run/config.json").read_text()) == json.loads(json.dumps(to_dict(TINY)))


def test_a_row_goes_to_metrics_and_events(tmp_path):
    run = Run(tmp_path, TINY)
    run.log(2, {"loss/value": 0.25, "trackers": math.nan}, seconds=1.5)
    run.close()
    assert (tmp_path / "metrics.csv").read_text() == "update,env_steps,seconds,loss/value,trackers\n2,16,1.5,0.25,\n"
    assert [file.stat().st_size > 0 for file in (tmp_path / "events").iterdir()] == [True]


def test_metrics_only_grow(tmp_path):
    path = tmp_path / "metrics.csv"
    write_rows(path, 2, 4)
    before, inode = path.read_bytes(), path.stat().st_ino
    write_rows(path, 6)
    assert path.read_bytes().startswith(before) and path.stat().st_ino == inode
    assert [row["update"] for row in read_metrics(path)] == [2, 4, 6]


def test_rows_that_are_there_already_are_not_written_again(tmp_path):
    path = tmp_path / "metrics.csv"
    write_rows(path, 2, 4, 6)
    before = path.read_bytes()
    assert write_rows(path, 4, 6) == [False, False]
    assert path.read_bytes() == before
    assert write_rows(path, 4, 6, 8) == [False, False, True]
    assert [row["update"] for row in read_metrics(path)] == [2, 4, 6, 8]


def test_a_kill_at_any_byte_leaves_whole_rows_and_the_rest_can_be_written_again(tmp_path):
    path, whole = tmp_path / "metrics.csv", tmp_path / "whole.csv"
    write_rows(whole, 2, 4)
    expected = whole.read_bytes()
    for size in range(len(expected) + 1):
        path.write_bytes(expected[:size])
        write_rows(path, 2, 4)
        assert path.read_bytes() == expected, f"torn after {size} bytes"


def test_rows_come_back_bit_for_bit(tmp_path):
    values = {"third": 1 / 3, "tiny": 5e-324, "float32": float(np.float32(0.1)), "zero": -0.0, "none": math.nan}
    file = MetricsFile(tmp_path / "metrics.csv")
    file.append(row(2, **values))
    file.close()
    (back,) = read_metrics(tmp_path / "metrics.csv")
    assert [value.hex() for value in back.values()] == [float(value).hex() for value in row(2, **values).values()]


def map_of(update: int) -> dict[str, np.ndarray]:
    values = {"visits": update, "reward": -update, "error": 2 * update}
    return {name: np.full(SHAPE, value, np.float32) for name, value in values.items()}


def log_maps(directory: Path, *updates: int) -> None:
    run = Run(directory, TINY)
    for update in updates:
        run.log(update, {"loss": 1.0}, 1.0, map_of(update))
    run.close()


def test_maps_come_back_with_their_row(tmp_path):
    log_maps(tmp_path, 2, 4)
    log_maps(tmp_path, 4, 6)  # update 4 is there already
    maps = read_maps(tmp_path, SHAPE)
    assert maps.shape == (3, 3, *SHAPE)
    assert maps[:, :, 3, 5].tolist() == [[2, -2, 4], [4, -4, 8], [6, -6, 12]]


def test_maps_without_a_row_are_not_read_and_are_written_over(tmp_path):
    log_maps(tmp_path, 2)
    whole = (tmp_path / "cells.f32").read_bytes()
    for torn in (whole + b"torn", whole + whole):  # a kill while the maps are written, or before their row is
        (tmp_path / "cells.f32").write_bytes(torn)
        assert len(read_maps(tmp_path, SHAPE)) == 1
    log_maps(tmp_path, 4)
    assert read_maps(tmp_path, SHAPE)[:, 0, 0, 0].tolist() == [2, 4]


def test_a_run_without_maps_has_none(tmp_path):
    Run(tmp_path, TINY).close()
    assert len(read_maps(tmp_path, SHAPE)) == 0


def test_training_time_adds_up_over_processes(tmp_path):
    run = Run(tmp_path, TINY)
    run.log(2, {"loss": 1.0}, seconds=run.seconds + 7.5)
    run.close()
    run = Run(tmp_path, TINY)
    assert run.seconds == 7.5
    run.close()


@pytest.mark.parametrize("name", ["notes.txt", "metrics.csv", "checkpoints"])
@pytest.mark.parametrize("fresh", [False, True])
def test_a_foreign_directory_is_refused_and_left_as_it_was(tmp_path, name, fresh):
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / name).write_text("mine")
    with pytest.raises(UserError, match="holds files, but no run of curiax; left alone"):
        Run(tmp_path / "mine", TINY, fresh=fresh)
    assert contents(tmp_path) == {(tmp_path / "mine" / name).relative_to(tmp_path): b"mine"}


@pytest.mark.parametrize("text", ["", '{"model_type": "gpt2"}', '{"network": {"num_layers": 3}}'])
@pytest.mark.parametrize("fresh", [False, True])
def test_a_config_json_of_another_program_is_refused_and_left_as_it_was(tmp_path, text, fresh):
    theirs = {"config.json": text, "lock": "held by them"}
    for name, content in theirs.items():
        (tmp_path / name).write_text(content)
    with pytest.raises(UserError, match="holds files, but no run of curiax; left alone") as caught:
        Run(tmp_path, TINY, fresh=fresh)
    assert "\n" not in str(caught.value)
    assert {path.name: content.decode() for path, content in contents(tmp_path).items()} == theirs


@pytest.mark.parametrize(
    ("change", "named"),
    [
        ({"seed": 1}, "seed = 0, not 1"),
        ({"world": dataclasses.replace(TINY.world, latent=5)}, "world.latent = 4, not 5"),
        ({"curiosity": "rnd", "seed": 1}, r"curiosity = byol-hindsight, not rnd \(and 1 more\)"),
    ],
)
def test_a_run_with_another_config_is_refused_by_field_and_left_as_it_was(tmp_path, change, named):
    Run(tmp_path, TINY).close()
    before = contents(tmp_path)
    with pytest.raises(UserError, match=f"was made with {named}; choose another --run-dir, or --fresh"):
        Run(tmp_path, dataclasses.replace(TINY, **change))
    assert contents(tmp_path) == before


def test_a_run_may_be_made_longer_and_is_then_not_done(tmp_path):
    short, long = dataclasses.replace(TINY, env_steps=32), dataclasses.replace(TINY, env_steps=64)
    run = Run(tmp_path, short)
    for update in (2, 4):
        assert not run.done
        run.log(update, {"loss": 1.0}, seconds=1.0)
    run.finish({"update": 4})
    run.close()
    run = Run(tmp_path, short)
    assert run.done
    run.close()
    run = Run(tmp_path, long)
    assert not run.done and not (tmp_path / "DONE").exists()
    run.close()
    assert read_config(tmp_path) == long


@pytest.mark.parametrize("fresh", [False, True])
def test_a_run_that_trains_is_not_opened_twice_nor_renamed(tmp_path, fresh):
    run = Run(tmp_path / "run", TINY)
    with pytest.raises(UserError, match="another process is training here"):
        Run(tmp_path / "run", TINY, fresh=fresh)
    assert [entry.name for entry in tmp_path.iterdir()] == ["run"]
    run.close()
    Run(tmp_path / "run", TINY, fresh=fresh).close()


@pytest.mark.parametrize(
    ("mark", "begun"), [("", []), ("run", []), ("run", ["lock"]), ("run", ["lock", "config.json.part"])]
)
def test_a_run_killed_as_it_began_can_be_opened(tmp_path, mark, begun):
    (tmp_path / MARK).write_text(mark)
    for name in begun:
        (tmp_path / name).write_text("{")
    Run(tmp_path, TINY).close()
    assert read_config(tmp_path) == TINY


def test_a_place_that_cannot_be_written_is_one_clear_line(tmp_path):
    (tmp_path / "file").write_text("mine")
    claim(tmp_path / "run", "run")
    (tmp_path / "run/lock").mkdir()
    for path in (tmp_path / "file", tmp_path / "file/run", tmp_path / "run", "/proc/run", "/proc/1/run"):
        with pytest.raises(UserError, match=f"^{path}: cannot be written") as caught:
            Run(Path(path), TINY)
        assert "\n" not in str(caught.value)
    assert (tmp_path / "file").read_text() == "mine"


def test_going_back_sets_rows_aside_and_later_ones_take_their_place(tmp_path):
    maps = {name: np.ones(envs.make("maze/baseline").spec.map_shape, np.float32) for name in MAPS}

    def log(run, updates, value):
        for update in updates:
            run.log(update, {"x": value}, 1.0, {name: value * array for name, array in maps.items()})

    config = dataclasses.replace(TINY, env="maze/baseline")
    run = Run(tmp_path / "run", config)
    log(run, (1, 2, 3, 4), 1.0)
    run.go_back(4)
    assert not run.notes
    run.go_back(2)
    log(run, (3,), 2.0)
    run.go_back(0)
    log(run, (1, 2), 3.0)
    run.close()
    assert [note.rpartition(" ")[2] for note in run.notes] == ["metrics.lost.1.csv", "metrics.lost.2.csv"]

    def rows(name):
        return [(row["update"], row["x"]) for row in read_metrics(tmp_path / "run" / name)]

    assert rows("metrics.csv") == [(1, 3), (2, 3)]
    assert rows("metrics.lost.1.csv") == [(3, 1), (4, 1)]
    assert rows("metrics.lost.2.csv") == [(1, 1), (2, 1), (3, 2)]
    np.testing.assert_array_equal(read_maps(tmp_path / "run", SHAPE)[:, 0, 0, 0], [3, 3])

"""Where commands write: a directory of a stranger's is not touched, and a file is looked at before the work."""

import json
import os
from pathlib import Path

import pytest

from curiax.config import to_dict
from curiax.errors import UserError
from curiax.training.run.directory import Run
from curiax.training.run.outputs import MARK, SIGNS, check_file, claim, is_ours, refuse_foreign, writing_file
from tests.support.files import contents
from tests.support.tiny import TINY

OUR_NAMES = sorted({name for name, _ in SIGNS.values()})


def refused(directory, kind):
    """Why the directory is refused; it must be as it was before."""
    before = contents(directory)
    with pytest.raises(UserError) as caught:
        claim(directory, kind)
    assert contents(directory) == before and "\n" not in str(caught.value)
    return str(caught.value)


@pytest.mark.parametrize("kind", SIGNS)
def test_a_new_and_an_empty_directory_become_ours_and_stay_ours(tmp_path, kind):
    for directory in (tmp_path / "new/below", tmp_path / "empty"):
        if directory.name == "empty":
            directory.mkdir()
        claim(directory, kind)
        assert (directory / MARK).read_text() == f"{kind}\n" and is_ours(directory, kind)
        (directory / "notes.txt").touch()
        claim(directory, kind)


@pytest.mark.parametrize("kind", SIGNS)
@pytest.mark.parametrize("name", ["notes.txt", "lock", "scores.csv", "figure.png", MARK, *OUR_NAMES])
def test_a_directory_of_a_stranger_is_left_as_it_was_whatever_its_files_are_called(tmp_path, kind, name):
    (tmp_path / name).write_text("{}" if name.endswith("json") else "mine")
    assert refused(tmp_path, kind).startswith(f"{tmp_path}: holds files, but no {kind} of curiax; left alone")


@pytest.mark.parametrize("kind", SIGNS)
def test_one_output_of_ours_does_not_take_the_place_of_another(tmp_path, kind):
    for other in SIGNS.keys() - {kind}:
        claim(tmp_path / other, other)
        (tmp_path / other / "result").touch()
        assert f"holds another output of curiax ({other}, not {kind})" in refused(tmp_path / other, kind)


def test_outputs_of_versions_without_a_mark_are_known_by_their_content(tmp_path):
    study = {"name": "maze", "preset": "laptop", "fields": {}, "runs": [], "started": ""}
    findings = {"env": "maze/random", "transitions": 9, "noise": 0.1, "novelty": 0.1}
    old = {
        "run": ("config.json", json.dumps(to_dict(TINY), indent=2)),
        "study": ("study.json", json.dumps(study, indent=2)),
        "report": ("report.html", "<!doctype html>\n<title>curiax report: maze</title>"),
        "diagnosis": ("findings.json", json.dumps(findings, indent=2)),
        "scm study": ("settings.json", json.dumps({"env": "scm", "chunk": 1, "dark": 2, "lit": 3}, indent=1)),
        "patches study": ("settings.json", json.dumps({"config": {}, "amount": {}, "measured": {}}, indent=1)),
    }
    assert old.keys() == SIGNS.keys()
    for kind, (name, text) in old.items():
        directory = tmp_path / kind
        directory.mkdir()
        (directory / name).write_text(text)
        assert [other for other in SIGNS if is_ours(directory, other)] == [kind]
        claim(directory, kind)
        assert (directory / MARK).read_text() == f"{kind}\n" and (directory / name).read_text() == text


@pytest.mark.parametrize("mark", ["", "run\n", "study\n"])
def test_a_directory_with_nothing_but_a_mark_is_as_good_as_empty(tmp_path, mark):
    (tmp_path / MARK).write_text(mark)  # empty: a kill came between opening and writing it
    claim(tmp_path, "run")
    assert is_ours(tmp_path, "run")


def test_looking_at_a_directory_makes_none(tmp_path):
    refuse_foreign(tmp_path / "new", "run")
    assert list(tmp_path.iterdir()) == []


def test_a_run_without_its_config_is_refused_and_fresh_keeps_it_whole(tmp_path):
    Run(tmp_path / "run", TINY).close()
    (tmp_path / "run/config.json").unlink()
    before = contents(tmp_path / "run")
    with pytest.raises(UserError, match=r"no config\.json"):
        Run(tmp_path / "run", TINY)
    assert contents(tmp_path / "run") == before
    run = Run(tmp_path / "run", TINY, fresh=True)
    run.close()
    assert contents(tmp_path / "run.1") == before and run.notes == [f"the earlier run is kept in {tmp_path}/run.1"]


def test_fresh_in_the_current_directory_leaves_the_earlier_run_as_it_was(tmp_path, monkeypatch):
    (tmp_path / "run").mkdir()
    monkeypatch.chdir(tmp_path / "run")
    Run(Path("."), TINY).close()
    (tmp_path / "run/metrics.csv").write_text("kept")
    run = Run(Path("."), TINY, fresh=True)
    run.close()
    assert (tmp_path / "run.1/metrics.csv").read_text() == "kept"
    assert run.directory == tmp_path / "run" and is_ours(tmp_path / "run", "run")


def test_looking_whether_a_file_can_be_written_changes_nothing(tmp_path):
    old = tmp_path / "old.json"
    old.write_text("kept")
    os.mkfifo(tmp_path / "pipe")  # opening it would wait for a reader
    for path in (old, tmp_path / "new.json", tmp_path / "pipe", Path("/dev/full"), None):
        check_file("--json", path)
    assert {path.name for path in tmp_path.iterdir()} == {"old.json", "pipe"} and old.read_text() == "kept"


@pytest.mark.parametrize(
    ("name", "why"), [("none/file.json", "No such file or directory"), (".", "Is a directory"), ("file/x", "Not a dir")]
)
def test_a_file_that_cannot_be_written_is_one_line(tmp_path, name, why):
    (tmp_path / "file").touch()
    with pytest.raises(UserError, match=rf"^--json {tmp_path / name}: cannot be written \({why}"):
        check_file("--json", tmp_path / name)


def test_a_file_is_written_whole_or_not_at_all(tmp_path):
    path, link = tmp_path / "result.json", tmp_path / "link.json"
    path.write_text("old")
    link.symlink_to(path)
    with pytest.raises(UserError, match="cannot be written"), writing_file("--json", path) as file:
        file.write_text("half")
        raise OSError(28, "No space left on device")
    assert path.read_text() == "old"
    with writing_file("--json", link) as file:
        file.write_text("new")
    assert path.read_text() == "new" and link.is_symlink()
    assert {each.name for each in tmp_path.iterdir()} == {"result.json", "link.json"}


def test_a_device_is_written_to_and_not_replaced():
    with pytest.raises(UserError, match="No space left on device"), writing_file("--json", Path("/dev/full")) as file:
        file.write_text("a result")
    assert Path("/dev/full").is_char_device()

"""`curiax study` as a user runs it: undisturbed, killed, interrupted, with a run that fails."""

import contextlib
import csv
import json
import re
import shutil
import signal
import subprocess
import sys

import pytest

from curiax.commands.cli import main
from curiax.config import LAPTOP
from curiax.studies.runner.progress import Speed
from curiax.studies.runner.run import estimate, make_plan
from curiax.training.run.files import lock
from curiax.training.run.metrics import read_metrics
from curiax.training.run.outputs import claim
from tests.support.files import contents
from tests.support.programs import num_rows, processes, wait_for, wait_until
from tests.support.small_study import FIELDS, METHOD, PATIENCE, assert_same_run, words
from tests.support.terminal import ROOT, leave, read, terminal


@contextlib.contextmanager
def studying(directory, *more):
    """`curiax study` in a process of its own; none is left behind."""
    command = [sys.executable, "-m", "curiax", *words(directory, *more)]
    process = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    try:
        yield process
    finally:
        process.kill()
        process.communicate()


def finish(directory, *more):
    """Studies to the end and gives the lines that were printed."""
    with studying(directory, *more) as process:
        out, err = process.communicate(timeout=PATIENCE)
    assert (process.returncode, err) == (0, "")
    return out.splitlines()


@pytest.fixture(scope="module")
def reference(tmp_path_factory):
    """A study that nothing disturbed, and what it said."""
    directory = tmp_path_factory.mktemp("study") / "maze"
    return directory, finish(directory)


@pytest.fixture
def half(reference, tmp_path):
    """A copy in which one run is done and the other was never begun."""
    directory = shutil.copytree(reference[0], tmp_path / "maze")
    shutil.rmtree(directory / METHOD / "1")
    return directory


@pytest.mark.slow
def test_an_undisturbed_study_estimates_trains_and_scores_every_run(reference):
    directory, lines = reference
    assert lines[0] == "measuring the speed of byol-explore on this machine …"
    assert re.fullmatch(
        r"2 of 2 runs to do, 6\.4 k environment steps, \d+ at a time on cores? [\d, ]+: about \d+ \w+ "
        r"at the measured steps/s \(byol-explore [\d,]+\)",
        lines[1],
    )
    assert lines[-1] == f"next: curiax report {directory}"
    row = r"│ on-demand │ byol-explore │ 2 +│ \d\.\d\d ± \d+\.\d\d +│ 0\.\d\d ± \d\.\d\d +│"
    assert any(re.fullmatch(row, line) for line in lines)
    for seed in "01":
        assert (directory / METHOD / seed / "DONE").exists() and num_rows(directory / METHOD / seed) == 400
        assert f"{METHOD}/{seed}: running" in lines
        assert any(line.startswith(f"{METHOD}/{seed}: done  100%") for line in lines)


@pytest.mark.slow
def test_a_study_says_in_its_directory_what_was_asked_and_what_came_out(reference):
    directory, _ = reference
    study = json.loads((directory / "study.json").read_text())
    assert (study["name"], study["preset"], study["fields"]["env_steps"]) == ("maze", "laptop", 3200)
    assert study["command"].startswith("curiax study maze --only on-demand/byol-explore --seeds 0 1 --out ")
    assert study["runs"][1] == {
        "directory": f"{METHOD}/1",
        "setting": "on-demand",
        "method": "byol-explore",
        "seed": 1,
    }
    with (directory / "scores.csv").open(newline="") as file:
        scores = list(csv.DictReader(file))
    assert [row["seed"] for row in scores] == ["0", "1"]
    for row in scores:
        rows = list(read_metrics(directory / METHOD / row["seed"] / "metrics.csv"))
        last = [each["noise_dwell"] for each in rows if each["update"] > 300]
        assert float(row["noise_dwell"]) == pytest.approx(sum(last) / len(last))
        assert row["env_steps"] == "3200" and float(row["wall_minutes"]) == rows[-1]["seconds"] / 60


@pytest.mark.slow
def test_a_finished_study_only_prints_its_scores(reference, capsys, monkeypatch):
    directory, lines = reference
    before = contents(directory / METHOD)
    monkeypatch.setattr("curiax.studies.runner.run.launch", None)  # nothing may be started
    assert main(words(directory)) == 0
    assert contents(directory / METHOD) == before
    said = capsys.readouterr().out.splitlines()
    assert said == lines[-len(said) :] and said[-1] == f"next: curiax report {directory}"


@pytest.mark.slow
def test_a_study_killed_in_the_middle_and_started_again_loses_and_repeats_nothing(reference, half):
    done, killed = half / METHOD / "0", half / METHOD / "1"
    before = contents(done)
    with studying(half, "--jobs", "1") as process:
        wait_until(lambda: num_rows(killed) >= 20, process)
        process.kill()
    wait_for(lambda: not processes(str(killed)))  # the run notices, saves and stops
    rows = num_rows(killed)
    assert 20 <= rows < 400 and not (killed / "DONE").exists()
    assert finish(half, "--jobs", "1")[0].startswith("1 of 2 runs to do")  # its speed is known
    assert f"going on from update {rows} of 400" in (half / METHOD / "1.log").read_text()
    assert contents(done) == before
    assert_same_run(killed, reference[0] / METHOD / "1")


@pytest.mark.slow
def test_a_failing_run_is_shown_with_its_reason_and_does_not_stop_the_others(reference, half, capsys):
    foreign, other = half / METHOD / "0", half / METHOD / "1"
    shutil.rmtree(foreign)
    foreign.mkdir()
    (foreign / "letter.txt").touch()
    shutil.copytree(reference[0] / METHOD / "1", other)
    (other / "DONE").unlink()
    assert main(words(half, "--jobs", "1")) == 1
    out = capsys.readouterr().out
    reason = f"{foreign}: holds files, but no run of curiax; left alone, choose another directory"
    assert f"failed: {METHOD}/0: {reason} (more in {foreign}.log)" in out
    assert [path.name for path in foreign.iterdir()] == ["letter.txt"]
    assert_same_run(other, reference[0] / METHOD / "1")
    assert (half / "scores.csv").read_text().count("\n") == 2  # its title and one run


def lines_of(pty):
    """All that was drawn, line by line."""
    return re.sub(r"\x1b\[[?\d;]*[a-zA-Z]", "", pty.output.decode()).replace("\n", "\r").split("\r")


@pytest.mark.slow
def test_the_table_is_live_and_ctrl_c_saves_and_says_how_to_go_on(half):
    run = half / METHOD / "1"
    longer = ["--env-steps", "64000", "--only", f"{METHOD}/1"]
    fields = [*FIELDS[2:], *longer, "--out", str(half)]
    line = rf"{METHOD}/1 +running +\d+% +(\d\.\d\d)? +0\.\d\d +[\d,]+ +\d+ \w+"
    with terminal(sys.executable, "-m", "curiax", "study", "maze", *fields) as pty:
        wait_for(lambda: read(pty, 0.1) and any(re.fullmatch(line, text.rstrip()) for text in lines_of(pty)))
        pty.process.send_signal(signal.SIGINT)
        assert leave(pty) == 130
    drawn = [text.rstrip() for text in lines_of(pty)]
    assert any(re.fullmatch(r"0 of 1 runs done, 1 running, \d+ \w+ left", text) for text in drawn)
    assert "0 of 1 runs done, 1 running, stopping; Ctrl-C again to end at once" in drawn
    assert "stopped, 0 of 1 runs done; the same command goes on from here" in drawn
    assert num_rows(run) < 8000 and not (run / "FAILED").exists()
    assert f"saved at update {num_rows(run):,}" in (half / METHOD / "1.log").read_text()


def test_a_second_study_in_the_same_directory_is_refused(tmp_path, capsys):
    claim(tmp_path, "study")
    held = lock(tmp_path)
    assert main(words(tmp_path)) == 2
    assert capsys.readouterr().err == f"curiax: {tmp_path}: another process works on this study\n"
    held.release()
    assert {path.name for path in tmp_path.iterdir()} == {".curiax", "lock"}


@pytest.mark.slow
def test_another_study_in_the_same_directory_is_refused_and_a_part_of_it_is_not(reference, tmp_path, capsys):
    directory = shutil.copytree(reference[0], tmp_path / "maze")
    study = json.loads((directory / "study.json").read_text())
    other = " ".join(FIELDS).replace("--unroll 4", "--unroll 8").split()
    for fields, message in (
        ([*FIELDS, "--learning-rate", "0.5"], "learning_rate = the preset's, not 0.5; choose another --out"),
        (other, "unroll = 4, not 8; choose another --out"),
    ):
        assert main(["study", "maze", "--out", str(directory), "--only", METHOD, *fields]) == 2
        assert capsys.readouterr().err == f"curiax: {directory}: was begun with {message}\n"
    assert main(["study", "demo", "--out", str(directory), *FIELDS]) == 2
    assert "was begun with study = maze, not demo" in capsys.readouterr().err
    assert main(["study", "maze", "--out", str(directory), "--only", METHOD, "--seeds", "1", *FIELDS]) == 0
    again = json.loads((directory / "study.json").read_text())
    assert (again["runs"], again["started"]) == (study["runs"], study["started"])
    assert (directory / "scores.csv").read_bytes() == (reference[0] / "scores.csv").read_bytes()


@pytest.mark.slow
def test_a_dry_run_lists_and_estimates_and_writes_nothing(half, capsys):
    before = contents(half)
    assert main(words(half, "--dry-run", "--jobs", "2")) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[:2] == [f"{METHOD}/0  3.2 k environment steps  done", f"{METHOD}/1  3.2 k environment steps"]
    assert lines[2].startswith("1 of 2 runs to do, 3.2 k environment steps, 2 at a time on core") and len(lines) == 3
    assert contents(half) == before


def test_a_method_whose_speed_could_not_be_measured_counts_as_the_slowest_of_the_others(tmp_path):
    plan = make_plan("maze", LAPTOP, [0], ["on-demand/byol-*"], 1, tmp_path)
    assert {member.method for member in plan.members} == {"byol-explore", "byol-hindsight"}
    assert estimate(plan, {}).endswith(f"1 at a time on core {plan.cores[0]}")  # nothing was measured
    line = estimate(plan, {"byol-explore": Speed(10_000, 0.0)})  # twice 3.5 M steps: 700 s
    assert line.endswith("about 12 min at the measured steps/s (byol-explore 10,000, others as the slowest of these)")

"""Commands look at their outputs first: what is a stranger's stays as it was, and nothing is computed in vain."""

import io
import sys

import pytest
from rich.console import Console

from curiax.commands.benchmarks import atari as bench_atari
from curiax.commands.benchmarks import maze as bench_maze
from curiax.commands.cli import main
from curiax.lab.diagnose import run as diagnose_run
from tests.support.files import contents
from tests.support.report_data import config_of, write_run

THEIRS = {
    "lock": "held by another program",
    "scores.csv": "my grades",
    "config.json": '{"model_type": "gpt2"}',
    "study.json": '{"name": "my study"}',
    "settings.json": "{}",
    "report.html": "<title>my report</title>",
    "figure.png": "my picture",
    "findings.json": "{}",
}
COMMANDS = {
    "run": ["train", "maze/on-demand", "--run-dir"],
    "run, fresh": ["train", "maze/on-demand", "--fresh", "--run-dir"],
    "study": ["study", "demo", "--out"],
    "scm study": ["study", "scm", "--only", "state/rnd", "--seeds", "0", "--out"],
    "patches study": ["study", "patches", "--out"],
    "report": ["report", "run", "--no-films", "--out"],
    "diagnosis": ["diagnose", "maze/on-demand", "--out"],
}


@pytest.fixture
def place(tmp_path, monkeypatch):
    """A directory with a run in it, and a directory of a stranger's."""
    monkeypatch.chdir(tmp_path)
    write_run(tmp_path / "run", config_of("brownian", "rnd", 0, 3), [1.0] * 3, [0.2] * 3)
    (tmp_path / "theirs").mkdir()
    for name, text in THEIRS.items():
        (tmp_path / "theirs" / name).write_text(text)
    return tmp_path


@pytest.mark.parametrize("kind", COMMANDS)
def test_a_strangers_directory_is_refused_in_one_line_and_left_as_it_was(place, kind, capsys):
    if kind.startswith("patches"):
        pytest.importorskip("envpool")
    before = contents(place)
    assert main([*COMMANDS[kind], "theirs"]) == 2
    said = f"theirs: holds files, but no {kind.partition(',')[0]} of curiax; left alone, choose another directory"
    assert capsys.readouterr().err == f"curiax: {said}\n"
    assert contents(place) == before


@pytest.mark.parametrize("kind", COMMANDS)
def test_a_file_in_the_place_of_the_directory_is_one_line(place, kind, capsys):
    if kind.startswith("patches"):
        pytest.importorskip("envpool")
    assert main([*COMMANDS[kind], "theirs/lock"]) == 2
    assert capsys.readouterr().err == "curiax: theirs/lock: cannot be written (Not a directory)\n"
    assert (place / "theirs/lock").read_text() == THEIRS["lock"]


def test_a_report_does_not_take_the_place_of_a_study(place, capsys):
    (place / "run/.curiax").write_text("run\n")
    assert main(["report", "run", "--no-films", "--out", "run"]) == 2
    assert "run: holds another output of curiax (run, not report)" in capsys.readouterr().err


def test_a_diagnosis_explores_only_once_its_page_has_a_place(place, monkeypatch):
    def explored(*_):
        assert (place / "out/.curiax").read_text() == "diagnosis\n"
        raise KeyboardInterrupt

    monkeypatch.setattr(diagnose_run, "explored", explored)
    assert main(["diagnose", "maze/on-demand", "--out", "out"]) == 130


def test_a_result_of_bench_that_has_no_place_is_refused_at_once(place, capsys):
    for what in ("maze", "atari"):
        assert main(["bench", what, "--json", "none/bench.json"]) == 2
        said = "curiax: --json none/bench.json: cannot be written (No such file or directory)\n"
        assert capsys.readouterr() == ("", said)


def heard():
    return Console(file=io.StringIO(), width=200, soft_wrap=True)


def test_without_pycolab_bench_leaves_its_twin_out_and_says_so_in_one_line(monkeypatch):
    monkeypatch.delitem(sys.modules, "curiax.envs.maze.pycolab", raising=False)
    monkeypatch.setitem(sys.modules, "pycolab.cropping", None)
    console = heard()
    assert bench_maze.twin_steps_per_second(console) is None
    said = console.file.getvalue()
    assert said.startswith("the maze is not compared with its twin: Pycolab is not installed") and said.count("\n") == 1
    result = {"methods": {}, "gemm_gflops": 96.2, "hindsight_vs_explore": 0.61, "cores": 2, "maze_steps_per_s": 2e6}
    bench_maze.show(console, result | {"pycolab_steps_per_s": None, "maze_vs_pycolab": None})
    assert console.file.getvalue().endswith("maze alone on one core: 2,000,000 steps/s\n")


def test_without_envpool_bench_atari_measures_the_encoder_alone_and_says_so_in_one_line(monkeypatch):
    monkeypatch.setitem(sys.modules, "envpool", None)
    encoder = {"encoder_ms": 100.0, "one_device_ms": 120.0, "torch_encoder_ms": None, "encoder_vs_torch": None}
    monkeypatch.setattr(bench_atari, "encoder_ratio", lambda mesh: encoder)
    monkeypatch.setattr(bench_atari, "split_cpu", lambda number: None)  # other tests would have these devices too
    console = heard()
    result = bench_atari.bench_atari(console)
    lines = console.file.getvalue().splitlines()
    assert result["encoder_ms"] == 100.0 and "agent_steps_per_s" not in result
    assert [line.partition(":")[0] for line in lines[1:]] == ["PyTorch is not installed", "training is not measured"]
    assert "EnvPool" in lines[2]

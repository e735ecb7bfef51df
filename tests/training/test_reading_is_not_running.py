"""To read a run is not to run what it names: a module of the user's is imported only if the user names it."""

import dataclasses
import importlib
import json
import sys

import pytest

from curiax.commands.cli import main
from curiax.config import to_dict
from curiax.config.presets import GYM_LAPTOP
from curiax.errors import UserError
from curiax.training.evaluate import named_config
from tests.support.report_data import write_columns

pytest.importorskip("gymnasium")
MODULE = """
from pathlib import Path

import gymnasium

Path("imported").touch()
gymnasium.registry.pop("Trap-v0", None)
gymnasium.register("Trap-v0", entry_point="gymnasium.envs.classic_control:CartPoleEnv")
"""
ENV = "gym/trap:Trap-v0"
ADD = f"its environment, {ENV}, is in a module of yours; to import it, add --import trap"


@pytest.fixture
def run(tmp_path, monkeypatch):
    """A run of a Gymnasium environment in the module trap, which leaves a file behind when it is imported."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "trap", raising=False)
    (tmp_path / "trap.py").write_text(MODULE)
    importlib.invalidate_caches()
    config = dataclasses.replace(GYM_LAPTOP, env=ENV)
    write_columns(tmp_path / "run", config, {"return": [1.0, 2.0, 3.0], "noise_dwell": [0.0] * 3})
    yield tmp_path / "run"
    sys.modules.pop("trap", None)


def imported(run):
    return (run.parent / "imported").exists() or "trap" in sys.modules


def test_a_report_with_films_imports_nothing_that_a_run_names(run, capsys):
    assert main(["report", "run", "--out", "out"]) == 0
    assert not imported(run)
    assert capsys.readouterr().err == ""
    assert "No film: run: " + ADD in (run.parent / "out" / "report.html").read_text()


@pytest.mark.parametrize(
    "words",
    [
        ["evaluate", "run"],
        ["evaluate", "run", "--video", "film.gif"],
        ["diagnose", "--run-dir", "run", "--out", "out"],
    ],
    ids=["evaluate", "video", "diagnose"],
)
def test_without_the_module_on_the_command_line_one_line_says_what_to_add(run, words, capsys):
    assert main(words) == 2
    assert capsys.readouterr() == ("", f"curiax: run: {ADD}\n")
    assert not imported(run)


def test_another_environment_than_that_of_the_run_is_refused(run, capsys):
    assert main(["diagnose", "gym/CartPole-v1", "--run-dir", "run", "--out", "out"]) == 2
    assert capsys.readouterr().err == f"curiax: run: a run of {ENV}, not of gym/CartPole-v1\n"
    assert not imported(run)


def test_a_config_that_names_its_environment_in_text_for_a_shell_is_quoted(run):
    values = to_dict(dataclasses.replace(GYM_LAPTOP, env="gym/trap; rm -r *:Trap-v0"))
    (run / "config.json").write_text(json.dumps(values))
    with pytest.raises(UserError, match=r"add --import 'trap; rm -r \*'$"):
        named_config(run)


def test_the_environment_given_again_or_its_module_imported_is_enough(run):
    assert named_config(run, ENV).env == ENV
    assert not imported(run)  # not yet
    importlib.import_module("trap")
    assert named_config(run).env == ENV


@pytest.mark.parametrize("env", ["maze/on-demand", "atari/pong", "craftax/symbolic", "gymnax/CartPole-v1", "scm/state"])
def test_families_of_curiax_and_known_packages_need_nothing(run, env):
    for name in (env, "gym/CartPole-v1", "gym/MiniGrid-Empty-5x5-v0", "gym/ALE/Pong-v5"):
        (run / "config.json").write_text(json.dumps(to_dict(dataclasses.replace(GYM_LAPTOP, env=name))))
        assert named_config(run).env == name


@pytest.mark.slow
@pytest.mark.parametrize(
    "words", [["evaluate", "run", "--import", "trap"], ["diagnose", ENV, "--run-dir", "run", "--out", "out"]]
)
def test_with_the_module_on_the_command_line_it_is_imported(run, words, capsys):
    assert main(words) == 2
    assert capsys.readouterr().err == "curiax: run: no whole checkpoint (none was saved yet)\n"
    assert imported(run)

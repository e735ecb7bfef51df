"""Environments and methods of the user's: registered in a module, which `--import` imports."""

import dataclasses
import os
import re
import subprocess
import sys
from pathlib import Path

import jax.numpy as jnp
import pytest

from curiax import curiosity, envs
from curiax.commands.cli import main
from curiax.config import LAPTOP
from curiax.envs import modules, own
from curiax.envs.table import ENVS
from curiax.errors import UserError
from curiax.studies import STUDIES
from curiax.studies.runner.measure import training
from tests.support.programs import PATIENCE, num_rows, train_args
from tests.support.tiny import TINY

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "jax_envs.md").read_text()
WORLD = re.search(r"^```python\n(.*?)^```", PAGE, flags=re.M | re.S)[1]
METHOD = """
from curiax import curiosity
from curiax.curiosity.representations.pixel import pixel

curiosity.REPRESENTATIONS["dots"] = pixel
curiosity.register("mine", "dots+predict", "a method of mine")
"""
GYM = """
import gymnasium
from gymnasium.envs.classic_control import CartPoleEnv

gymnasium.register(id="Pole-v0", entry_point=CartPoleEnv, max_episode_steps=20)
"""


@pytest.fixture
def tables(monkeypatch):
    """What a test registers is forgotten after it."""
    tables = (ENVS, own.OWN, curiosity.REPRESENTATIONS, curiosity.METHODS, curiosity.OTHERS)
    before = [dict(table) for table in tables]
    monkeypatch.setattr(modules, "imported", [])
    monkeypatch.setattr(sys, "path", list(sys.path))
    yield
    for table, old in zip(tables, before, strict=True):
        table.clear()
        table.update(old)
    for name in ("my_worlds", "my_methods", "my_gym", "my_study", "my_broken"):
        sys.modules.pop(name, None)


@pytest.fixture
def here(tables, tmp_path, monkeypatch):
    """A directory with modules of the user's, and in it."""
    for name, text in {"my_worlds": WORLD, "my_methods": METHOD, "my_gym": GYM}.items():
        (tmp_path / f"{name}.py").write_text(text)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def program(*words):
    """The console script, which does not have the current directory on its path."""
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    command = [str(Path(sys.executable).with_name("curiax")), *words]
    return subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE, env=environment)


def world(**changes):
    names = {}
    exec(WORLD.rpartition("envs.register")[0], names)
    env = names["ring"]()
    return lambda: env._replace(**changes)


@pytest.mark.slow
def test_the_page_s_environment_and_a_method_of_one_s_own_are_trained_evaluated_and_resumed_by_the_program(here):
    named = ["--import", "my_worlds", "--import", "my_methods"]
    words = [*train_args(here / "run"), "--curiosity", "mine", *named]
    words[1] = "mine/ring"
    first = program(*words, "--env-steps", "16")
    assert first.returncode == 0, first.stderr
    assert num_rows(here / "run") == 1  # two updates
    more = program(*words, "--env-steps", "32")
    assert more.returncode == 0 and "going on from update 2 of 4" in more.stdout, more.stderr
    asked = ["evaluate", str(here / "run"), "--episodes", "2"]
    played = program(*asked, *named)
    assert played.returncode == 0, played.stderr
    refused = program(*asked)
    assert refused.returncode == 2 and "mine" in refused.stderr and "Traceback" not in refused.stderr


@pytest.mark.slow
def test_the_program_finds_modules_in_the_current_directory_and_so_do_the_runs_of_a_study(here):
    listed = program("list", "envs", "--import", "my_worlds")
    assert listed.returncode == 0, listed.stderr
    assert re.search(r"^mine/ring +a ring of eight places", listed.stdout, flags=re.M)
    worker = [sys.executable, "-m", "curiax.studies.runner.worker", "None", str(os.getpid())]
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    asked = [*worker, "list", "methods", "--import", "my_methods"]
    done = subprocess.run(asked, capture_output=True, text=True, timeout=PATIENCE, env=environment)
    assert done.returncode == 0 and re.search(r"^mine +a method of mine", done.stdout, flags=re.M), done.stderr


def test_a_study_passes_its_modules_on_to_its_runs(here, capsys):
    assert main(["list", "methods", "--import", "my_methods"]) == 0
    assert re.search(r"^mine +a method of mine", capsys.readouterr().out, flags=re.M)
    assert training("run", here, TINY).words[-2:] == ["--import", "my_methods"]


def test_a_gymnasium_module_in_the_current_directory_is_found(here):
    envs.check_name("gym/my_gym:Pole-v0")
    assert envs.profile_of("gym/my_gym:Pole-v0").title == "Pole-v0"


def test_a_module_here_does_not_replace_an_installed_one(here):
    (here / "colorsys.py").write_text("raise RuntimeError")
    modules.import_all(["colorsys"])


STUDY = """
from curiax.studies import STUDIES
from curiax.studies.base import Study

STUDIES["mine"] = Study("mine", "mine", settings=("ring",), methods=(("mine", "rnd"),), seeds=(0,))
"""


def test_a_study_of_one_s_own_has_runs_in_an_environment_of_one_s_own(here, monkeypatch, capsys):
    monkeypatch.setattr("curiax.studies.STUDIES", dict(STUDIES))
    monkeypatch.setattr("curiax.studies.runner.run.STUDIES", sys.modules["curiax.studies"].STUDIES)
    (here / "my_study.py").write_text(STUDY)
    named = ["--import", "my_worlds", "--import", "my_methods", "--import", "my_study"]
    assert main(["study", "mine", *named, "--dry-run", "--no-estimate"]) == 0
    first, second, *_ = capsys.readouterr().out.splitlines()
    assert first.startswith("ring/mine/0 ") and second.startswith("ring/rnd/0 ")


@pytest.mark.parametrize("text", ["raise SystemExit(3)", "1 +", "raise RuntimeError('no')", "import nowhere_at_all"])
def test_a_module_that_cannot_be_imported_is_one_line(text, here, capsys):
    (here / "my_broken.py").write_text(text)
    assert main(["train", "mine/ring", "--import", "my_broken"]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith("curiax: --import my_broken: my_broken cannot be imported (")


def test_a_name_of_curiax_cannot_be_registered_again(tables):
    for name in ("maze/mine", "gym/mine", "mine", "/mine", "mine/"):
        with pytest.raises(UserError, match=f"^register {name}: "):
            envs.register(name, world())
    for name in ("rnd", "mine+predict"):
        with pytest.raises(UserError, match=r"must be a new name without \+"):
            curiosity.register(name, "byol+predict")
    with pytest.raises(UserError, match=r"measure predikt: unknown. Did you mean predict\?"):
        curiosity.register("mine", "byol+predikt")


@pytest.mark.parametrize("name", ["byol-hindsight", "icm+hindsight", "mine"])
def test_hindsight_by_any_name_needs_two_trajectories(name, tables):
    curiosity.register("mine", "byol+hindsight")
    config, spec = dataclasses.replace(LAPTOP, curiosity=name, batch_size=1), envs.spec_of(LAPTOP)
    with pytest.raises(UserError, match=r"--batch-size 1: .* at least 2"):
        curiosity.make(config, spec)
    curiosity.make(dataclasses.replace(config, batch_size=2), spec)
    curiosity.make(dataclasses.replace(config, curiosity="rnd"), spec)


def test_a_method_of_one_s_own_may_be_a_function(tables):
    curiosity.register("mine", lambda config, spec: (config, spec), "anything")
    assert curiosity.resolve("mine") == "mine" and curiosity.OTHERS["mine"](1, 2) == (1, 2)


def changed(change):
    """The page's environment with another answer of its step."""
    env = world()()
    return env._replace(step=lambda *args: change(*env.step(*args)))


def no_draw(key):
    raise ValueError("no")


WRONG = {
    "the observation of reset is int32 of shape ()": lambda: world(reset=lambda noise: (jnp.int32(0), jnp.int32(0)))(),
    "the observation of step is": lambda: changed(lambda state, step: (state, step._replace(obs=jnp.zeros(3)))),
    "the state after a step has other shapes": lambda: changed(lambda state, step: (jnp.float32(0), step)),
    "info of a step has no noise": lambda: changed(lambda state, step: (state, step._replace(info={}))),
    "reward of a step is int32": lambda: changed(lambda state, step: (state, step._replace(reward=jnp.int32(0)))),
    "make returned NoneType": lambda: None,
    "cannot be made (ValueError: no, ": lambda: world(draw=no_draw)(),
}


@pytest.mark.parametrize("why", WRONG)
def test_an_environment_that_is_not_as_it_must_be_is_one_line_before_training(why, tables):
    envs.register("mine/ring", WRONG[why])
    with pytest.raises(UserError, match=rf"^mine/ring: {re.escape(why)}"):
        envs.make("mine/ring")

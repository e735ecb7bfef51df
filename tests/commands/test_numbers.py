"""Numbers on the command line mean what they say: what is read, rounded in the open, or refused."""

import dataclasses
import json
import os

import jax
import pytest

from curiax.commands.cli import main
from curiax.commands.parsing import integer, parse, parse_known, rounded
from curiax.commands.study import StudyCommand
from curiax.commands.theory import TheoryCommand
from curiax.commands.train import parse_train
from curiax.config import LAPTOP, Config
from curiax.training import cache, memory
from curiax.training.cache import use_compilation_cache
from curiax.training.run.directory import Run
from tests.support.files import contents
from tests.support.tiny import TINY


@pytest.mark.parametrize(
    ("text", "value"),
    [("7", 7), ("-7", -7), ("1e6", 10**6), ("1_000_000", 10**6), ("2.5e6", 2_500_000), ("1E3", 1000), ("3.0", 3)],
)
def test_an_integer_may_be_typed_in_any_usual_way(text, value):
    assert integer(text) == value and isinstance(integer(text), int)


@pytest.mark.parametrize(
    "text", ["1.5", "1e-1", "nan", "inf", "many", "", "0x10", "1e999999999", "1e99999999999999999999"]
)
def test_what_is_no_integer_is_refused_at_once(text):
    with pytest.raises(ValueError, match=r"is not an integer|has more than 30 digits"):
        integer(text)


def test_every_integer_field_is_read_so():
    args = [
        "maze/random",
        "--env-steps",
        "1e6",
        "--world.hidden",
        "1e2",
        "6_4",
        "--log-every",
        "2.5e1",
        "--devices",
        "2e0",
    ]
    command = parse_train(args)
    assert (command.config.env_steps, command.config.world.hidden, command.config.log_every) == (10**6, (100, 64), 25)
    assert command.job.devices == 2
    assert parse(TheoryCommand, ["--worlds", "1e3"], "theory").worlds == 1000
    command, rest = parse_known(StudyCommand, ["maze", "--seeds", "0", "1e1", "--env-steps", "1e6"], "study")
    assert (command.seeds, rest) == ((0, 10), ["--env-steps", "1e6"])
    assert parse(Config, rest, "study", LAPTOP).env_steps == 10**6


REFUSED = {
    "train --batch-size 1.5": "--batch-size: '1.5' is not an integer",
    "train --world.hidden 8 1.5": "--world.hidden: '8', '1.5' are not all integers",
    "train --devices 1.5": "--devices: '1.5' is not an integer",
    "train --env-steps 0": "--env-steps 0: must be from 1 to 1000000000000000",
    "train --checkpoint-every 0": "--checkpoint-every 0: must be at least 1",
    "train --vmpo.target-period 1e12": "--vmpo.target-period 1000000000000: must be from 1 to 2147483647",
    "train --world.latent 1e12": "--world.latent 1000000000000: must be from 0 to 65536",
    "train --world.hidden 1e12": "--world.hidden 1000000000000: must be from 1 to 65536",
    "study maze --seeds": "--seeds: needs at least one value",
    "study maze --seeds 1e12": "--seeds 1000000000000: must be from 0 to 4294967295",
    "study maze --jobs 0": "--jobs 0: must be at least 1",
    "study maze --launcher ray --cpus 0": "--cpus 0: must be at least 1",
    "study maze --launcher ray --gpus nan": "--gpus nan: must be finite and at least 0",
    "diagnose maze/baseline --minutes nan": "--minutes nan: must be finite and above 0",
    "diagnose maze/baseline --minutes inf": "--minutes inf: must be finite and above 0",
    "diagnose maze/baseline --minutes -1": "--minutes -1.0: must be above 0",
    "diagnose maze/baseline --env-steps 0": "--env-steps 0: must be at least 1",
    "diagnose maze/baseline --minutes 5 --env-steps 100": "--minutes and --env-steps: give one of them",
    "evaluate run --episodes 0": "--episodes 0: must be at least 1",
    "evaluate run --seed 1e12": "--seed 1000000000000: must be from 0 to 4294967295",
    "theory --worlds 0": "--worlds 0: must be at least 1",
    "play maze/baseline --seed -1": "--seed -1: must be from 0 to 4294967295",
}


@pytest.mark.parametrize("line", REFUSED)
def test_a_number_that_is_not_allowed_is_one_line(line, capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert main(line.split()) == 2
    out, err = capsys.readouterr()
    assert (out, err.count("\n")) == ("", 1) and err.endswith(REFUSED[line] + "\n"), err
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("env_steps", "line"),
    [
        (100, "--env-steps 100 is rounded to 25,600, in whole log intervals of 25,600"),
        (40_000, "--env-steps 40,000 is rounded to 51,200, in whole log intervals of 25,600"),
        (51_200, ""),
        (3_500_000, ""),  # 3,507,200: within 1 percent
    ],
)
def test_steps_are_rounded_in_the_open(env_steps, line):
    assert rounded(dataclasses.replace(LAPTOP, env_steps=env_steps)) == line


TOO_LARGE = {
    "train --batch-size 65536 --unroll 1048576": "--batch-size 65536 --unroll 1048576, with these layers: needs at",
    "train --batch-size 65536 --unroll 2": "--batch-size 65536 --unroll 2, with these layers: needs at",  # for pairs
    "train --curiosity rnd --network.feature-hidden 65536 65536 65536": "needs at least",
    "diagnose maze/baseline --batch-size 65536 --unroll 1048576": "needs at least",
    "study scm --batch-size 65536 --unroll 1048576": "needs at least",
    "evaluate run --episodes 1e12": "--episodes 1000000000000: needs at least 800,000 GB of memory; this machine has",
    "theory --worlds 1e12": "--worlds 1000000000000: needs at least 746,000 GB of memory; this machine has",
}


@pytest.mark.parametrize("line", TOO_LARGE)
def test_sizes_that_cannot_fit_in_memory_are_refused_before_anything_is_made(line, capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert main(line.split()) == 2
    out, err = capsys.readouterr()
    assert (out, err.count("\n")) == ("", 1) and TOO_LARGE[line] in err, err
    assert list(tmp_path.iterdir()) == []


def test_the_memory_is_this_machines():
    assert 10**8 < memory.ram() == memory.device_memory() < 10**14
    memory.require_memory(memory.ram(), "all of it")


def finished_run(directory):
    config = dataclasses.replace(TINY, env_steps=80)
    run = Run(directory, config)
    run.finish({"update": config.num_updates})
    run.close()
    return config


def test_a_smaller_number_of_steps_changes_nothing_in_a_finished_run(tmp_path):
    config = finished_run(tmp_path / "run")
    before = contents(tmp_path / "run")
    again = Run(tmp_path / "run", dataclasses.replace(config, env_steps=16))
    assert again.done and again.config == config
    assert again.notes == ["it has --env-steps 80 and is done: a smaller number changes nothing"]
    again.close()
    assert contents(tmp_path / "run") == before
    assert json.loads((tmp_path / "run/config.json").read_text())["env_steps"] == 80


def test_a_larger_number_of_steps_continues_a_finished_run(tmp_path):
    config = finished_run(tmp_path / "run")
    longer = Run(tmp_path / "run", dataclasses.replace(config, env_steps=160))
    assert not longer.done and longer.config.env_steps == 160 and longer.notes == []
    longer.close()


@pytest.fixture
def no_cache(monkeypatch):
    """JAX as a user has it who has set nothing."""
    names = ("jax_compilation_cache_dir", "jax_persistent_cache_min_compile_time_secs")
    before = {name: getattr(jax.config, name) for name in names}
    jax.config.update("jax_compilation_cache_dir", None)
    monkeypatch.delenv("JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS")
    yield
    for name, value in before.items():
        jax.config.update(name, value)


def test_programs_are_cached_in_the_users_cache_directory(no_cache, tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    use_compilation_cache.__wrapped__()
    assert jax.config.jax_compilation_cache_dir == str(tmp_path / "cache/curiax/jax")
    assert list((tmp_path / "cache/curiax/jax").iterdir()) == [] and capsys.readouterr().err == ""


def test_a_cache_of_the_users_own_is_left_as_it_is(no_cache, tmp_path):
    jax.config.update("jax_compilation_cache_dir", str(tmp_path / "mine"))
    jax.config.update("jax_persistent_cache_min_compile_time_secs", 7.0)
    use_compilation_cache.__wrapped__()
    assert jax.config.jax_compilation_cache_dir == str(tmp_path / "mine")
    assert jax.config.jax_persistent_cache_min_compile_time_secs == 7.0


@pytest.mark.parametrize("mine", [True, False])
def test_a_cache_that_cannot_be_written_costs_one_line(mine, no_cache, tmp_path, monkeypatch, capsys):
    (tmp_path / "file").write_text("not a directory")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file"))
    if mine:
        jax.config.update("jax_compilation_cache_dir", str(tmp_path / "file"))
    use_compilation_cache.__wrapped__()
    err = capsys.readouterr().err
    assert err.startswith(f"curiax: {tmp_path / 'file'}") and err.count("\n") == 1
    assert "compiled programs cannot be kept there (" in err
    assert jax.config.jax_compilation_cache_dir is None


def test_an_empty_variable_is_no_directory(monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", "")
    assert cache.user_directory() == os.path.expanduser("~/.cache/curiax/jax")

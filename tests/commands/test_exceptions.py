"""Every mistake is one line: what the user's own code raises, where output goes, and what nobody expected."""

import os
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import curiax.commands.list
from curiax.commands.cli import main
from curiax.config import GymOptions
from curiax.envs import gymnasium as host
from curiax.errors import DEBUG, EnvironmentFailed, explained
from tests.support import gym_toys
from tests.support.terminal import ROOT

RAISES = "the door fell off"  # what gym_toys.Broken raises


def command(*words, prefix="", **environment):
    """The command line in a shell, such as with its output redirected: what it printed to stderr, and its code."""
    line = f"{sys.executable} -m curiax {' '.join(words)}"
    done = subprocess.run(
        ["bash", "-o", "pipefail", "-c", prefix + line],
        cwd=ROOT,
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        check=False,
    )
    return done.returncode, done.stdout, done.stderr


@pytest.mark.parametrize("option", ["--version", "-V"])
def test_the_version_is_one_line(option, capsys):
    assert main([option]) == 0
    assert re.fullmatch(r"curiax [\w.]+ \(JAX [\w.]+, Python [\w.+]+\)\n", capsys.readouterr().out)


def test_a_full_disk_behind_the_output_is_one_line():
    code, _, err = command("list", "envs", "> /dev/full")
    assert (code, err) == (2, "curiax: output cannot be written: No space left on device\n")


def test_a_reader_that_stops_reading_ends_the_command_without_a_word():
    code, out, err = command("list", "studies", "| true")
    assert (code, out, err) == (1, "", "")


def test_an_output_that_knows_only_ascii_replaces_other_characters():
    code, out, err = command("--help", PYTHONIOENCODING="ascii")
    assert (code, err) == (0, "")
    assert out.startswith("curiax ? curiosity")


@pytest.mark.slow
def test_an_unknown_platform_of_jax_is_one_line(tmp_path):
    words = ("train", "maze/on-demand", "--run-dir", str(tmp_path / "run"))
    code, _, err = command(*words, JAX_PLATFORMS="foo")
    assert code == 2 and err.count("\n") == 1
    assert err.startswith("curiax: JAX_PLATFORMS=foo: not available; cpu always is")


@pytest.fixture
def here(tmp_path, monkeypatch):
    """The current directory, for modules of the user's."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    return tmp_path


def test_a_module_with_a_syntax_error_is_named_with_its_line(here, capsys):
    (here / "wrong_syntax.py").write_text("import gymnasium\n\ndef step(:\n")
    assert main(["train", "gym/wrong_syntax:X-v0"]) == 2
    err = capsys.readouterr().err
    assert err.count("\n") == 1
    assert "SyntaxError: " in err and err.endswith(f"{here / 'wrong_syntax.py'}:3)\n")


def test_a_module_that_raises_is_named_with_its_line_and_debug_shows_the_traceback(here, capsys):
    (here / "raises_key.py").write_text('table = {}\n\ntable["nothing"]\n')
    line = f"curiax: gym/raises_key:X-v0: raises_key cannot be imported (KeyError: 'nothing', {here}/raises_key.py:3)\n"
    assert main(["train", "gym/raises_key:X-v0"]) == 2
    assert capsys.readouterr().err == line
    assert main(["train", "--debug", "gym/raises_key:X-v0"]) == 2
    err = capsys.readouterr().err
    assert err.endswith(line) and "Traceback" in err and 'table["nothing"]' in err
    assert DEBUG not in os.environ


def broken(vectorization):
    """What happens at the second step of environments that raise there."""
    options = GymOptions(kwargs=("how=raise", "at=2"), vectorization=vectorization)
    env = host.make("tests.support.gym_toys:toys/Broken-v0", 2, options, 0)
    try:
        env.reset()
        env.step(np.zeros(2, np.int32))
        with pytest.raises(EnvironmentFailed) as failed:
            env.step(np.zeros(2, np.int32))
    finally:
        env.close()
    return str(failed.value)


LINE = next(n for n, text in enumerate(Path(gym_toys.__file__).read_text().splitlines(), 1) if RAISES in text)
MESSAGE = f"gym/tests.support.gym_toys:toys/Broken-v0 failed (RuntimeError: {RAISES}, {gym_toys.__file__}:{LINE})"


def test_an_environment_that_raises_is_named_with_its_file_and_line():
    assert broken("sync") == MESSAGE


@pytest.mark.slow
def test_an_environment_that_raises_in_a_process_of_its_own_is_named_likewise_and_its_traceback_is_not_printed(capfd):
    assert broken("async") == MESSAGE
    assert capfd.readouterr().err == ""


def test_an_unexpected_exception_is_one_line_and_debug_shows_its_traceback(capsys, monkeypatch):
    def fail(args, console):
        raise ZeroDivisionError("by nothing\nat all")

    monkeypatch.setattr(curiax.commands.list, "main", fail)
    assert main(["list", "envs"]) == 1
    line = "curiax: internal error: ZeroDivisionError: by nothing; --debug shows the traceback\n"
    assert capsys.readouterr().err == line
    assert main(["list", "envs", "--debug"]) == 1
    err = capsys.readouterr().err
    assert err.startswith("Traceback") and err.endswith(line)


def test_memory_and_files_that_run_out_are_explained():
    with pytest.raises(MemoryError) as failed:
        np.empty(2**60, np.uint8)
    assert explained(failed.value).startswith("not enough memory (Unable to allocate")
    with pytest.raises(OSError, match="nowhere") as failed:
        Path("/nowhere/at/all").read_text()
    assert explained(failed.value) == "/nowhere/at/all: No such file or directory"
    assert explained(ValueError("a fault of the program")) is None

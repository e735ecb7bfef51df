"""The documentation: its Python is run, its commands are read by the real parser, its site is built.

Python blocks of a page are run in order, in one namespace and an empty directory. A block that cannot be run here says
why in its first line, `# not run: REASON`, where the reader sees it too. Pages that another test runs are left to it.
"""

import contextlib
import io
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

import curiax.commands.cli
from curiax.commands.cli import COMMANDS, main

ROOT = Path(__file__).parents[1]
PAGES = [*sorted((ROOT / "docs").glob("*.md")), ROOT / "README.md"]
FENCE = re.compile(r"^( *)```(\w*)[^\n]*\n(.*?)^\1```", flags=re.M | re.S)
SYNOPSIS = re.compile(r"[\[<|…]|\.\.\.|\b[A-Z]{2,}\b(?!=)")  # ENV, FILE, [--option]: not to be typed as it stands
FOREIGN = ("pip", "ray", "git", "cd", "ssh", "srun", "sbatch", "export", "gcloud")  # not ours to check
# Where commands begin to do what they say; all that comes before is reading and checking.
DOING = (
    *(f"curiax.commands.{name}.use_compilation_cache" for name in ("train", "study", "evaluate", "report", "diagnose")),
    "curiax.studies.runner.run.run_study",
    "curiax.envs.maze.play.play",
    "curiax.commands.benchmarks.maze.bench_maze",
    "curiax.commands.benchmarks.atari.bench_atari",
    "curiax.lab.theory.theory",
)


class Doing(BaseException):
    """A command was understood."""


def blocks(page, *languages):
    return [text for _, language, text in FENCE.findall(page.read_text()) if language in languages]


def commands(page):
    """The lines of its console blocks, without comments, variables and prompts."""
    text = "\n".join(blocks(page, "", "console", "bash", "sh", "shell")).replace("\\\n", " ")
    for line in text.splitlines():
        line = re.sub(r"^\$ |(^|\s)#.*$", "", line).strip()
        line = re.sub(r"^(\w+=\S* +)+", "", line)
        if re.match(r"(curiax|make|python) ", line):
            yield line


def run_elsewhere(page):
    tests = [path.read_text() for path in (ROOT / "tests").rglob("test_*.py") if path.name != Path(__file__).name]
    return any(re.search(rf"\b{page.name}\b", test) and "exec(" in test for test in tests)


python_pages = [page for page in PAGES if blocks(page, "python") and not run_elsewhere(page)]
console_pages = [page for page in PAGES if list(commands(page))]


@pytest.mark.slow
@pytest.mark.parametrize("page", python_pages, ids=lambda page: page.name)
def test_the_python_of_a_page_runs(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    names = {"__name__": "__main__"}
    with contextlib.redirect_stdout(io.StringIO()):
        for block in blocks(page, "python"):
            if not re.match(r"# not run: \w", block):
                exec(compile(block, str(page), "exec"), names)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_python_blocks_are_python(page):
    for block in blocks(page, "python"):
        compile(block, str(page), "exec")


@pytest.fixture
def nothing_done(monkeypatch):
    def doing(*_, **__):
        raise Doing

    for name in DOING:
        monkeypatch.setattr(name, doing)


def help_of(command):
    text = io.StringIO()
    with contextlib.redirect_stdout(text), contextlib.suppress(SystemExit):
        main([command, "--help"])
    return text.getvalue()


def check_synopsis(words):
    """Its command is there, and its options are."""
    assert words[0] in COMMANDS, words[0]
    options = {word.strip("[]").partition("=")[0] for word in words if word.lstrip("[").startswith("--")}
    options -= {"--field", "--any.config.field"}
    missing = {option for option in options if option not in help_of(words[0])} if options else set()
    assert not missing, f"curiax {words[0]} has no {missing}"


def check_command(line, capsys):
    program, *words = shlex.split(line)
    if program == "make":
        assert re.search(rf"^{words[0]}:", (ROOT / "Makefile").read_text(), flags=re.M), line
    elif program == "python":
        assert words[0].startswith("-") or (ROOT / words[0]).is_file(), line
    elif SYNOPSIS.search(line):
        check_synopsis(words)
    else:
        try:
            code = main(words)
        except Doing:
            code = 0
        assert code == 0, f"{line}: {capsys.readouterr().err}"


@pytest.mark.parametrize("page", console_pages, ids=lambda page: page.name)
def test_the_commands_of_a_page_are_understood(page, nothing_done, capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for line in commands(page):
        check_command(line, capsys)


@pytest.mark.parametrize(
    "line", ["curiax trian maze/baseline", "curiax train maze/basline", "curiax study maze --jbos 3"]
)
def test_a_wrong_command_is_seen(line, nothing_done, capsys):
    with pytest.raises(AssertionError, match=line.split()[1]):
        check_command(line, capsys)


def test_a_synopsis_with_an_option_that_is_not_there_is_seen():
    with pytest.raises(AssertionError, match="--wrolds"):
        check_synopsis(["theory", "[--wrolds", "4000]"])


def test_checking_stops_before_anything_is_done(nothing_done):
    with pytest.raises(Doing):
        curiax.commands.cli.main(["train", "maze/baseline"])


@pytest.mark.slow
def test_the_site_is_built_strictly_and_fetches_nothing(tmp_path):
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", "--site-dir", str(tmp_path)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert {"index.html", "methods_table.html", "reference.html"} <= {path.name for path in tmp_path.iterdir()}
    assert "--world.horizon" in (tmp_path / "reference.html").read_text()
    assert "byol+hindsight" in (tmp_path / "methods_table.html").read_text()
    for name in ("index.html", "results/maze/index.html"):
        page = (tmp_path / name).read_text()
        assert not re.findall(r'<(?:script|img|link rel="stylesheet")[^>]*(?:src|href)="(?:https?:)?//[^"]*', page)

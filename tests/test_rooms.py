"""Imports point upward, functions nest at most two deep, files stay short."""

import ast
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "curiax"
FILES = sorted(PACKAGE.rglob("*.py"))
ALL_FILES = [*FILES, *(path for name in ("tests", "benchmarks", "examples") for path in (ROOT / name).rglob("*.py"))]
MAX_NESTING = 2
MAX_LINES = 350

# A room imports only from the rooms above it, and from its own. What stands beside the rooms: `errors` and `types` are
# above all of them, and the public adapters below. Nothing imports from `curiax/__init__.py`.
ROOMS = ("config", "envs", "agent", "curiosity", "training", "studies", "report", "lab", "commands")
ABOVE = ("errors", "types")
ADAPTERS = ("dropin", "sb3", "gym", "train")
RANK = {room: rank for rank, room in enumerate((*ABOVE, *ROOMS, *ADAPTERS))}
ENTRANCES = ("__init__", "__main__")  # they may import from all


def module_of(path: Path) -> tuple[str, ...]:
    """`curiax/envs/maze/world.py` → curiax, envs, maze."""
    return path.relative_to(ROOT).with_suffix("").parts


def imports(source: str, module: tuple[str, ...]) -> Iterator[tuple[int, tuple[str, ...]]]:
    """Line and dotted name, split, of everything that `module` imports."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            yield from ((node.lineno, tuple(alias.name.split("."))) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            above = module[: -node.level] if node.level else ()
            origin = tuple(node.module.split(".")) if node.module else ()
            yield from ((node.lineno, above + origin + (alias.name,)) for alias in node.names)


def downward_imports(source: str, module: tuple[str, ...]) -> list[str]:
    """What is wrong with the imports of `module`, one line each."""
    wrong = []
    for line, name in imports(source, module):
        if name[0] != "curiax":
            continue
        room = ".".join(name[1:2])
        if room not in RANK:
            wrong.append(f"line {line}: {'.'.join(name)} is in no room; import from the module that defines it")
        elif room != module[1] and RANK[room] >= RANK[module[1]]:
            wrong.append(f"line {line}: {module[1]} imports from {room}, which is below it in ROOMS")
    return wrong


def deep_functions(node: ast.AST, depth: int = 0) -> Iterator[str]:
    """Functions inside more than MAX_NESTING - 1 others."""
    for child in ast.iter_child_nodes(node):
        is_function = isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef)
        if is_function and depth >= MAX_NESTING:
            yield f"line {child.lineno}: {child.name}"
        yield from deep_functions(child, depth + is_function)


def test_the_package_holds_the_nine_rooms_and_what_stands_beside_them() -> None:
    found = {module_of(path)[1] for path in FILES}
    assert found == {*RANK, *ENTRANCES}


def complaints(files: list[Path], complain: Callable[[Path, str], Iterable[str]]) -> str:
    """What is wrong with the files, one line each."""
    found = [(path.relative_to(ROOT), complain(path, path.read_text(encoding="utf-8"))) for path in files]
    return "\n".join(f"{path}, {line}" for path, lines in found for line in lines)


def test_imports_point_upward() -> None:
    rooms = [path for path in FILES if module_of(path)[1] not in ENTRANCES]
    wrong = complaints(rooms, lambda path, source: downward_imports(source, module_of(path)))
    assert not wrong, wrong


def test_functions_nest_at_most_two_deep() -> None:
    wrong = complaints(ALL_FILES, lambda _, source: deep_functions(ast.parse(source)))
    assert not wrong, wrong


def test_no_file_is_longer_than_350_lines() -> None:
    lengths = {path.relative_to(ROOT): len(path.read_text(encoding="utf-8").splitlines()) for path in ALL_FILES}
    assert {path: length for path, length in lengths.items() if length > MAX_LINES} == {}


@pytest.mark.parametrize(
    "source",
    [
        "import curiax.commands.cli",
        "import curiax.commands.cli as program",
        "from curiax import commands",
        "from curiax.commands.cli import main",
        "from ..commands import cli",
        "from .. import commands",
        "def function():\n    from curiax.commands.cli import main",
        "import curiax",
        "from curiax import Curiosity",
    ],
)
def test_every_form_of_a_downward_import_is_seen(source: str) -> None:
    assert len(downward_imports(source, ("curiax", "envs", "scm"))) == 1


@pytest.mark.parametrize(
    "source",
    [
        "import jax",
        "import curiax.types",
        "from curiax import errors",
        "from curiax.types import TimeStep",
        "from curiax.envs.base import Environment",
        "from .base import Environment",
        "from . import base",
    ],
)
def test_imports_from_above_and_from_the_same_package_pass(source: str) -> None:
    assert downward_imports(source, ("curiax", "envs", "scm")) == []


def test_a_function_three_deep_is_seen() -> None:
    source = "class A:\n def b():\n  def c():\n   def d(): ...\n"
    assert list(deep_functions(ast.parse(source))) == ["line 4: d"]

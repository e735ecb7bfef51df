"""Random damage to the files of a run or a study."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any

TEXTS = ("config.json", "metrics.csv", "study.json", "DONE")
WRONG = (
    None,
    True,
    -1,
    0,
    3,
    10**12,
    10**400,
    1e308,
    "",
    "many",
    "../..",
    [],
    [[]],
    {},
    {"a": 1},
    "\ud800",
    "gym/os:x",
)
BYTES = (b"\0", b"\xff\xfe", b"nan", b"-", b",", b"\n", b"\r\n", b'"', b"1e999", b"{", b"\xf0\x9f\x9c\x81")


def damage(rng: Random, directory: Path) -> list[str]:
    """Damages one to three files. Returns what was done, in words."""
    return [_damage_one(rng, directory) for _ in range(rng.choice((1, 1, 2, 3)))]


def _damage_one(rng: Random, directory: Path) -> str:
    files = sorted(path for path in directory.rglob("*") if path.is_file())
    texts = [path for path in files if path.name in TEXTS]
    path = rng.choice(texts if texts and rng.random() < 0.7 else files or [directory / "metrics.csv"])
    kinds = (*ANY, *JSON) if path.suffix == ".json" else (*ANY, *LINES) if path.suffix == ".csv" else ANY
    kind = rng.choice(kinds)
    if path.is_file():
        kind(rng, path)
    return f"{kind.__name__.lstrip('_')} {path.relative_to(directory)}"


def _lose(rng: Random, path: Path) -> None:
    path.unlink()


def _become_a_directory(rng: Random, path: Path) -> None:
    path.unlink()
    path.mkdir()


def _become_empty(rng: Random, path: Path) -> None:
    path.write_bytes(b"")


def _truncate(rng: Random, path: Path) -> None:
    content = path.read_bytes()
    path.write_bytes(content[: rng.randint(0, len(content))])


def _flip_bytes(rng: Random, path: Path) -> None:
    content = bytearray(path.read_bytes())
    for _ in range(rng.randint(1, 8) if content else 0):
        content[rng.randrange(len(content))] = rng.randrange(256)
    path.write_bytes(bytes(content))


def _insert_bytes(rng: Random, path: Path) -> None:
    content = path.read_bytes()
    place = rng.randint(0, len(content))
    path.write_bytes(content[:place] + rng.choice(BYTES) * rng.choice((1, 1, 100)) + content[place:])


def _swap_with_another(rng: Random, path: Path) -> None:
    others = sorted(each for each in path.parent.iterdir() if each.is_file())
    shutil.copyfile(rng.choice(others), path.with_name("part"))
    path.with_name("part").replace(path)


def _change_lines(rng: Random, path: Path) -> None:
    """A line is lost, doubled or moved."""
    lines = path.read_bytes().splitlines(keepends=True)
    if not lines:
        return
    line = rng.choice(lines)
    if rng.random() < 0.5:
        lines.remove(line)
    if rng.random() < 0.7:
        lines.insert(rng.randint(0, len(lines)), line)
    path.write_bytes(b"".join(lines))


def _change_a_column(rng: Random, path: Path) -> None:
    """A column is lost, doubled or renamed, in all lines or in one."""
    lines = [line.split(b",") for line in path.read_bytes().split(b"\n")]
    place, kind = rng.randrange(len(lines[0])), rng.randrange(3)
    for line in lines if rng.random() < 0.5 else [rng.choice(lines)]:
        if place < len(line):
            line[place : place + 1] = [[], [line[place]] * 2, [rng.choice(BYTES)]][kind]
    path.write_bytes(b"\n".join(b",".join(line) for line in lines))


def _change_a_value(rng: Random, path: Path) -> None:
    document = _read(path)
    parent, key = _place(rng, document)
    if parent is not None:
        parent[key] = rng.choice(WRONG)
    path.write_text(json.dumps(document))


def _lose_a_key(rng: Random, path: Path) -> None:
    document = _read(path)
    parent, key = _place(rng, document)
    if parent is not None:
        del parent[key]
    path.write_text(json.dumps(document))


def _nest_deeply(rng: Random, path: Path) -> None:
    path.write_text("[" * 100_000 + "]" * 100_000)


def _read(path: Path) -> Any:
    try:
        return json.loads(path.read_bytes())
    except (ValueError, RecursionError):  # damaged before
        return {}


def _place(rng: Random, document: Any) -> tuple[Any, Any]:
    """A container in a JSON document and one of its keys, at a random depth."""
    parent, key = None, None
    while isinstance(document, dict | list) and document and (parent is None or rng.random() < 0.7):
        parent, key = document, rng.choice(list(document) if isinstance(document, dict) else range(len(document)))
        document = parent[key]
    return parent, key


Damage = Callable[[Random, Path], None]
ANY: tuple[Damage, ...] = (
    _lose,
    _become_a_directory,
    _become_empty,
    _truncate,
    _flip_bytes,
    _insert_bytes,
    _swap_with_another,
)
LINES: tuple[Damage, ...] = (_change_lines, _change_a_column) * 3
JSON: tuple[Damage, ...] = (_change_a_value, _change_a_value, _change_a_value, _lose_a_key, _lose_a_key, _nest_deeply)

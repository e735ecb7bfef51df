"""Damage to the files of a run, one kind at a time: name -> what it does to a file."""

import json

DEEP = "[" * 100_000 + "]" * 100_000


def line(number, change):
    """Changes one line; the header is line 1."""

    def damage(path):
        lines = path.read_bytes().split(b"\n")
        lines[number - 1] = change(lines[number - 1])
        path.write_bytes(b"\n".join(lines))

    return damage


def text(content):
    """Replaces the whole file."""
    return lambda path: path.write_bytes(content if isinstance(content, bytes) else content.encode())


def field(name, value):
    """Sets a field of a JSON file."""

    def damage(path):
        values = json.loads(path.read_text())
        *groups, last = name.split(".")
        inner = values
        for group in groups:
            inner = inner[group]
        inner[last] = value
        path.write_text(json.dumps(values))

    return damage


def become_directory(path):
    path.unlink(missing_ok=True)
    path.mkdir()


def cells(change):
    return lambda one: b",".join(change(one.split(b",")))


# One line of metrics.csv is lost, the others can be read.
LINES = {
    "bad number": line(3, lambda one: one.replace(b",", b",x", 1)),
    "NUL": line(3, lambda one: one[:-1] + b"\0"),
    "not UTF-8": line(3, lambda one: b"\xff" + one),
    "extra cell": line(3, lambda one: one + b",1"),
    "missing cell": line(3, lambda one: one.rpartition(b",")[0]),
    "header twice": line(3, lambda one: b"update,env_steps,seconds"),
    "number too large": line(3, lambda one: one.rpartition(b",")[0] + b",1e300"),
    "another update": line(3, lambda one: b"9" + one),
    "no update": line(3, lambda one: b"," + one.partition(b",")[2]),
    "infinite update": line(3, cells(lambda all: [b"inf", *all[1:]])),
    "seconds go back": line(3, cells(lambda all: [*all[:2], b"-1", *all[3:]])),
}
# Nothing of metrics.csv can be read.
HEADERS = {
    "header not UTF-8": line(1, lambda one: b"\xff" + one),
    "header without update": line(1, lambda one: one.replace(b"update", b"date", 1)),
    "header with a column twice": line(1, lambda one: one.replace(b"seconds", b"update", 1)),
    "header with an extra column": line(1, lambda one: one + b",extra"),
    "header without a column": line(1, lambda one: one.rpartition(b",")[0]),
    "a directory": become_directory,
    "other text": text("hello\nworld\n"),
}
CONFIGS = {
    "a directory": become_directory,
    "empty": text(""),
    "cut off": text('{"env": "maze/'),
    "not UTF-8": text(b'{"env": "\xff"}'),
    "a list": text("[1, 2]"),
    "nested": text(DEEP),
    "deep": text('{"env":' + "[" * 500 + "]" * 500 + "}"),
    "env 3": field("env", 3),
    "env with a line break": field("env", "maze/on\ndemand"),
    "half a surrogate pair": field("curiosity", "\ud800"),
    "seed true": field("seed", True),
    "no steps": field("env_steps", 0),
    "huge steps": field("env_steps", 10**400),
}
SIZES = {  # what training and evaluation check; a report shows the run all the same
    "latent many": field("world.latent", "many"),
    "latent 10**12": field("world.latent", 10**12),
    "huge rate": field("learning_rate", 10**400),
    "no number": field("learning_rate", float("nan")),
    "layers of layers": field("world.hidden", [[8], [8]]),
    "layers in a dict": field("world.hidden", {"8": 8}),
    "a group that is none": field("world", 3),
    "unknown field": field("colour", "red"),
    "unknown choice": field("vmpo.form", ["paper"]),
}

"""Random command lines: real options, mostly with wrong values."""

from dataclasses import MISSING, fields, is_dataclass
from random import Random

from curiax.commands.bench import BenchCommand
from curiax.commands.diagnose import DiagnoseCommand
from curiax.commands.evaluate import EvaluateCommand
from curiax.commands.report import ReportCommand
from curiax.commands.study import StudyCommand
from curiax.commands.theory import TheoryCommand
from curiax.commands.train import TrainCommand
from curiax.config import Config
from curiax.config.dotted import flag, names

VALUES = (
    *("-1", "0", "-0", "1e12", "1_000", "1e-400", "-1e300", "nan", "inf", "1.5", "0x10", "9" * 40, "٣", "many", "None"),
    *("", " ", "--", "-", "=", "[]", "{}", "[1, 2", "'", '"', "%s", "[red]", "\\", "\n", "\udcff", "🜁", "a" * 5000),
    *("..", "/", "/dev/null", "/dev/full", "/proc/self/mem", "missing/file.json", "foreign", "foreign/notes.txt"),
    *("maze/on-demnd", "maze/", "gym/", "gym/:", "gym/os:system", "atari/no-such", "craftax/x", "byol+", "+hindsight"),
)
NAMES = {
    "train": ("maze/on-demand", "scm/drift", "atari/bank_heist", "gym/CartPole-v1", "maze/on-demnd", "", "🜁"),
    "study": ("maze", "preset", "scm", "patches", "mazes", ""),
    "evaluate": ("missing", "foreign", "foreign/notes.txt", "/dev/null", ""),
    "report": ("missing", "foreign", "foreign/notes.txt", "/dev/null", ""),
    "diagnose": ("maze/on-demand", "gym/CartPole-v1", "maze/on-demnd", ""),
    "play": ("maze/on-demand", "atari/pong", "maze", ""),
    "list": ("envs", "methods", "studies", "env", ""),
    "theory": (),
    "bench": ("maze", "atari", "mazes"),
    "trian": ("maze/on-demand",),
}
# A command without mistakes would train, measure or play for minutes. Its output is refused, so it ends before that.
LAST = {
    "train": ("--run-dir", "foreign"),
    "study": ("--out", "foreign"),
    "diagnose": ("--out", "foreign"),
    "theory": ("--json", "missing/file.json"),
    "bench": ("--json", "missing/file.json"),
}
DATACLASSES = {
    "train": TrainCommand,
    "study": StudyCommand,
    "evaluate": EvaluateCommand,
    "report": ReportCommand,
    "diagnose": DiagnoseCommand,
    "theory": TheoryCommand,
    "bench": BenchCommand,
}
# These print and end, or start a cluster or a measurement: an output that is refused does not prevent that.
UNUSED = ("--dry-run", "--launcher", "--coordinator", "--address")


def flags_of(command: str) -> list[str]:
    """All options of a command, as a user types them."""
    found = [name for each in fields(DATACLASSES[command]) for name in _flags(each)] if command in DATACLASSES else []
    if command in ("train", "study", "diagnose"):
        found += [flag(name) for name in names(Config()) if name != "env"]
    return [each for each in found if each not in UNUSED]


def _flags(each) -> list[str]:
    if is_dataclass(each.default):
        return [flag(name) for name in names(each.default)]
    return [] if each.default is MISSING else [flag(each.name)]


def random_arguments(rng: Random) -> list[str]:
    """A command line that cannot start long work."""
    command = rng.choices(list(NAMES), [8, 4, 3, 2, 3, 1, 1, 2, 2, 1])[0]
    words = [rng.choice(NAMES[command])] if NAMES[command] and rng.random() < 0.95 else []
    flags = flags_of(command) or ["--seed"]
    for _ in range(rng.randint(1, 3)):
        words += _option(rng, flags)
    for _ in range(rng.choice((0, 0, 0, 1, 2))):
        words = _edited(rng, words)
    return [command, *words, *LAST.get(command, ())]


def _option(rng: Random, flags: list[str]) -> list[str]:
    """An option with none, one or two values."""
    name = rng.choice(flags)
    values = [rng.choice(VALUES) for _ in range(rng.choice((0, 1, 1, 1, 1, 2)))]
    return [f"{name}={values[0]}"] if values and rng.random() < 0.2 else [name, *values]


def _edited(rng: Random, words: list[str]) -> list[str]:
    """The words with one of them lost, repeated, moved or mistyped."""
    if not words:
        return words
    words, place = list(words), rng.randrange(len(words))
    match rng.randrange(4):
        case 0:
            del words[place]
        case 1:
            words.insert(place, words[place])
        case 2:
            words.insert(rng.randrange(len(words)), words.pop(place))
        case _:
            words[place] = _mistyped(rng, words[place])
    return words


def _mistyped(rng: Random, word: str) -> str:
    place = rng.randint(0, len(word))
    return word[:place] + rng.choice(("", "x", "-", ".", "=", "é")) + word[place + rng.randint(0, 1) :]

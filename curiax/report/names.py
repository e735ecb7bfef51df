"""Names and numbers as a report writes them."""

import json
from collections.abc import Sequence

import numpy as np

from curiax import curiosity
from curiax.config import LAPTOP, to_dict
from curiax.report.read import RunData, Study
from curiax.types import Score

COUNTS = ("no", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten")
DEFAULTS = json.loads(json.dumps(to_dict(LAPTOP)))  # as they stand in a config.json


def method_title(name: str) -> str:
    return curiosity.METHODS[name].name if name in curiosity.METHODS else name


def method_about(name: str) -> str:
    return curiosity.METHODS[name].about if name in curiosity.METHODS else ""


def setting_about(study: Study, name: str) -> str:
    """The environment in its own words or by its name, its options, and the rewards if the study has both kinds."""
    run = next(run for run in study.logged if run.setting == name)
    parts = [run.profile.about or run.config["env"], *changed_options(run)]
    if len(rewards(study)) > 1:
        only = run.config["reward"] == "intrinsic"
        parts.append("intrinsic rewards only" if only else "intrinsic and extrinsic rewards")
    return ", ".join(parts)


def changed_options(run: RunData) -> list[str]:
    """`sticky 0.1`: the options of its environment that are not the default."""
    defaults = DEFAULTS.get(run.family, {})
    return [f"{name} {value}" for name, value in run.options.items() if value != defaults.get(name, value)]


def rewards(study: Study) -> set[str]:
    """The kinds of reward that the agents of the study are trained on."""
    return {run.config.get("reward", "intrinsic") for run in study.logged}


def setting_brief(study: Study, name: str) -> str:
    """Without the name of its kind: `the blocks walk at random`."""
    return setting_about(study, name).rpartition(": ")[2]


def count(number: int, what: str) -> str:
    """`three seeds`, `one seed`, `48 runs`."""
    word = COUNTS[number] if number < len(COUNTS) else str(number)
    return f"{word} {what}" + ("" if number == 1 else "s")


def enumerate_words(words: Sequence[str]) -> str:
    """`a, b and c`."""
    return " and ".join([", ".join(words[:-1]), words[-1]] if len(words) > 1 else words)


def capital(text: str) -> str:
    """With a capital letter at the start; the rest stays as it is."""
    return text[:1].upper() + text[1:]


def amount(score: Score, value: float | np.floating) -> str:
    """A score in a sentence: `3,400` points, but `0.96` of one."""
    small = score.digits == 0 and 0 < abs(value) < 10
    return f"{value:,.{2 if small else score.digits}f}"


def steps(number: int | float) -> str:
    """`5.0 M`, `300 k`."""
    return f"{number / 1e6:.1f} M" if number >= 999_500 else f"{number / 1e3:.0f} k"


def score_title(score: Score) -> str:
    """Its title, and its range if that is finite."""
    low, high = score.bounds
    return f"{capital(score.title)}, {low:g} to {high:g}" if np.isfinite([low, high]).all() else capital(score.title)


def noise_title(study: Study) -> str:
    return capital(own_noise(study) or "noise dwell")


def own_noise(study: Study) -> str:
    """What the environments call their own noise; "" if they have none, or different names for it."""
    found = {run.profile.noise for run in study.logged}
    return found.pop() if len(found) == 1 else ""


def has_noise(study: Study) -> bool:
    """True if the environments have noise of their own, or some run had noise."""
    return bool(own_noise(study)) or any(map(noisy, study.logged))


def noisy(run: RunData) -> bool:
    """True if the run had noise: added by an option, or marked by the environment."""
    added = run.options.get("noise", "none") != "none"
    return added or bool(np.any(np.nan_to_num(run.metrics.get("noise_dwell", 0.0))))


def place(study: Study) -> str:
    """Where the agents are."""
    names = sorted({run.profile.title for run in study.logged})
    return enumerate_words(names) if len(names) < 4 else count(len(names), "environment")


def run_name(run: RunData) -> str:
    return f"{run.setting} / {method_title(run.method)} / seed {run.seed}"

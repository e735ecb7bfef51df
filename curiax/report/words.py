"""The report's sentences. They are made from the numbers, and say no more than the numbers do."""

from collections.abc import Sequence

import numpy as np

from curiax import curiosity
from curiax.envs import maze
from curiax.report.read import RunData, Study
from curiax.report.scores import differ, final

COUNTS = ("no", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten")
PARTNERS = {"byol-hindsight": "byol-explore"}  # others are NAME+hindsight and NAME


def method_title(name: str) -> str:
    return curiosity.METHODS[name].name if name in curiosity.METHODS else name


def method_about(name: str) -> str:
    return curiosity.METHODS[name].about if name in curiosity.METHODS else ""


def setting_about(name: str) -> str:
    return maze.SETTINGS[name].about if name in maze.SETTINGS else ""


def setting_brief(name: str) -> str:
    """Without the name of its kind: `the blocks walk at random`."""
    return setting_about(name).rpartition(": ")[2]


def count(number: int, what: str) -> str:
    """`three seeds`, `one seed`, `48 runs`."""
    word = COUNTS[number] if number < len(COUNTS) else str(number)
    return f"{word} {what}" + ("" if number == 1 else "s")


def enumerate_words(words: Sequence[str]) -> str:
    """`a, b and c`."""
    return " and ".join([", ".join(words[:-1]), words[-1]] if len(words) > 1 else words)


def steps(number: int | float) -> str:
    """`5.0 M`, `300 k`."""
    return f"{number / 1e6:.1f} M" if number >= 999_500 else f"{number / 1e3:.0f} k"


def headline(study: Study) -> list[str]:
    """Two or three sentences: who got further, who watched noise, what was done."""
    pair = main_pair(study)
    if pair is None:
        return [who_reached_what(study), what_was_done(study)]
    settings = [name for name in study.settings if all(scores(study, name, method, "trackers") for method in pair)]
    return [who_got_further(study, *pair, settings), who_watched_noise(study, *pair, settings), what_was_done(study)]


def what_was_done(study: Study) -> str:
    runs, seeds = study.logged, {len(study.group(s, m)) for s in study.settings for m in study.methods} - {0}
    each = f", {count(min(seeds), 'seed')} each" if len(seeds) == 1 else f", {min(seeds)} to {max(seeds)} seeds each"
    length = steps(max(run.env_steps for run in runs))
    kinds = count(len(study.settings), "setting")
    return (
        f"{count(len(study.methods), 'method').capitalize()} of curiosity in {kinds} of one maze, without any other "
        f"reward: {count(len(runs), 'run')}{each}, up to {length} environment steps a run."
    )


def main_pair(study: Study) -> tuple[str, str] | None:
    """A method with hindsight and the same without, that share a setting."""
    for method in study.methods:
        partner = PARTNERS.get(method, method.removesuffix("+hindsight"))
        pair = (method, partner)
        shared = any(all(scores(study, name, side, "trackers") for side in pair) for name in study.settings)
        if partner != method and shared:
            return pair
    return None


def telling_setting(study: Study) -> str:
    """Where the pair differs most in its scores: what a reader should see first."""
    pair = main_pair(study)
    if pair is None:
        return study.settings[-1]
    gaps = {
        name: [np.mean(scores(study, name, side, "trackers") or np.nan) for side in pair] for name in study.settings
    }
    return max(gaps, key=lambda name: np.nan_to_num(abs(gaps[name][0] - gaps[name][1]), nan=-1.0))


def who_got_further(study: Study, method: str, partner: str, settings: list[str]) -> str:
    """Sorted by what the seeds can tell."""
    told: dict[int, list[str]] = {1: [], -1: [], 0: []}
    used = [run for name in settings for side in (method, partner) for run in study.group(name, side)]
    lonely = any(len(study.group(name, side)) < 2 for name in settings for side in (method, partner))
    for name in settings:
        left, right = (scores(study, name, side, "trackers") for side in (method, partner))
        told[differ(left, right)].append(f"{name} ({np.mean(left):.1f} against {np.mean(right):.1f})")
    a, b = method_title(method), method_title(partner)
    parts = []
    if told[1]:
        parts.append(f"{a} touches more of the maze's four regions per episode than {b} in {enumerate_words(told[1])}")
    if told[-1]:
        parts.append(
            f"{a} touches fewer of the maze's four regions per episode than {b} in {enumerate_words(told[-1])}"
        )
    if told[0] and parts:
        parts.append(f"in {enumerate_words(told[0])} the seeds do not tell the two apart")
    elif told[0]:
        verdict = "one seed cannot tell skill from luck" if lonely else "the seeds do not tell the two apart"
        parts.append(f"{a} against {b}, regions touched per episode: {enumerate_words(told[0])}; {verdict}")
    return so_far(used) + "; ".join(parts) + "."


def who_watched_noise(study: Study, method: str, partner: str, settings: list[str]) -> str:
    """In the setting where the two differ most."""
    pair = (method, partner)
    dwell = {name: [np.mean(scores(study, name, side, "noise_dwell")) for side in pair] for name in settings}
    name = max(dwell, key=lambda name: abs(dwell[name][0] - dwell[name][1]))
    mine, theirs = (f"{100 * value:.0f} %" for value in dwell[name])
    if mine == theirs == "0 %":
        return "There was no noise to watch."
    used = [run for side in pair for run in study.group(name, side)]
    a, b = method_title(method), method_title(partner)
    return f"{so_far(used)}In {name}, {b} spends {theirs} of its time with noise in view, {a} {mine}."


def who_reached_what(study: Study) -> str:
    """The scores as they are, where there is nothing to compare."""
    parts = []
    for setting in study.settings:
        values = {method: scores(study, setting, method, "trackers") for method in study.methods}
        each = [
            f"{method_title(method)} {np.mean(seeds):.1f} ({count(len(seeds), 'seed')})"
            for method, seeds in values.items()
            if seeds
        ]
        parts += [f"in {setting}, {enumerate_words(each)}"] if each else []
    if not parts:
        return "No episode has ended yet."
    return f"{so_far(study.logged)}Regions touched per episode, of four: {'; '.join(parts)}."


def so_far(runs: Sequence[RunData]) -> str:
    return "" if all(run.status == "finished" for run in runs) else "So far: "


def progress(study: Study) -> tuple[str, list[str], list[str]]:
    """How far the study is: in a sentence, the failures, and the runs that are missing; "" if it is whole."""
    by_status: dict[str, list[RunData]] = {}
    for run in study.runs:
        by_status.setdefault(run.status, []).append(run)
    finished = by_status.pop("finished", [])
    if not by_status:
        return "", [], []
    others = ", ".join(f"{len(runs)} {status}" for status, runs in sorted(by_status.items(), reverse=True))
    summary = f"{len(finished)} of {len(study.runs)} runs finished, {others}. This is how it stands."
    failures = [f"Failed: {run_name(run)}: {run.reason}" for run in by_status.get("failed", [])]
    missing = [f"{run_name(run)}: {100 * run.progress:.0f} % done" for run in by_status.get("unfinished", [])]
    missing += [f"{run_name(run)}: not started" for run in by_status.get("not started", [])]
    return summary, failures, missing


def run_name(run: RunData) -> str:
    return f"{run.setting} / {method_title(run.method)} / seed {run.seed}"


def scores(study: Study, setting: str, method: str, name: str) -> list[float]:
    """The final value of each seed that has one."""
    return [value for run in study.group(setting, method) if np.isfinite(value := final(run, name))]

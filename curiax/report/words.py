"""The report's sentences. They are made from the numbers, and say no more than the numbers do."""

from collections.abc import Sequence

import numpy as np

from curiax import curiosity
from curiax.envs import maze
from curiax.report.read import RunData, Study
from curiax.report.scores import differ, final
from curiax.report.subject import MAZE, Subject, steps_name, subject_of

COUNTS = ("no", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten")
GAMES = {  # by their names in ALE, where these are not how people write them
    "et": "E.T.",
    "hero": "H.E.R.O.",
    "jamesbond": "James Bond",
    "kung_fu_master": "Kung-Fu Master",
    "mario_bros": "Mario Bros.",
    "montezuma_revenge": "Montezuma's Revenge",
    "mr_do": "Mr. Do!",
    "ms_pacman": "Ms. Pac-Man",
    "pacman": "Pac-Man",
    "qbert": "Q*bert",
    "riverraid": "River Raid",
    "tic_tac_toe_3d": "3-D Tic-Tac-Toe",
    "up_n_down": "Up 'n Down",
    "wizard_of_wor": "Wizard of Wor",
    "yars_revenge": "Yars' Revenge",
}
PARTNERS = {"byol-hindsight": "byol-explore"}  # others are NAME+hindsight and NAME


def method_title(name: str) -> str:
    return curiosity.METHODS[name].name if name in curiosity.METHODS else name


def method_about(name: str) -> str:
    return curiosity.METHODS[name].about if name in curiosity.METHODS else ""


def setting_about(study: Study, name: str) -> str:
    """A maze's own words; of another environment, what its runs were set to."""
    if name in maze.SETTINGS:
        return maze.SETTINGS[name].about
    config = next(run.config for run in study.logged if run.setting == name)
    options = config.get("atari", {})
    sticky, noise = options.get("sticky", 0), options.get("noise", "none")
    parts = [
        config["env"],
        f"sticky actions {sticky:g}" if sticky else "",
        f"noise {noise}" if noise != "none" else "",
        "intrinsic rewards only" if config["reward"] == "intrinsic" else "intrinsic and extrinsic rewards",
    ]
    return ", ".join(filter(None, parts))


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


def amount(subject: Subject, score: float | np.floating) -> str:
    """A score in a sentence: `3,400` points, but `0.96` of one."""
    small = subject.digits == 0 and 0 < abs(score) < 10
    return f"{score:,.{2 if small else subject.digits}f}"


def steps(number: int | float) -> str:
    """`5.0 M`, `300 k`."""
    return f"{number / 1e6:.1f} M" if number >= 999_500 else f"{number / 1e3:.0f} k"


def headline(study: Study) -> list[str]:
    """A few sentences: who got further, who watched noise, what was done."""
    pair = main_pair(study)
    if pair is None:
        return [who_reached_what(study), what_was_done(study)]
    score = score_of(study)
    settings = [name for name in study.settings if all(scores(study, name, method, score) for method in pair)]
    told = [
        who_got_further(study, *pair, settings),
        who_found_rooms(study, *pair),
        who_watched_noise(study, *pair, settings),
        what_was_done(study),
    ]
    return list(filter(None, told))


def score_of(study: Study) -> str:
    return next(iter(subject_of(study).scores))


def what_was_done(study: Study) -> str:
    runs, seeds = study.logged, {len(study.group(s, m)) for s in study.settings for m in study.methods} - {0}
    each = f", {count(min(seeds), 'seed')} each" if len(seeds) == 1 else f", {min(seeds)} to {max(seeds)} seeds each"
    length = steps(max(run.env_steps for run in runs))
    kinds = count(len(study.settings), "setting")
    rewards = {run.config.get("reward", "intrinsic") for run in runs}
    other = "without any other reward" if rewards == {"intrinsic"} else "beside the environment's own reward"
    if len(rewards) > 1:
        other = "alone and beside the environment's own reward"
    return (
        f"{count(len(study.methods), 'method').capitalize()} of curiosity in {kinds} of {place(study)}, {other}: "
        f"{count(len(runs), 'run')}{each}, up to {length} {steps_name(study)} a run."
    )


def place(study: Study) -> str:
    if subject_of(study) == MAZE:
        return "one maze"
    names = sorted({env_title(run.config["env"]) for run in study.logged})
    return enumerate_words(names) if len(names) < 4 else count(len(names), "game")


def env_title(env: str) -> str:
    """`atari/montezuma_revenge` is Montezuma's Revenge; others are known by their names as they are."""
    family, _, name = env.partition("/")
    return GAMES.get(name, name.replace("_", " ").title()) if family == "atari" else name


def main_pair(study: Study) -> tuple[str, str] | None:
    """A method with hindsight and the same without, that share a setting."""
    score = score_of(study)
    for method in study.methods:
        partner = PARTNERS.get(method, method.removesuffix("+hindsight"))
        pair = (method, partner)
        shared = any(all(scores(study, name, side, score) for side in pair) for name in study.settings)
        if partner != method and shared:
            return pair
    return None


def telling_setting(study: Study) -> str:
    """Where the pair differs most in its scores: what a reader should see first."""
    pair = main_pair(study)
    if pair is None:
        return study.settings[-1]
    score = score_of(study)
    gaps = {name: [np.mean(scores(study, name, side, score) or np.nan) for side in pair] for name in study.settings}
    return max(gaps, key=lambda name: np.nan_to_num(abs(gaps[name][0] - gaps[name][1]), nan=-1.0))


def who_got_further(study: Study, method: str, partner: str, settings: list[str]) -> str:
    """Sorted by what the seeds can tell."""
    subject = subject_of(study)
    told: dict[int, list[str]] = {1: [], -1: [], 0: []}
    used = [run for name in settings for side in (method, partner) for run in study.group(name, side)]
    lonely = any(len(study.group(name, side)) < 2 for name in settings for side in (method, partner))
    for name in settings:
        left, right = (scores(study, name, side, score_of(study)) for side in (method, partner))
        means = " against ".join(amount(subject, np.mean(side)) for side in (left, right))
        told[differ(left, right)].append(f"{name} ({means})")
    a, b = method_title(method), method_title(partner)
    parts = []
    if told[1]:
        parts.append(f"{a} {subject.more} than {b} in {enumerate_words(told[1])}")
    if told[-1]:
        parts.append(f"{a} {subject.fewer} than {b} in {enumerate_words(told[-1])}")
    if told[0] and parts:
        parts.append(f"in {enumerate_words(told[0])} the seeds do not tell the two apart")
    elif told[0]:
        verdict = "one seed cannot tell skill from luck" if lonely else "the seeds do not tell the two apart"
        counted = subject.counted.partition(",")[0]
        parts.append(f"{a} against {b}, {counted}: {enumerate_words(told[0])}; {verdict}")
    return so_far(used) + "; ".join(parts) + "."


def who_found_rooms(study: Study, method: str, partner: str) -> str:
    """Over the whole run, where the environment has rooms."""
    pair, parts = (method, partner), []
    for name in study.settings:
        found = [scores(study, name, side, "rooms_found") for side in pair]
        if all(found):
            parts.append(f"{name} ({' against '.join(f'{np.mean(side):.1f}' for side in found)})")
    used = [run for name in study.settings for side in pair for run in study.group(name, side)]
    titles = f"{method_title(method)} against {method_title(partner)}"
    return f"{so_far(used)}Rooms found in a run, {titles}: {enumerate_words(parts)}." if parts else ""


def who_watched_noise(study: Study, method: str, partner: str, settings: list[str]) -> str:
    """In the setting where the two differ most."""
    pair, subject = (method, partner), subject_of(study)
    dwell = {name: [np.mean(scores(study, name, side, "noise_dwell")) for side in pair] for name in settings}
    name = max(dwell, key=lambda name: abs(dwell[name][0] - dwell[name][1]))
    mine, theirs = (f"{100 * value:.0f} %" for value in dwell[name])
    if mine == theirs == "0 %":
        return "There was no noise to watch." if subject == MAZE else ""
    used = [run for side in pair for run in study.group(name, side)]
    a, b = method_title(method), method_title(partner)
    return f"{so_far(used)}In {name}, {b} {subject.watched.format(theirs)}, {a} {mine}."


def who_reached_what(study: Study) -> str:
    """The scores as they are, where there is nothing to compare."""
    parts, subject = [], subject_of(study)
    for setting in study.settings:
        values = {method: scores(study, setting, method, score_of(study)) for method in study.methods}
        each = [
            f"{method_title(method)} {amount(subject, np.mean(seeds))} ({count(len(seeds), 'seed')})"
            for method, seeds in values.items()
            if seeds
        ]
        parts += [f"in {setting}, {enumerate_words(each)}"] if each else []
    if not parts:
        return "No episode has ended yet."
    return f"{so_far(study.logged)}{subject.counted.capitalize()}: {'; '.join(parts)}."


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

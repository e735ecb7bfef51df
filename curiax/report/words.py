"""The report's sentences, made from the numbers."""

from collections.abc import Sequence

import numpy as np

from curiax.report.names import (
    amount,
    capital,
    count,
    enumerate_words,
    has_noise,
    method_title,
    noise_title,
    own_noise,
    place,
    rewards,
    run_name,
    score_title,
    steps,
)
from curiax.report.read import Pair, RunData, Study
from curiax.report.scores import final
from curiax.report.worlds import worlds_of
from curiax.training.statistics import differ

PARTNERS = {"byol-hindsight": "byol-explore"}  # for other methods: NAME+hindsight and NAME
BAND = (
    "Line: mean over seeds. Band: 95 % Student's t interval over seeds, clipped to the possible values; none with one "
    "seed. Point at a panel, or focus it and use the arrow keys, to see each seed."
)


def figure_note(study: Study) -> str:
    titles = capital(enumerate_words([score.title for score in study.scores]))
    if max(len(run.metrics["update"]) for run in study.logged) > 1:
        return f"{titles} against {study.step_name}. {BAND}"
    drawn = any(np.isfinite(final(run, score.metric)) for run in study.logged for score in study.scores)
    points = "a point instead of a curve" if drawn else "but no episode has ended: there is nothing to draw"
    return f"{titles}. Every run has logged one row of metrics so far: {points}."


def scores_note(study: Study) -> str:
    notes = ["Means over the last quarter of training so far, with 95 % intervals over seeds; a dot is a seed."]
    if has_noise(study):
        notes.append(f"{noise_title(study)}: the share of the time with noise.")
    if any(score.accumulates for score in study.scores):
        notes.append("“So far” counts the whole run.")
    if study.score.parts:
        notes.append(
            f"“Reached”: {study.step_name} until half of the episodes of a log interval get there, median over seeds."
        )
    return " ".join(notes)


def headline(study: Study) -> list[str]:
    """A few sentences: who scored more, who watched noise, what was done."""
    pair = main_pair(study)
    if pair is None:
        return [all_scores(study), what_was_done(study)]
    settings = [name for name in study.settings if all(first_scores(study, name, method) for method in pair)]
    sentences = [
        who_scored_more(study, *pair, settings),
        *who_accumulated_more(study, *pair),
        who_watched_noise(study, *pair, settings),
        what_was_done(study),
    ]
    return list(filter(None, sentences))


def what_was_done(study: Study) -> str:
    seeds = {len(study.group(*pair)) for pair in study.pairs}
    each = f", {count(min(seeds), 'seed')} each" if len(seeds) == 1 else f", {min(seeds)} to {max(seeds)} seeds each"
    length = steps(max(run.env_steps for run in study.logged))
    regimes = rewards(study)
    other = "without any other reward" if regimes == {"intrinsic"} else "beside the environment's own reward"
    if len(regimes) > 1:
        other = "alone and beside the environment's own reward"
    return (
        f"{capital(count(len(study.methods), 'method'))} of curiosity in {count(len(study.settings), 'setting')} of "
        f"{place(study)}, {other}: {count(len(study.logged), 'run')}{each}, up to {length} {study.step_name} a run."
    )


def main_pair(study: Study) -> Pair | None:
    """A method with hindsight and the same one without it that share a setting."""
    for method in study.methods:
        partner = PARTNERS.get(method, method.removesuffix("+hindsight"))
        pair = (method, partner)
        shared = any(all(first_scores(study, name, side) for side in pair) for name in study.settings)
        if partner != method and shared:
            return pair
    return None


def telling_setting(study: Study) -> str:
    """The setting in which the pair differs most in its scores: the page shows it first."""
    pair = main_pair(study)
    if pair is None:
        return study.settings[-1]
    return max(study.settings, key=lambda name: np.nan_to_num(gap(study, name, pair), nan=-1.0))


def gap(study: Study, setting: str, pair: Pair) -> float:
    """The difference of the mean scores of two methods; of their normalised scores if settings have different ones."""
    left, right = (np.mean(first_scores(study, setting, method) or np.nan) for method in pair)
    alike = study.score == study.score_of(setting)
    scale = None if alike else worlds_of(study).scales.get(setting)
    width = 1.0 if scale is None else scale.high - scale.low
    return float(abs(left - right) / width) if width else 0.0


def who_scored_more(study: Study, method: str, partner: str, settings: list[str]) -> str:
    """Settings are grouped by what the seeds show."""
    score = study.score
    found: dict[int, list[str]] = {1: [], -1: [], 0: []}
    used = [run for name in settings for side in (method, partner) for run in study.group(name, side)]
    one_seed = any(len(study.group(name, side)) < 2 for name in settings for side in (method, partner))
    for name in settings:
        left, right = (first_scores(study, name, side) for side in (method, partner))
        means = " against ".join(amount(study.score_of(name), np.mean(side)) for side in (left, right))
        found[differ(left, right)].append(f"{name} ({means})")
    a, b = method_title(method), method_title(partner)
    parts = []
    if found[1]:
        parts.append(f"{a} {score.more} than {b} in {enumerate_words(found[1])}")
    if found[-1]:
        parts.append(f"{a} {score.fewer} than {b} in {enumerate_words(found[-1])}")
    if found[0] and parts:
        parts.append(f"in {enumerate_words(found[0])} the seeds do not tell the two apart")
    elif found[0]:
        verdict = "one seed cannot tell skill from luck" if one_seed else "the seeds do not tell the two apart"
        parts.append(f"{a} against {b}, {score.title}: {enumerate_words(found[0])}; {verdict}")
    return so_far(used) + "; ".join(parts) + "."


def who_accumulated_more(study: Study, method: str, partner: str) -> list[str]:
    """A sentence for each score that accumulates over the run."""
    used = [run for name in study.settings for side in (method, partner) for run in study.group(name, side)]
    sentences = []
    for score in (score for score in study.scores if score.accumulates):
        means = []
        for name in study.settings:
            left, right = (scores(study, name, side, score.metric) for side in (method, partner))
            means += [f"{name} ({np.mean(left):.1f} against {np.mean(right):.1f})"] if left and right else []
        titles = f"{capital(score.title)}, {method_title(method)} against {method_title(partner)}"
        sentences += [f"{so_far(used)}{titles}: {enumerate_words(means)}."] if means else []
    return sentences


def who_watched_noise(study: Study, method: str, partner: str, settings: list[str]) -> str:
    """In the setting in which the two differ most."""
    pair, noise = (method, partner), own_noise(study)
    logged = {name: [scores(study, name, side, "noise_dwell") for side in pair] for name in settings}
    dwell = {name: [np.mean(side) for side in sides] for name, sides in logged.items() if all(sides)}
    if not dwell:
        return ""
    name = max(dwell, key=lambda name: abs(dwell[name][0] - dwell[name][1]))
    mine, theirs = (f"{100 * value:.0f} %" for value in dwell[name])
    if mine == theirs == "0 %":
        return "There was no noise to watch." if noise else ""
    used = [run for side in pair for run in study.group(name, side)]
    a, b = method_title(method), method_title(partner)
    return f"{so_far(used)}In {name}, {b} spends {theirs} of its time with {noise or 'noise'}, {a} {mine}."


def all_scores(study: Study) -> str:
    """The scores without a comparison."""
    parts = []
    for setting in study.settings:
        score = study.score_of(setting)
        values = {method: first_scores(study, setting, method) for method in study.methods}
        each = [
            f"{method_title(method)} {amount(score, np.mean(seeds))} ({count(len(seeds), 'seed')})"
            for method, seeds in values.items()
            if seeds
        ]
        parts += [f"in {setting}, {enumerate_words(each)}"] if each else []
    if not parts:
        return "No episode has ended yet."
    return f"{so_far(study.logged)}{score_title(study.score)}: {'; '.join(parts)}."


def notes_on_missing(what: str, reasons: dict[Pair, str], study: Study) -> list[str]:
    """Why there is no film or map of a setting and method; in one line if the reason is the same for all."""
    if len(reasons) == len(study.pairs) and len(set(reasons.values())) == 1:
        return [f"No {what}: {next(iter(reasons.values()))}."]
    return [f"No {what} of {method_title(method)} in {setting}: {why}." for (setting, method), why in reasons.items()]


def so_far(runs: Sequence[RunData]) -> str:
    return "" if all(run.status == "finished" for run in runs) else "So far: "


def progress(study: Study) -> tuple[str, list[str], list[str]]:
    """A sentence on how far the study is, its failures, and the runs that are missing; "" if it is complete."""
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


def first_scores(study: Study, setting: str, method: str) -> list[float]:
    """The final score of each seed that has one."""
    return scores(study, setting, method, study.score_of(setting).metric)


def scores(study: Study, setting: str, method: str, name: str) -> list[float]:
    """The final value of each seed that has one."""
    return [value for run in study.group(setting, method) if np.isfinite(value := final(run, name))]

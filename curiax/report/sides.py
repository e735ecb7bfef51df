"""What stands beside the scores in the table of methods by worlds: time spent on noise, cost, and who is left out."""

from collections.abc import Callable, Sequence

import numpy as np

from curiax.report.names import capital, enumerate_words, method_title
from curiax.report.read import RunData, Study
from curiax.report.scores import columns, final
from curiax.studies import STUDIES
from curiax.training.statistics import nanmean

Text = Callable[[Sequence[RunData]], str]


def side_tables(study: Study, settings: list[str]) -> list[tuple[str, str, list[tuple[str, list[str]]]]]:
    """Title, note, and a row for each method with a text for each world; a table without numbers is left out."""
    tables = [
        ("Noise dwell", "Share of the time with noise, mean over seeds.", dwell),
        (
            "Cost per step",
            "Microseconds of a core per environment step: environment, policy and learner. Median over the log "
            "intervals of a run, mean over seeds. Evaluations count, and other programs on the machine do too.",
            cost,
        ),
    ]
    found = [(title, note, side_rows(study, settings, text)) for title, note, text in tables]
    return [table for table in found if any(text != "–" for _, texts in table[2] for text in texts)]


def side_rows(study: Study, settings: list[str], text: Text) -> list[tuple[str, list[str]]]:
    return [
        (method_title(method), [text(study.group(setting, method)) for setting in settings]) for method in study.methods
    ]


def dwell(runs: Sequence[RunData]) -> str:
    """`12 %`; `–` where the environment has no noise."""
    value = nanmean(final(run, "noise_dwell") for run in runs)
    marked = any(np.any(np.nan_to_num(run.metrics.get("noise_dwell", 0.0))) or run.profile.noise for run in runs)
    return f"{100 * value:.0f} %" if marked and np.isfinite(value) else "–"


def cost(runs: Sequence[RunData]) -> str:
    speeds = [columns(run)["steps_per_second"] for run in runs]
    costs = [1e6 / np.median(known) for speed in speeds if len(known := speed[np.isfinite(speed)])]
    return f"{np.mean(costs):,.0f}" if costs else "–"


def left_out_notes(study: Study) -> list[str]:
    """Which methods the study leaves out of which worlds, and why."""
    reasons: dict[tuple[str, str], list[str]] = {}
    for place, why in STUDIES[study.name].left_out.items() if study.name in STUDIES else ():
        setting, method = place.split("/", 1)
        reasons.setdefault((method, why), []).append(setting)
    return [
        f"{capital(method_title(method))} is not in {enumerate_words(names)}: {why}."
        for (method, why), names in reasons.items()
    ]

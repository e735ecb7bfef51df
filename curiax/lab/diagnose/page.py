"""One HTML page with everything in it, and the same numbers as CSV and JSON."""

import csv
import io
import json
import math
from html import escape
from pathlib import Path
from string import Template
from typing import Any

import numpy as np

from curiax.lab.diagnose import words
from curiax.lab.diagnose.figures import TITLES, panels, percent, to_png, to_svg
from curiax.lab.diagnose.findings import Findings, Part
from curiax.report import made
from curiax.report.page import ASSETS as REPORT_ASSETS
from curiax.report.page import paragraphs
from curiax.training.run.files import write_atomically
from curiax.types import EnvSpec

ASSETS = Path(__file__).parent / "assets"
NOTES = {
    "whole": "The variance of the change of an observation in one step, over all its numbers, split in three.",
    "lorenz": "Transitions sorted by what they hold. The steeper the curve, the fewer transitions matter.",
    "actions": "What a transition holds that begins with this action.",
    "groups": "What each part of the observation adds to the error of a mean transition.",
    "plane": "Where in the observation it is: sums over all that lies in one place, of a mean transition.",
    "cells": "What a transition holds that leads to this place; grey where nobody came.",
    "examples": "The six with the largest error that hindsight explained away.",
}


def write(spec: EnvSpec, findings: Findings, out: Path, command: str, exploring: str, settings: dict[str, str]) -> Path:
    """Everything into a directory; returns the page."""
    out.mkdir(parents=True, exist_ok=True)
    found = panels(spec, findings)
    to_png(found, f"Where is the noise in {findings.env}?", out / "diagnose.png")
    figures = {name: to_svg(*one) for name, one in found.items()}
    write_atomically(out / "table.csv", table_csv(findings))
    write_atomically(out / "findings.json", json.dumps(summary(findings, command), indent=2) + "\n")
    css = (REPORT_ASSETS / "page.css").read_text(encoding="utf-8")
    facts = settings | {
        "Machine": made.machine(),
        "Versions": ", ".join(f"{k} {v}" for k, v in made.versions().items()),
    }
    page = Template((ASSETS / "page.html").read_text(encoding="utf-8")).substitute(
        title=escape(f"Where is the noise in {findings.env}?"),
        env=escape(findings.env),
        css=css,
        headline=paragraphs(words.headline(findings)),
        banner="",
        sections="".join(section(name, svg) for name, svg in figures.items()),
        table=table_html(findings),
        how=paragraphs(words.how(findings, exploring)),
        command=escape(command),
        facts="".join(f"<dt>{escape(name)}</dt><dd>{escape(value)}</dd>" for name, value in facts.items()),
    )
    write_atomically(out / "diagnose.html", page)
    return out / "diagnose.html"


def section(name: str, svg: str) -> str:
    image = svg.replace("<svg", f'<svg role="img" aria-label="{escape(TITLES[name])}"', 1)
    return (
        f'<section id="{name}"><h2>{escape(TITLES[name])}</h2><p class="note">{escape(NOTES[name])}</p>'
        f'<figure class="plate">{image}</figure></section>'
    )


def parts_of(findings: Findings) -> list[tuple[str, Part]]:
    """Every row of the table: what it is part of, and the part."""
    actions = [("action", one) for one in findings.actions]
    return [("all", findings.total), *actions, *(("observation", one) for one in findings.groups)]


def table_html(findings: Findings) -> str:
    heads = ("", "of the transitions", "prediction error", "noise", "novelty", "of the noise")
    rows = []
    for kind, one in parts_of(findings):
        share = "" if math.isnan(one.share) else percent(one.share)
        cells = (share, *(percent(x) for x in (one.error, one.noise, one.novelty, one.share_of_noise)))
        title = one.name if kind == "all" else f"{kind}: {one.name}"
        labelled = "".join(f'<td data-label="{head}">{cell}</td>' for head, cell in zip(heads[1:], cells, strict=True))
        rows.append(f"<tr><th scope='row'>{escape(title)}</th>{labelled}</tr>")
    head = "".join(f"<th scope='col'>{name}</th>" for name in heads)
    return f"<table><thead><tr>{head}</tr></thead><tbody>{''.join(rows)}</tbody></table>"


def table_csv(findings: Findings) -> str:
    file = io.StringIO()
    table = csv.writer(file, lineterminator="\n")
    table.writerow(("kind", *Part._fields))
    for kind, one in [*parts_of(findings), *(("cell", one) for one in cell_parts(findings))]:
        table.writerow([kind, one.name, *("" if math.isnan(x) else f"{x:.6g}" for x in one[1:])])
    return file.getvalue()


def cell_parts(findings: Findings) -> list[Part]:
    """Where the environment has places: each that was visited, by row and column."""
    if not findings.cells:
        return []
    visits, noise, novelty = (findings.cells[name] for name in ("visits", "noise", "novelty"))
    whole = findings.total.noise or 1.0
    return [
        Part(f"{row},{column}", share, at_noise + at_novelty, at_noise, at_novelty, share * at_noise / whole)
        for (row, column), share in np.ndenumerate(visits)
        if share > 0
        for at_noise, at_novelty in [(float(noise[row, column]), float(novelty[row, column]))]
    ]


def summary(findings: Findings, command: str) -> dict[str, Any]:
    """What a program would ask for."""
    return {
        "env": findings.env,
        "command": command,
        "transitions": findings.num_transitions,
        "sentences": words.headline(findings),
        "predicted": 1 - findings.total.error,
        "noise": findings.total.noise,
        "novelty": findings.total.novelty,
        "share_of_transitions_with_80_percent_of_the_noise": findings.needed,
        "share_of_the_noise_in_5_percent_of_the_transitions": findings.held,
        "marked_by_the_environment": findings.marked,
        "share_of_the_noise_in_what_is_marked": findings.noise_in_marked,
        "actions": [one._asdict() for one in findings.actions],
        "observation": [one._asdict() | {"share": None} for one in findings.groups],
    }

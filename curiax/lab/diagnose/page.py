"""The HTML page of a diagnosis, and its numbers as CSV and JSON."""

import json
import math
from pathlib import Path
from typing import Any

import numpy as np

from curiax.lab.diagnose import words
from curiax.lab.diagnose.figures import TITLES, panels, percent, to_png, to_svg
from curiax.lab.diagnose.findings import Findings, Part
from curiax.report import made
from curiax.report.templates import inline_svg, render
from curiax.training.run.files import write_atomically, write_csv
from curiax.types import EnvSpec

ASSETS = Path(__file__).parent / "assets"
NOTES = {
    "whole": "The variance of the change of an observation in one step, over all its features, split in three.",
    "lorenz": "Transitions sorted by size, the largest first. The steeper the curve, the fewer transitions matter.",
    "actions": "The mean transition with this action.",
    "groups": "What each part of the observation adds to the mean error of a transition.",
    "plane": "The mean transition by place in the observation: the sum over all features at that place.",
    "cells": "The mean transition to this place; grey if it was never visited.",
    "examples": "The six with the largest error that hindsight removed.",
}
HEADS = ("", "of the transitions", "prediction error", "noise", "novelty", "of the noise")


def write(spec: EnvSpec, findings: Findings, out: Path, command: str, exploring: str, settings: dict[str, str]) -> Path:
    """Writes the page, a picture, a table and the findings into a directory. Returns the path of the page."""
    found = panels(spec, findings)
    to_png(found, f"Where is the noise in {findings.env}?", out / "diagnose.png")
    figures = {name: to_svg(*one) for name, one in found.items()}
    write_csv(out / "table.csv", ("kind", *Part._fields), csv_rows(findings))
    write_atomically(out / "findings.json", json.dumps(summary(findings, command), indent=2) + "\n")
    page = render(
        "diagnose.html",
        ASSETS,
        program="curiax diagnose",
        title=f"Where is the noise in {findings.env}?",
        name=findings.env,
        heading=f"Where is the noise in {findings.env}?",
        headline=words.headline(findings),
        figures=[
            {"name": name, "title": TITLES[name], "note": NOTES[name], "svg": inline_svg(svg, TITLES[name])}
            for name, svg in figures.items()
        ],
        heads=HEADS,
        rows=[table_row(kind, one) for kind, one in parts_of(findings)],
        how=words.how(findings, exploring),
        command=command,
        facts=settings | made.facts(),
    )
    write_atomically(out / "diagnose.html", page)
    return out / "diagnose.html"


def parts_of(findings: Findings) -> list[tuple[str, Part]]:
    """The rows of the table: a kind and a part."""
    actions = [("action", one) for one in findings.actions]
    return [("all", findings.total), *actions, *(("observation", one) for one in findings.groups)]


def table_row(kind: str, part: Part) -> tuple[str, tuple[str, ...]]:
    """The title of a row of the table, and its cells."""
    share = "" if math.isnan(part.share) else percent(part.share)
    numbers = (part.error, part.noise, part.novelty, part.share_of_noise)
    return part.name if kind == "all" else f"{kind}: {part.name}", (share, *map(percent, numbers))


def csv_rows(findings: Findings) -> list[list[str]]:
    """The rows of the table and of the cells, as text."""
    parts = [*parts_of(findings), *(("cell", one) for one in cell_parts(findings))]
    return [[kind, one.name, *("" if math.isnan(x) else f"{x:.6g}" for x in one[1:])] for kind, one in parts]


def cell_parts(findings: Findings) -> list[Part]:
    """The cells that were visited, named by row and column; [] if the environment has no cells."""
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
    """The findings as JSON, for programs."""
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

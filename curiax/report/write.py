"""`curiax report`: reads a study and writes the page and the files beside it."""

from collections.abc import Callable
from pathlib import Path

from curiax.report.across import worlds_section
from curiax.report.aggregate import draw_aggregate, reference_of
from curiax.report.export import write_json
from curiax.report.figure import draw_figure, draw_losses, draw_outcomes
from curiax.report.films.make import shoot_study, write_beside
from curiax.report.heat import draw_heat
from curiax.report.kinds import KINDS, kind_of
from curiax.report.page import write_page
from curiax.report.read import Study, read_study
from curiax.report.table import all_results, write_curves
from curiax.report.worlds import several, worlds_of
from curiax.studies import STUDIES
from curiax.studies.base import what_settings_are
from curiax.studies.scores import write_scores
from curiax.training.run.outputs import check_file, claim, writing_to

FILM = "film.gif"
AGGREGATE = ("aggregate.png", "aggregate.svg")
WORLDS = ("worlds.png", "worlds.svg")
OPTIONAL = (FILM, *AGGREGATE, *WORLDS, *(kind.map_name for kind in KINDS.values() if kind.map_name))


def write_report(
    directory: Path,
    out: Path,
    with_films: bool,
    tell: Callable[[str], None],
    against: str | None = None,
    json_path: Path | None = None,
) -> Path:
    """Writes report.html, figure.png, figure.svg, losses.png, scores.csv and curves.csv; outcomes.png and outcomes.svg
    if a method has hindsight; worlds.png and aggregate.png, each also as .svg, with several worlds and methods;
    film.gif, and errors.png or rooms.png, if the environment has them. `against` is the method that others are compared
    with over all worlds, and `json_path` a file for the scores. Returns the path of the page."""
    study = read_study(directory)
    for note in study.notes:
        tell(note)
    reference = reference_of(worlds_of(study), against)
    check_file("--json", json_path)
    claim(out, "report")
    if json_path is not None:
        write_json(study, json_path)
    with writing_to(out):
        return _write(study, out, reference, with_films, tell)


def _write(study: Study, out: Path, reference: str | None, with_films: bool, tell: Callable[[str], None]) -> Path:
    for name in OPTIONAL:
        (out / name).unlink(missing_ok=True)  # of an earlier report
    settings = what_settings_are(STUDIES[study.name]) if study.name in STUDIES else "setting"
    write_scores(out / "scores.csv", all_results(study), settings)
    write_curves(study, out / "curves.csv")
    draw_figure(study, [out / "figure.png", out / "figure.svg"])
    draw_losses(study, [out / "losses.png"])
    draw_outcomes(study, [out / "outcomes.png", out / "outcomes.svg"])
    section = _write_worlds(study, out, reference)
    kind, _ = kind_of(study)
    has_map = kind.draw_map(study, out / kind.map_name)
    shots, notes = shoot_study(study, tell) if with_films else ({}, ["Films were not asked for."])
    gif = FILM if write_beside(study, shots, out / FILM) else ""
    write_page(study, out / "report.html", section, shots, notes, out / kind.map_name if has_map else None, gif)
    return out / "report.html"


def _write_worlds(study: Study, out: Path, reference: str | None) -> str:
    """Draws what all worlds have in common, and returns it as a section of the page; "" with one world or method."""
    worlds = worlds_of(study)
    if not several(worlds):
        return ""
    draw_heat(study, worlds, [out / name for name in WORLDS])
    if reference is not None:
        draw_aggregate(study, worlds, reference, [out / name for name in AGGREGATE])
    return worlds_section(study, worlds, reference)

"""`curiax report`: reads a study and writes the page and the files beside it."""

from collections.abc import Callable
from pathlib import Path

from curiax.report.figure import draw_figure, draw_losses, draw_outcomes
from curiax.report.films.make import shoot_study, write_beside
from curiax.report.kinds import KINDS, kind_of
from curiax.report.page import write_page
from curiax.report.read import Study, read_study
from curiax.report.table import all_results, write_curves
from curiax.studies.scores import write_scores
from curiax.training.run.outputs import claim, writing_to

FILM = "film.gif"


def write_report(directory: Path, out: Path, with_films: bool, tell: Callable[[str], None]) -> Path:
    """Writes report.html, figure.png, figure.svg, losses.png, scores.csv and curves.csv; outcomes.png and outcomes.svg
    if a method has hindsight; film.gif, and errors.png or rooms.png, if the environment has them. Returns the path of
    the page."""
    study = read_study(directory)
    for note in study.notes:
        tell(note)
    claim(out, "report")
    with writing_to(out):
        return _write(study, out, with_films, tell)


def _write(study: Study, out: Path, with_films: bool, tell: Callable[[str], None]) -> Path:
    for name in (FILM, *(kind.map_name for kind in KINDS.values() if kind.map_name)):
        (out / name).unlink(missing_ok=True)  # of an earlier report
    write_scores(out / "scores.csv", all_results(study))
    write_curves(study, out / "curves.csv")
    draw_figure(study, [out / "figure.png", out / "figure.svg"])
    draw_losses(study, [out / "losses.png"])
    draw_outcomes(study, [out / "outcomes.png", out / "outcomes.svg"])
    kind, _ = kind_of(study)
    has_map = kind.draw_map(study, out / kind.map_name)
    shots, notes = shoot_study(study, tell) if with_films else ({}, ["Films were not asked for."])
    gif = FILM if write_beside(study, shots, out / FILM) else ""
    write_page(study, out / "report.html", shots, notes, out / kind.map_name if has_map else None, gif)
    return out / "report.html"

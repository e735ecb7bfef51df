"""`curiax report`: reads a study and writes the page and what stands beside it."""

from collections.abc import Callable
from pathlib import Path

from curiax.errors import UserError
from curiax.report.figure import draw_figure, draw_losses, draw_outcomes
from curiax.report.films.maze import shoot, write_gif
from curiax.report.page import write_page
from curiax.report.read import Study, read_study
from curiax.report.rooms import draw_rooms
from curiax.report.table import all_scores, write_curves
from curiax.studies.scores import write_scores

DUEL = ("on-demand", ("byol-explore", "byol-hindsight"))  # the pair that the GIF shows


def write_report(directory: Path, out: Path, with_films: bool, tell: Callable[[str], None]) -> Path:
    """Writes report.html, figure.png, figure.svg, losses.png, scores.csv, curves.csv, outcomes.png and outcomes.svg of
    methods with hindsight, film.gif of mazes and rooms.png of games that have rooms; returns the page."""
    study = read_study(directory)
    try:
        out.mkdir(parents=True, exist_ok=True)
        return _write(study, out, with_films, tell)
    except OSError as error:
        raise UserError(f"{error.filename or out}: cannot be written ({error.strerror or error})") from None


def _write(study: Study, out: Path, with_films: bool, tell: Callable[[str], None]) -> Path:
    write_scores(out / "scores.csv", all_scores(study))
    write_curves(study, out / "curves.csv")
    draw_figure(study, [out / "figure.png", out / "figure.svg"])
    draw_losses(study, [out / "losses.png"])
    draw_outcomes(study, [out / "outcomes.png", out / "outcomes.svg"])
    rooms = out / "rooms.png" if draw_rooms(study, out / "rooms.png") else None
    films, notes = shoot(study, tell) if with_films else ({}, ["Films were not asked for."])
    setting, methods = DUEL
    duel = {method: films[setting, method] for method in methods if (setting, method) in films}
    (out / "film.gif").unlink(missing_ok=True)  # an earlier one would not belong to this page
    if len(duel) == len(methods):
        write_gif(out / "film.gif", setting, duel)
    write_page(study, films, notes, out / "report.html", rooms)
    return out / "report.html"

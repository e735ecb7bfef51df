"""What the page shows of all worlds together: the aggregate scores as a plot, and the table of methods by worlds."""

from typing import NamedTuple

from markupsafe import Markup

from curiax.report.aggregate import EVEN, Aggregate, aggregates
from curiax.report.figure import colours
from curiax.report.heat import Heat, heat, quoted_cells
from curiax.report.names import enumerate_words, method_title
from curiax.report.read import Study
from curiax.report.scores import Interval
from curiax.report.sides import left_out_notes, side_tables
from curiax.report.statistics import Estimate
from curiax.report.table import HEIGHT, WIDTH, Cell, Plot, number, plot, spread
from curiax.report.templates import render
from curiax.report.worlds import Worlds, all_or_nothing, comparable
from curiax.studies.published import published_in

AGGREGATE_NOTE = (
    "Interquartile mean: of the normalised scores of all seeds in all worlds, without the lowest and the highest "
    "quarter; every world has the same weight. Probability of improvement: how often a seed of the method scores more "
    "than a seed of {reference} in the same world, where a tie counts half; mean over worlds. Brackets and bars: 95 % "
    "bootstrap intervals, seeds drawn anew within each world; with three seeds they are too narrow: they cover 88 %."
)
TABLE_NOTE = (
    "Mean score over seeds, with its 95 % Student's t interval. Colour: normalised score, dark is 0 and light is 1."
)
SOLVED_NOTE = (
    "In {settings}, a run gets all or nothing: the cell has the seeds that end within a tenth of the highest score, "
    "and the binomial interval of their share after Wilson."
)


class Row(NamedTuple):
    """A method over all worlds."""

    method: str
    colour: str
    mean: Cell
    mean_plot: Plot
    improvement: Cell
    improvement_plot: Plot | None


def worlds_section(study: Study, worlds: Worlds, reference: str | None) -> Markup:
    """As HTML. Without a reference no method can be compared over all worlds, and there is only the table."""
    title = "" if reference is None else method_title(reference)
    return render(
        "worlds.html",
        rows=[] if reference is None else aggregate_rows(study, worlds, reference),
        heads=["Method", "Interquartile mean", "", f"Improves on {title}", ""],
        aggregate_note=AGGREGATE_NOTE.format(reference=title),
        scale_note=scale_note(worlds),
        missing_note=missing_note(worlds),
        table_note=table_note(worlds),
        settings=worlds.settings,
        table=[(method_title(method), heats(study, worlds, method)) for method in study.methods],
        published=published_rows(worlds),
        sides=side_tables(study, worlds.settings),
        left_out=left_out_notes(study),
        width=WIDTH,
        height=HEIGHT,
    )


def published_rows(worlds: Worlds) -> list[tuple[str, list[tuple[str, list[Heat]]]]]:
    """Sources, and the rows of each."""
    rows = published_in(worlds.settings)
    return [
        (source, [(row.name, quoted_cells(worlds, row)) for row in rows if row.source == source])
        for source in dict.fromkeys(row.source for row in rows)
    ]


def heats(study: Study, worlds: Worlds, method: str) -> list[Heat]:
    return [heat(study, worlds, setting, method) for setting in worlds.settings]


def aggregate_rows(study: Study, worlds: Worlds, reference: str) -> list[Row]:
    found, palette = aggregates(worlds, reference), colours(study.methods)
    values = [row.mean.value for row in found]
    span = (min(0.0, *values), max(1.0, *values))
    return [aggregate_row(one, palette[one.method], span) for one in found]


def aggregate_row(found: Aggregate, colour: str, span: tuple[float, float]) -> Row:
    better = found.improvement
    return Row(
        method=method_title(found.method),
        colour=colour,
        mean=cell(found.mean),
        mean_plot=plot(as_interval(found.mean), [found.mean.value], span),
        improvement=Cell("–") if better is None else cell(better),
        improvement_plot=None if better is None else plot(as_interval(better), [better.value], (0.0, 2 * EVEN)),
    )


def cell(found: Estimate) -> Cell:
    return Cell(number(found.value), spread(as_interval(found)))


def as_interval(found: Estimate) -> Interval:
    return Interval(found.value, found.low, found.high, 1)


def scale_note(worlds: Worlds) -> str:
    """What 0 and 1 are in each world."""
    sources: dict[str, list[str]] = {}
    for setting, scale in worlds.scales.items():
        sources.setdefault(scale.source, []).append(setting)
    parts = [
        f"{source}{'' if len(sources) == 1 else f' in {enumerate_words(names)}'}" for source, names in sources.items()
    ]
    return f"A normalised score is 0 and 1 at {'; '.join(parts)}."


def missing_note(worlds: Worlds) -> str:
    """Which methods are not compared over all worlds, and why."""
    parts = [
        f"{method_title(method)} has no score in {enumerate_words(names)}" for method, names in worlds.missing.items()
    ]
    if not comparable(worlds):
        return f"Nothing is compared over all worlds: {'; '.join(parts)}."
    return f"Not compared over all worlds: {'; '.join(parts)}." if parts else ""


def table_note(worlds: Worlds) -> str:
    solved = [setting for setting in worlds.settings if all_or_nothing(worlds, setting)]
    return TABLE_NOTE + (f" {SOLVED_NOTE.format(settings=enumerate_words(solved))}" if solved else "")

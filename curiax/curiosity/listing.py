"""Prints the paper's Table 1, and the methods beside it."""

from rich import box
from rich.console import Console
from rich.table import Table

from curiax.curiosity import MEASURES, METHODS, REPRESENTATIONS
from curiax.curiosity.table import HINDSIGHT

# Field of a method -> heading.
WORKS_BY = {
    "inputs": "inputs",
    "target": "target",
    "measure": "measure of\nlearning",
    "space": "representation\nspace",
}
IS_SAID_TO_BE = {
    "random_noise": "robust to\nrandom\nnoise",
    "dependent_noise": "robust to\nstate- or\naction-\ndependent\nnoise",
    "dynamics": "dynamics-\naware",
}
WIDE = 116  # columns of a terminal that fit the whole table


def show_table_1(console: Console) -> None:
    """Prints Table 1, in two parts on a narrow terminal, and what else can be combined."""
    wide = console.width >= WIDE
    for columns in [WORKS_BY | IS_SAID_TO_BE] if wide else [WORKS_BY, IS_SAID_TO_BE]:
        console.print(table_1(columns), soft_wrap=False)
    console.print(
        "Columns and marks are those of the paper's Table 1: claims, not measurements.\n"
        "* not in that table, some later than the paper: claims of the method's authors.\n"
        "Any REPRESENTATION+MEASURE is a method too:\n"
        f"{', '.join(REPRESENTATIONS)} + {', '.join(MEASURES)}\n",
        highlight=False,
        soft_wrap=False,
    )


def table_1(columns: dict[str, str]) -> Table:
    table = Table(box=box.SIMPLE_HEAD, padding=(0, 1, 0, 0))
    table.add_column("method", no_wrap=True)
    for field, heading in columns.items():
        table.add_column(heading, justify="center" if field in IS_SAID_TO_BE else "left", overflow="fold")
    claimed = {name: method for name, method in METHODS.items() if method.inputs}  # not the user's own
    for name, method in (claimed | {"…+hindsight": HINDSIGHT}).items():
        table.add_row(name if method.in_paper else f"{name} *", *(cell(getattr(method, field)) for field in columns))
    return table


def cell(value: str | bool) -> str:
    if isinstance(value, str):
        return value
    return "[green]✓[/]" if value else "[red]✗[/]"

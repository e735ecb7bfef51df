"""`curiax list`: environments, methods and studies."""

from dataclasses import dataclass
from typing import Annotated

import tyro
from rich.console import Console

from curiax.commands.parsing import parse
from curiax.errors import UserError, unknown_name


@dataclass(frozen=True)
class ListCommand:
    """List what there is."""

    what: Annotated[str, tyro.conf.Positional]
    """envs, methods or studies"""


def main(args: list[str], console: Console) -> int:
    command = parse(ListCommand, args, "list")
    from curiax import curiosity, envs
    from curiax.curiosity.listing import show_table_1
    from curiax.studies import MEASURED, STUDIES

    tables = {
        "envs": envs.ENVS,
        "studies": {name: study.about for name, study in STUDIES.items()} | MEASURED,
        "methods": {name: method.about for name, method in curiosity.METHODS.items()},
    }
    if command.what not in tables:
        raise UserError(unknown_name("curiax list", command.what, tables))
    if command.what == "methods":
        show_table_1(console)
    table = tables[command.what]
    width = max(map(len, table))
    for name, about in table.items():
        console.print(f"{name:{width}}  {about}", highlight=False)
    return 0

"""`curiax list`: environments, methods and studies."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Annotated

import tyro
from rich.console import Console

from curiax.commands.parsing import Imports, parse
from curiax.errors import UserError, unknown_name


@dataclass(frozen=True)
class ListCommand:
    """List environments, methods or studies."""

    what: Annotated[str, tyro.conf.Positional]
    """envs, methods or studies"""
    imports: Annotated[Imports, tyro.conf.arg(name="")] = Imports()  # noqa: RUF009 — frozen


def list_envs(console: Console) -> Mapping[str, str]:
    from curiax.envs import ENVS

    return ENVS


def list_methods(console: Console) -> Mapping[str, str]:
    from curiax.curiosity import METHODS
    from curiax.curiosity.listing import show_table_1

    show_table_1(console)
    return {name: method.about for name, method in METHODS.items()}


def list_studies(console: Console) -> Mapping[str, str]:
    from curiax.studies import MEASURED, STUDIES

    return {name: study.about for name, study in STUDIES.items()} | MEASURED


# Each imports only what it lists, so that none is slower than it must be.
LISTS: dict[str, Callable[[Console], Mapping[str, str]]] = {
    "envs": list_envs,
    "methods": list_methods,
    "studies": list_studies,
}


def main(args: list[str], console: Console) -> int:
    command = parse(ListCommand, args, "list")
    if command.what not in LISTS:
        raise UserError(unknown_name("curiax list", command.what, LISTS))
    table = LISTS[command.what](console)
    width = max(map(len, table))
    for name, about in table.items():
        console.print(f"{name:{width}}  {about}", highlight=False)
    return 0

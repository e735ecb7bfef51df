"""`curiax report`: a page, a figure and tables."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import tyro
from rich.console import Console

from curiax.commands.parsing import Imports, parse
from curiax.training.cache import use_compilation_cache


@dataclass(frozen=True)
class ReportCommand:
    """Write a page, figures and tables of a study, of several runs or of one, also while they train."""

    directory: Annotated[Path, tyro.conf.Positional]
    """directory of the study or the runs"""
    out: Path | None = None
    """directory of the report (default: DIRECTORY/report)"""
    films: bool = True
    """film a typical episode of each agent, played with its newest policy"""
    against: str | None = None
    """method that the others are compared with over all worlds (default: the first of the study)"""
    json: Path | None = None
    """also write the scores here, in the shapes that rliable and marl-eval read"""
    imports: Annotated[Imports, tyro.conf.arg(name="")] = Imports()  # noqa: RUF009 — frozen


def main(args: list[str], console: Console) -> int:
    command = parse(ReportCommand, args, "report")
    from curiax.report.write import write_report

    use_compilation_cache()
    out = command.out or command.directory / "report"

    def tell(text: str) -> None:
        console.print(text, markup=False)

    page = write_report(command.directory, out, command.films, tell, command.against, command.json)
    console.print(f"open {page}", markup=False)
    return 0

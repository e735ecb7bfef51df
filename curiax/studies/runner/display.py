"""Progress of a study: a live table of its runs on a terminal, plain lines elsewhere."""

import math
import time
from typing import NamedTuple

from rich.console import Console, Group
from rich.live import Live
from rich.table import Table
from rich.text import Text

from curiax.studies.runner.launch import State
from curiax.studies.runner.progress import Progress, duration, seconds_left

PLAIN_INTERVAL = 60.0  # seconds between lines about a run, without a terminal
URGENCY = ("failed", "lost", "running", "stopped", "held", "waiting", "done")  # rows in this order if not all fit
STYLES = {
    "failed": "red",
    "lost": "yellow",
    "running": "green",
    "stopped": "yellow",
    "held": "yellow",
    "waiting": "dim",
    "done": "dim",
}


class Line(NamedTuple):
    """A row of the table."""

    name: str
    state: State
    progress: Progress


class Display:
    def __init__(self, console: Console):
        self._console = console
        self._live = Live(console=console, auto_refresh=False, transient=True) if console.is_terminal else None
        self._kinds: dict[str, str] = {}
        self._spoke = time.monotonic()

    def __enter__(self) -> "Display":
        if self._live is not None:
            self._live.start()
        return self

    def __exit__(self, *_: object) -> None:
        if self._live is not None:
            self._live.stop()

    def show(self, lines: list[Line], left: float, stopping: bool) -> None:
        if self._live is not None:
            self._live.update(picture(lines, left, stopping, self._console.height), refresh=True)
            return
        due = time.monotonic() - self._spoke >= PLAIN_INTERVAL
        for line in lines:
            changed = self._kinds.get(line.name) != line.state.kind
            if (changed and line.state.kind != "waiting") or (due and line.state.kind == "running"):
                self._print(plain(line))
            self._kinds[line.name] = line.state.kind
        if due:
            self._spoke = time.monotonic()
            self._print(summary(lines, left, stopping))

    def _print(self, text: str) -> None:
        self._console.print(text, highlight=False, markup=False)


def picture(lines: list[Line], left: float, stopping: bool, height: int) -> Group:
    """The table, the reasons of failures, and a summary. If not all rows fit, the most urgent are shown."""
    troubled = [line for line in lines if line.state.reason]
    notes = [
        Text(f"{line.name}: {line.state.reason}", style=STYLES[line.state.kind], no_wrap=True) for line in troubled
    ]
    room = max(height - 4 - len(notes), 3)  # without header, summary and the cursor's line
    kept = lines
    if len(lines) > room:
        urgent = sorted(lines, key=lambda line: URGENCY.index(line.state.kind))[: room - 1]
        kept = [line for line in lines if line in urgent]
        notes.insert(0, Text(f"… and {len(lines) - len(kept)} more", style="dim"))
    table = Table(box=None, pad_edge=False, padding=(0, 1, 0, 0))
    shown = list(dict.fromkeys(title for line in lines for title in line.progress.shown))
    for title in ("run", "state", "steps", *shown, "steps/s", "left"):
        justify = "left" if title in ("run", "state") else "right"
        table.add_column(title.replace(" ", "\n"), justify=justify, no_wrap=True)
    for line in kept:
        known = cells(line)
        row = [known.get(title, "") for title in ("state", "progress", *shown, "steps/s", "left")]
        table.add_row(line.name, *row, style=STYLES[line.state.kind])
    return Group(table, *notes, Text(summary(lines, left, stopping), style="bold"))


def cells(line: Line) -> dict[str, str]:
    """The cells of a row by title; "" if not known."""
    run, running = line.progress, line.state.kind == "running"
    begun = run.env_steps > 0
    return {
        "state": f"{line.state.kind} on {line.state.machine}" if line.state.machine else line.state.kind,
        "progress": f"{run.share:.0%}" if begun else "",
        **{title: "" if math.isnan(value) else f"{value:.2f}" for title, value in run.shown.items()},
        "steps/s": f"{run.speed.steps_per_second:,.0f}" if running and run.speed else "",
        "left": duration(seconds_left(run, run.speed)) if running and run.speed else "",
    }


def plain(line: Line) -> str:
    if line.state.reason:
        return f"{line.name}: {line.state.kind}: {line.state.reason}"
    known = {title: text for title, text in cells(line).items() if text}
    parts = [known.pop("state"), known.pop("progress", "")]
    parts += [f"{text} {title}" if title in ("steps/s", "left") else f"{title} {text}" for title, text in known.items()]
    return f"{line.name}: " + "  ".join(filter(None, parts))


def summary(lines: list[Line], left: float, stopping: bool) -> str:
    kinds = [line.state.kind for line in lines]
    counts = [
        f"{kinds.count(kind)} {kind}" for kind in ("running", "lost", "held", "waiting", "failed") if kind in kinds
    ]
    done = f"{kinds.count('done')} of {len(lines)} runs done"
    ending = "stopping; Ctrl-C again to end at once" if stopping else f"{duration(left)} left"
    return ", ".join([done, *counts, ending])

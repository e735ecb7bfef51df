"""Progress of a long computation: a bar on a terminal, otherwise a line every few seconds."""

import time

from rich.console import Console
from rich.progress import BarColumn, Progress, Task, TextColumn, TimeElapsedColumn, TimeRemainingColumn
from rich.text import Text

PLAIN_INTERVAL = 10.0  # seconds between lines, if the output is not a terminal
SPEED_PERIOD = 600.0  # seconds over which the bar averages; one update of the paper's networks may take a minute
COMPILING = "compiling …"


class Clock(TimeRemainingColumn):
    """The time that is left; before that is known, the time since the start."""

    def render(self, task: Task) -> Text:
        return TimeElapsedColumn().render(task) if task.speed is None else super().render(task)


class ProgressLine:
    """Shows a text and the fraction that is done."""

    def __init__(self, console: Console, total: int, first_at_once: bool = False):
        """`first_at_once`: if the output is not a terminal, say that it compiles, and print the first line at once."""
        self._console, self._total, self._first_at_once = console, total, first_at_once
        self._spoke = time.perf_counter()
        columns = (BarColumn(bar_width=20), TextColumn("{task.description}"), Clock(compact=True))
        bar = Progress(*columns, console=console, speed_estimate_period=SPEED_PERIOD)
        self._bar = bar if console.is_terminal else None

    def __enter__(self) -> "ProgressLine":
        if self._bar is not None:
            self._bar.start()
            self._task = self._bar.add_task(COMPILING, total=self._total)
        elif self._first_at_once:
            self._console.print(COMPILING)
        return self

    def __exit__(self, *_: object) -> None:
        if self._bar is not None:
            self._bar.stop()

    def begin(self, completed: int) -> None:
        """What was completed before: it does not count as progress."""
        if self._bar is not None:
            self._bar.tasks[0].completed = completed  # `Progress.update` would count it

    def show(self, completed: int, text: str) -> None:
        self._show(completed, text, self._first_at_once)
        self._first_at_once = False

    def show_within(self, completed: int, text: str) -> None:
        """The same, but never printed at once."""
        self._show(completed, text, False)

    def _show(self, completed: int, text: str, at_once: bool) -> None:
        if self._bar is not None:
            self._bar.update(self._task, completed=completed, description=text)
        elif at_once or time.perf_counter() - self._spoke >= PLAIN_INTERVAL:
            self._spoke = time.perf_counter()
            self._console.print(text)

"""Progress of a long computation: a bar on a terminal, otherwise a line every few seconds."""

import time

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

PLAIN_INTERVAL = 10.0  # seconds between lines, if the output is not a terminal


class ProgressLine:
    """Shows a text and the fraction that is done."""

    def __init__(self, console: Console, total: int, first_at_once: bool = False):
        """`first_at_once`: print the first line at once, if the output is not a terminal."""
        self._console, self._total = console, total
        self._spoke = float("-inf") if first_at_once else time.perf_counter()
        columns = (BarColumn(bar_width=20), TextColumn("{task.description}"), TimeRemainingColumn(compact=True))
        self._bar = Progress(*columns, console=console) if console.is_terminal else None

    def __enter__(self) -> "ProgressLine":
        if self._bar is not None:
            self._bar.start()
            self._task = self._bar.add_task("compiling …", total=self._total)
        return self

    def __exit__(self, *_: object) -> None:
        if self._bar is not None:
            self._bar.stop()

    def show(self, completed: int, text: str) -> None:
        if self._bar is not None:
            self._bar.update(self._task, completed=completed, description=text)
        elif time.perf_counter() - self._spoke >= PLAIN_INTERVAL:
            self._spoke = time.perf_counter()
            self._console.print(text)

"""Ctrl-C and SIGTERM ask a program to save and stop."""

import signal
from collections.abc import Iterator
from contextlib import contextmanager


class Stop:
    """Holds the number of the signal that came, or None. After it, Ctrl-C raises KeyboardInterrupt again."""

    def __init__(self) -> None:
        self.signal: int | None = None

    def __call__(self, signal_number: int, frame: object) -> None:
        self.signal = signal_number
        signal.signal(signal.SIGINT, signal.default_int_handler)


@contextmanager
def polite_stop() -> Iterator[Stop]:
    """Catches both signals inside the block."""
    stop = Stop()
    before = {number: signal.signal(number, stop) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield stop
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)

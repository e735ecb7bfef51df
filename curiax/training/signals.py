"""Ctrl-C and SIGTERM, also while XLA compiles or runs a long program.

Python runs the handler of a signal between two instructions of the main thread, so not while that is inside XLA. But
the number of the signal is written to a socket at once, and a thread reads it there.
"""

import contextlib
import multiprocessing
import os
import signal
import socket
import sys
import threading
from collections.abc import Callable, Iterator
from typing import Any, NoReturn

from curiax.training.witness import INTERRUPTED

NUMBERS = (signal.SIGINT, signal.SIGTERM)
GRACE = 3.0  # seconds that the main thread has to end after a KeyboardInterrupt
STOPPING = "stopping, and saving first; Ctrl-C again to end at once"

stopping = threading.Event()  # set when a program saves and stops: the next signal would end it at once


class Stop:
    """Holds the number of the signal that came, or None."""

    def __init__(self) -> None:
        self.signal: int | None = None
        self._acknowledged = threading.Event()

    def wait_for_line(self) -> None:
        """Waits until the line that acknowledges the signal is printed, so that later lines come after it."""
        if self.signal is not None:
            self._acknowledged.wait(timeout=1.0)


@contextlib.contextmanager
def polite_stop(say: Callable[[str], None]) -> Iterator[Stop]:
    """Catches both signals inside the block: `say` acknowledges the first one, the second one ends the process.

    To end it, KeyboardInterrupt(NUMBER) is raised. If the block has not ended after GRACE seconds, the process exits.
    """
    stop = Stop()

    def acknowledge() -> None:
        stopping.set()
        with contextlib.suppress(OSError, ValueError, SystemExit):  # the output is closed
            say(STOPPING)
        stop._acknowledged.set()

    stopping.clear()
    with _caught(stop, acknowledge):
        yield stop


@contextlib.contextmanager
def prompt_stop() -> Iterator[Stop]:
    """The same, but the first signal ends the process."""
    stop = Stop()
    with _caught(stop, None):
        yield stop


@contextlib.contextmanager
def _caught(stop: Stop, acknowledge: Callable[[], None] | None) -> Iterator[None]:
    if threading.current_thread() is not threading.main_thread():  # only the main thread may set handlers
        yield
        return

    def handle(number: int, frame: object) -> None:
        first, stop.signal = stop.signal is None, number
        if not first or acknowledge is None:
            raise KeyboardInterrupt(number)

    def swallowed(unraisable: Any) -> None:
        """Ends the process if code that cannot raise, such as a finaliser, has lost the KeyboardInterrupt."""
        if isinstance(unraisable.exc_value, KeyboardInterrupt) and stop.signal is not None:
            end(stop.signal)
        hook(unraisable)

    hook, sys.unraisablehook = sys.unraisablehook, swallowed
    reader, writer = socket.socketpair()
    writer.setblocking(False)
    wakeup = signal.set_wakeup_fd(writer.fileno(), warn_on_full_buffer=False)
    before = {number: signal.signal(number, handle) for number in NUMBERS}
    watcher = threading.Thread(target=_watch, args=(reader, acknowledge), name="signals", daemon=True)
    watcher.start()
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
        signal.set_wakeup_fd(wakeup)
        if sys.unraisablehook is swallowed:  # else a later hook calls this one
            sys.unraisablehook = hook
        writer.close()
        watcher.join(timeout=1.0)
        reader.close()


def _watch(reader: socket.socket, acknowledge: Callable[[], None] | None) -> None:
    """Acknowledges the first signal, and ends the process if the main thread does not after the next one."""
    signals = _received(reader)
    number = next(signals, None)
    if number is not None and acknowledge is not None:
        acknowledge()
        number = next(signals, None)
    if number is None:  # the block has ended
        return
    reader.settimeout(GRACE)
    with contextlib.suppress(TimeoutError):
        if next(signals, None) is None:
            return
    end(number)


def _received(reader: socket.socket) -> Iterator[int]:
    """The numbers of the signals, until the other end of the socket is closed."""
    with contextlib.suppress(ConnectionError):
        while byte := reader.recv(1):
            if byte[0] in NUMBERS:
                yield byte[0]


def end(number: int) -> NoReturn:
    """Exits after a signal, at once: the clean-up of Python and JAX may wait minutes for a running program.

    Child processes are ended too, and the cursor is shown again, which a progress bar hides.
    """
    for child in multiprocessing.active_children():
        child.kill()
    terminal, errors = sys.__stdout__, sys.__stderr__  # a progress bar replaces sys.stdout and sys.stderr
    with contextlib.suppress(OSError, ValueError):  # closed
        if terminal is not None:
            terminal.write("\x1b[?25h\n" if terminal.isatty() else "")
            terminal.flush()
    with contextlib.suppress(OSError, ValueError):
        print(f"curiax: {INTERRUPTED}", file=errors, flush=True)
    os._exit(128 + number)

"""A pseudo-terminal that runs a program, takes keys and shows its screen."""

import contextlib
import fcntl
import os
import re
import select
import struct
import subprocess
import termios
import time
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[2]
ROWS, COLUMNS = 24, 80
UP, DOWN, RIGHT, LEFT = (b"\x1bO" + letter for letter in (b"A", b"B", b"C", b"D"))
PATIENCE = 120  # seconds; a busy machine is slow to start a program


class Terminal(NamedTuple):
    process: subprocess.Popen
    controller: int  # the test's end of the pseudo-terminal
    device: int  # the program's
    output: bytearray  # all that the program has written
    modes: list  # of the terminal before the program ran


@contextlib.contextmanager
def terminal(*command, rows=ROWS, columns=COLUMNS, term="xterm-256color"):
    """Runs a program in a terminal of its own."""
    controller, device = os.openpty()
    fcntl.ioctl(device, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
    env = {name: value for name, value in os.environ.items() if name not in ("LINES", "COLUMNS")} | {"TERM": term}
    modes = termios.tcgetattr(device)
    # No `pty.fork`: forking a process in which JAX has threads is asking for a deadlock.
    process = subprocess.Popen(
        command, stdin=device, stdout=device, stderr=device, env=env, cwd=ROOT, start_new_session=True
    )
    try:
        yield Terminal(process, controller, device, bytearray(), modes)
    finally:
        process.kill()
        process.wait()
        os.close(controller)
        os.close(device)


def read(pty, seconds):
    """Takes what the program has written; false if it writes nothing for so long."""
    ready, _, _ = select.select([pty.controller], [], [], seconds)
    if ready:
        pty.output.extend(os.read(pty.controller, 65536))
    return bool(ready)


def see(pty, *texts):
    """Waits until all the texts are on the screen, and gives its lines."""
    deadline = time.monotonic() + PATIENCE
    while not all(text in "\n".join(screen(bytes(pty.output))) for text in texts):
        assert time.monotonic() < deadline, f"no {texts} in\n" + "\n".join(screen(bytes(pty.output)))
        read(pty, 0.1)
    return screen(bytes(pty.output))


def press(pty, keys, *texts):
    """Presses keys, waits for the texts they should lead to, and gives the lines of the screen."""
    os.write(pty.controller, keys)
    return see(pty, *texts)


def leave(pty):
    """Waits for the program's end and gives its exit code; by then the terminal must be as it was."""
    deadline = time.monotonic() + PATIENCE
    while pty.process.poll() is None or read(pty, 0):
        assert time.monotonic() < deadline, "the program does not end"
        read(pty, 0.1)
    assert termios.tcgetattr(pty.device) == pty.modes
    return pty.process.returncode


def left_the_screen(pty):
    """Has the program given back the screen and the cursor it took?"""
    entered, cursor_hidden = pty.output.rfind(b"\x1b[?1049h"), pty.output.rfind(b"\x1b[?25l")
    return 0 <= entered < pty.output.rfind(b"\x1b[?1049l") and 0 <= cursor_hidden < pty.output.rfind(b"\x1b[?25h")


TOKEN = re.compile(r"\x1b\[[?>]?([\d;]*)([a-zA-Z@])|\x1b[()][0AB]|\x1b[=>78]|(.)", re.DOTALL)
PARTIAL = re.compile(r"\x1b[\[()]?[?>]?[\d;]*$")  # a sequence of which the rest has not been read yet


def screen(output):
    """The lines of an xterm to which `output` was written; raises at what it does not know."""
    lines = [[" "] * COLUMNS for _ in range(ROWS)]
    row = column = 0
    for token in TOKEN.finditer(PARTIAL.sub("", output.decode())):
        numbers, command, text = token.groups()
        first, *rest = [int(number or 0) for number in (numbers or "").split(";")]
        count = max(first, 1)
        match f"CSI {command}" if command else text:
            case None | "CSI m" | "CSI h" | "CSI l" | "CSI r" | "CSI t":  # colours and modes
                pass
            case "\r":
                column = 0
            case "\n":
                row = min(row + 1, ROWS - 1)
            case "\b":
                column -= 1
            case "CSI H":
                row, column = count - 1, max([*rest, 1][0], 1) - 1
            case "CSI d":
                row = count - 1
            case "CSI G":
                column = count - 1
            case "CSI A" | "CSI B":
                row += count if command == "B" else -count
            case "CSI C" | "CSI D":
                column += count if command == "C" else -count
            case "CSI J":
                lines[row][column:] = [" "] * (COLUMNS - column)
                lines[row + 1 :] = [[" "] * COLUMNS for _ in lines[row + 1 :]]
            case "CSI K":
                erased = slice(0, column + 1) if first == 1 else slice(column, COLUMNS)
                lines[row][erased] = [" "] * len(lines[row][erased])
            case "CSI X":
                lines[row][column : column + count] = [" "] * count
            case "CSI b":
                lines[row][column : column + count] = [lines[row][column - 1]] * count
                column += count
            case _:
                assert text and text.isprintable(), f"unknown to this terminal: {token.group()!r}"
                lines[row][column] = text
                column += 1
    return ["".join(line) for line in lines]

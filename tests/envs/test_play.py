"""The player's program, driven by keys in a real pseudo-terminal and read off its screen."""

import itertools
import os
import subprocess
import sys

import numpy as np
import pytest

from curiax.envs import maze
from curiax.envs.maze import play
from tests.support.terminal import DOWN, LEFT, RIGHT, ROOT, UP, leave, left_the_screen, press, see, terminal

pytestmark = pytest.mark.slow

# `curiax play`, which takes the pseudo-terminal for its own so that Ctrl-C reaches it.
PROGRAM = """
import fcntl, sys, termios
from curiax.commands.cli import main
if sys.stdin.isatty():
    fcntl.ioctl(0, termios.TIOCSCTTY, 0)
if sys.argv[2:] == ["broken"]:
    from curiax.envs.maze.pycolab import PycolabMaze
    PycolabMaze.step = None
sys.exit(main(["play", sys.argv[1]]))
"""
COMMAND = [sys.executable, "-c", PROGRAM]
LAYOUT = maze.parse(maze.MAP)
MAP_COLUMNS = 2 * LAYOUT.wall.shape[1]


def cell_of(lines, glyph):
    """Row and column on the map of the only cell drawn so."""
    found = [
        (row, column)
        for row, column in np.ndindex(LAYOUT.wall.shape)
        if lines[play.MAP_TOP + row][2 * column : 2 * column + 2] == glyph
    ]
    assert len(found) == 1, "\n".join(lines)
    return found[0]


def panel(lines, title):
    """The 5×5 cells below a title."""
    top = next(row for row, line in enumerate(lines) if line[MAP_COLUMNS:].strip() == title) + 1
    left = MAP_COLUMNS + play.GAP
    return [[line[left + 2 * i : left + 2 * i + 2] for i in range(maze.VIEW)] for line in lines[top : top + maze.VIEW]]


def test_keys_move_the_agent_and_q_leaves_the_terminal_as_it_was():
    with terminal(*COMMAND, "maze/baseline") as pty:
        lines = see(pty, "maze/baseline", "step 0 of 500", "episode 1", "trackers -- -- -- --", "q: quit")
        row, column = LAYOUT.start
        assert cell_of(lines, " @") == (row, column)
        for i, name in enumerate(("V1", "V2", "H1", "H2")):
            assert cell_of(lines, name) == tuple(LAYOUT.doorways[i, 1])
        assert sum(line[:MAP_COLUMNS].count("$") for line in lines) == 2
        moves = [(LEFT, 0, -1), (DOWN, 1, 0), (RIGHT, 0, 1), (UP, -1, 0)]
        moves += [(b"a", 0, -1), (b"s", 1, 0), (b"d", 0, 1), (b"w", -1, 0), (b" ", 0, 0)]
        for count, (key, down, right) in enumerate(moves, start=1):
            row, column = row + down, column + right
            lines = press(pty, key, f"step {count} of 500")
            assert cell_of(lines, " @") == (row, column)
        lines = press(pty, RIGHT + b"x", "step 10 of 500")  # into the wall; x is no key
        assert cell_of(lines, " @") == (row, column)
        assert panel(lines, "view")[2] == [" .", " .", " @", "  ", "  "]  # the wall to the right is drawn in blanks
        lines = press(pty, 8 * LEFT, "step 18 of 500", "trackers R1 -- -- --")  # past V1, which bars the row below
        os.write(pty.controller, b"q")
        assert leave(pty) == 0
        assert left_the_screen(pty)


def test_staying_shows_the_noise_of_the_seed_in_its_panel():
    expected = [noise.pixels for noise in itertools.islice(play.noises("on-demand", 0), 3)]
    with terminal(*COMMAND, "maze/on-demand") as pty:
        assert panel(see(pty, "step 0 of 500"), "noise") == [[" ."] * 5] * 5
        shown = panel(press(pty, b" ", "step 1 of 500"), "noise")
        np.testing.assert_array_equal(np.array(shown) == "  ", expected[1])
        assert panel(press(pty, LEFT, "step 2 of 500"), "noise") == [[" ."] * 5] * 5


def test_an_episode_ends_at_its_time_limit_and_the_next_starts():
    with terminal(*COMMAND, "maze/brownian") as pty:
        see(pty, "step 0 of 500")
        press(pty, b"a" + b" " * 499, "step 500 of 500", "episode 1", "over")
        lines = press(pty, LEFT, "step 0 of 500", "episode 2")
        assert cell_of(lines, " @") == tuple(LAYOUT.start)
        assert "over" not in "\n".join(lines)


def test_ctrl_c_leaves_the_terminal_as_it_was():
    with terminal(*COMMAND, "maze/baseline") as pty:
        press(pty, b"", "step 0 of 500")
        os.write(pty.controller, b"\x03")
        assert leave(pty) == 0
        assert left_the_screen(pty)


def test_an_error_leaves_the_terminal_as_it_was():
    with terminal(*COMMAND, "maze/baseline", "broken") as pty:
        see(pty, "step 0 of 500")
        os.write(pty.controller, b" ")
        assert leave(pty) == 1
        assert left_the_screen(pty)
        assert b"TypeError" in pty.output[pty.output.rfind(b"\x1b[?1049l") :]


@pytest.mark.parametrize(
    ("arguments", "options", "message"),
    [
        (["maze/baseline"], {"rows": 20}, "play needs a terminal of 73 columns and 23 rows; this one has 80 and 20"),
        (["maze/baseline"], {"columns": 60}, "play needs a terminal of 73 columns and 23 rows; this one has 60 and 24"),
        (["maze/baseline"], {"term": "dumb"}, "play cannot draw on the terminal TERM=dumb"),
        (["maze/baseline"], {"term": "nonesuch"}, "play does not know the terminal TERM=nonesuch"),
        (["maze/browian"], {}, "environment maze/browian: unknown. Did you mean maze/brownian?"),
    ],
)
def test_a_mistake_gets_one_clear_line(arguments, options, message):
    with terminal(*COMMAND, *arguments, **options) as pty:
        assert leave(pty) == 2
        (line,) = pty.output.decode().splitlines()
        assert message in line


def test_without_a_terminal_there_is_one_clear_line():
    command = [*COMMAND, "maze/baseline"]
    done = subprocess.run(command, cwd=ROOT, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == "curiax: play needs a terminal: run it without pipes or redirection\n"

"""Play the maze in the terminal, on the Pycolab twin."""

import contextlib
import curses
import itertools
import os
import shutil
import sys
from collections.abc import Iterator
from typing import NamedTuple

import jax
import numpy as np

from curiax.envs import maze
from curiax.envs.maze import pycolab
from curiax.envs.table import MAZE
from curiax.errors import UserError, unknown_name

QUIT = ord("q")
CTRL_C = 3
HANG_UP = -1  # what curses reads when the terminal is closed
KEYS = {
    ord(" "): 0,
    **dict(zip((curses.KEY_UP, curses.KEY_DOWN, curses.KEY_LEFT, curses.KEY_RIGHT), range(1, 5), strict=True)),
    **dict(zip(map(ord, "wsad"), range(1, 5), strict=True)),
}
STYLES = {  # colour (-1 is the terminal's own) and attribute
    "plain": (-1, curses.A_NORMAL),
    "faint": (-1, curses.A_DIM),
    "wall": (curses.COLOR_BLUE, curses.A_REVERSE),
    "agent": (curses.COLOR_GREEN, curses.A_BOLD),
    "block": (curses.COLOR_RED, curses.A_BOLD),
    "coin": (curses.COLOR_YELLOW, curses.A_BOLD),
    "touched": (curses.COLOR_GREEN, curses.A_NORMAL),
    "noise": (curses.COLOR_MAGENTA, curses.A_REVERSE),
}
# A cell is two characters wide, which makes it about square.
ON_MAP = {
    pycolab.WALL: ("  ", "wall"),
    pycolab.AGENT: (" @", "agent"),
    pycolab.COIN: (" $", "coin"),
    **{letter: (name, "block") for letter, name in zip(pycolab.BLOCKS, ("V1", "V2", "H1", "H2"), strict=True)},
}
IN_VIEW = {  # in order of priority: the first that is present is drawn
    "agent": (" @", "agent"),
    "vertical block": (" V", "block"),
    "horizontal block": (" H", "block"),
    "coin": (" $", "coin"),
    "wall": ("  ", "wall"),
}
MAP_TOP = 3
GAP, PANEL_WIDTH, PANEL_HEIGHT = 3, 20, 18


class Moment(NamedTuple):
    """The state of the game as it is drawn."""

    board: np.ndarray  # of the Pycolab engine
    obs: np.ndarray
    trackers: tuple[bool, ...] = (False,) * 4
    num_steps: int = 0
    episode: int = 1


class Piece(NamedTuple):
    """Text at a position on the screen."""

    row: int
    column: int
    text: str
    style: str = "plain"


def play(setting_name: str, seed: int) -> None:
    """Plays until `q`; the seed determines the noise."""
    name = setting_name.removeprefix("maze/")
    if name not in maze.SETTINGS:
        raise UserError(unknown_name("maze", name, maze.SETTINGS))
    twin = pycolab.PycolabMaze(maze.SETTINGS[name])
    check_terminal(*twin.layout.wall.shape)
    noise = noises(name, seed)
    moment = begin(twin, next(noise), episode=1)  # compiles, so before curses takes the screen
    with contextlib.suppress(KeyboardInterrupt):  # Ctrl-C is another way to leave
        curses.wrapper(walk, name, twin, noise, moment)


def check_terminal(map_rows: int, map_columns: int) -> None:
    """Raises a UserError if the map cannot be drawn in this terminal."""
    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        raise UserError("play needs a terminal: run it without pipes or redirection")
    try:
        curses.setupterm()
    except curses.error:
        raise UserError(f"play does not know the terminal TERM={os.environ.get('TERM', '')}") from None
    if curses.tigetstr("cup") is None:
        raise UserError(f"play cannot draw on the terminal TERM={os.environ.get('TERM', '')}")
    rows, columns = MAP_TOP + max(map_rows, PANEL_HEIGHT) + 2, 2 * map_columns + GAP + PANEL_WIDTH
    here = shutil.get_terminal_size()
    if here.lines < rows or here.columns < columns:
        raise UserError(
            f"play needs a terminal of {columns} columns and {rows} rows; this one has {here.columns} and {here.lines}"
        )


def noises(name: str, seed: int) -> Iterator[maze.Noise]:
    """The noise of successive steps."""
    draw_noise = jax.jit(maze.make(name).draw)
    key = jax.random.key(seed)
    for count in itertools.count():
        yield jax.tree.map(np.asarray, draw_noise(jax.random.fold_in(key, count)))


def begin(twin: pycolab.PycolabMaze, noise: maze.Noise, episode: int) -> Moment:
    obs = twin.reset(noise)
    return Moment(twin.board, obs, episode=episode)


def advance(twin: pycolab.PycolabMaze, moment: Moment, action: int, noise: maze.Noise) -> Moment:
    """The game after one step. After an episode's last step comes the start of the next, as in `base.stream_step`."""
    if moment.num_steps == maze.TIME_LIMIT:
        return begin(twin, noise, moment.episode + 1)
    step = twin.step(action, noise)
    trackers = tuple(bool(step.episode[f"tracker_{i}"]) for i in range(1, 5))
    return Moment(twin.board, step.obs, trackers, moment.num_steps + 1, moment.episode)


def walk(
    screen: curses.window, name: str, twin: pycolab.PycolabMaze, noise: Iterator[maze.Noise], moment: Moment
) -> None:
    """Draws and reads keys until `q`."""
    curses.raw()  # read Ctrl-C as a key: as an exception it can get lost in a JAX callback
    attributes = make_attributes()
    with contextlib.suppress(curses.error):  # not every terminal can hide its cursor
        curses.curs_set(0)
    frame = list(frame_pieces(name, len(moment.board)))
    while True:
        draw(screen, attributes, [*frame, *map_pieces(twin.layout, moment), *panel_pieces(moment)])
        key = screen.getch()
        if key in (QUIT, CTRL_C, HANG_UP):
            return
        if key in KEYS:
            moment = advance(twin, moment, KEYS[key], next(noise))


def make_attributes() -> dict[str, int]:
    """The curses attribute of each style on this terminal."""
    if not curses.has_colors():
        return {style: attribute for style, (_, attribute) in STYLES.items()}
    curses.use_default_colors()
    for pair, (color, _) in enumerate(STYLES.values(), start=1):
        curses.init_pair(pair, color, -1)
    return {style: curses.color_pair(pair) | STYLES[style][1] for pair, style in enumerate(STYLES, start=1)}


def draw(screen: curses.window, attributes: dict[str, int], pieces: list[Piece]) -> None:
    """Redraws the screen. Curses sends only what has changed, so nothing flickers."""
    screen.erase()
    _, columns = screen.getmaxyx()
    for piece in pieces:
        with contextlib.suppress(curses.error):  # the terminal has been made smaller: draw what fits
            screen.addnstr(piece.row, piece.column, piece.text, columns - piece.column, attributes[piece.style])
    screen.refresh()


def frame_pieces(name: str, map_rows: int) -> Iterator[Piece]:
    yield Piece(0, 0, f"maze/{name}", "agent")
    yield Piece(1, 0, MAZE[name], "faint")
    yield Piece(MAP_TOP + map_rows + 1, 0, "arrows or wasd: move   space: stay   q: quit", "faint")


def map_pieces(layout: maze.Layout, moment: Moment) -> Iterator[Piece]:
    """The whole map. Region numbers are drawn on the floor and change colour when touched."""
    for row, column in layout.doorways.reshape(-1, 2):
        yield Piece(MAP_TOP + row, 2 * column, " :", "faint")
    for row, column in np.argwhere(layout.region):
        region = layout.region[row, column]
        yield Piece(MAP_TOP + row, 2 * column, f" {region}", "touched" if moment.trackers[region - 1] else "faint")
    for row, column in np.argwhere(moment.board != ord(pycolab.FLOOR)):
        yield Piece(MAP_TOP + row, 2 * column, *ON_MAP[chr(moment.board[row, column])])


def panel_pieces(moment: Moment) -> Iterator[Piece]:
    """What the agent sees, and what it has done."""
    left = 2 * moment.board.shape[1] + GAP
    yield Piece(MAP_TOP, left, "view")
    yield Piece(MAP_TOP + maze.VIEW + 2, left, "noise")
    for row, column in np.ndindex(maze.VIEW, maze.VIEW):
        there: dict[str, np.uint8] = dict(zip(maze.LAYERS, moment.obs[row, column], strict=True))
        seen = next((IN_VIEW[thing] for thing in IN_VIEW if there[thing]), (" .", "faint"))
        yield Piece(MAP_TOP + 1 + row, left + 2 * column, *seen)
        pixel = ("  ", "noise") if there["noise"] else (" .", "faint")
        yield Piece(MAP_TOP + maze.VIEW + 3 + row, left + 2 * column, *pixel)
    below = MAP_TOP + 2 * maze.VIEW + 4
    yield Piece(below, left, f"step {moment.num_steps} of {maze.TIME_LIMIT}")
    yield Piece(below + 1, left, f"episode {moment.episode}")
    yield Piece(below + 2, left, "trackers")
    for i, touched in enumerate(moment.trackers):
        yield Piece(below + 2, left + 9 + 3 * i, f"R{i + 1}" if touched else "--", "touched" if touched else "faint")
    if moment.num_steps == maze.TIME_LIMIT:
        yield Piece(below + 3, left, "over: move to go on")

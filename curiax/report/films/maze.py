"""A typical episode of each agent: as data for the page, and two side by side as a GIF."""

from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image, ImageDraw, ImageFont

from curiax.envs import maze
from curiax.errors import UserError
from curiax.report.figure import colours
from curiax.report.maze import BLOCK, COIN, REGIONS, WALL
from curiax.report.read import RunData, Study
from curiax.report.scores import final
from curiax.report.subject import MAZE, subject_of
from curiax.report.words import method_title
from curiax.training.evaluate import Film, film

CELL = 12  # pixels
MARGIN = 14
HEADER = 30
TRACE = 46  # height of the trace of rewards
STRIDE = 2  # steps per frame
FRAME = 50  # milliseconds
INK, FAINT, PAPER = "#20242a", "#c3c8cf", "#ffffff"


def shoot(study: Study, tell: Callable[[str], None]) -> tuple[dict[tuple[str, str], Film], list[str]]:
    """A film of each setting and method, and a note on each that cannot be made."""
    if subject_of(study) != MAZE:
        return {}, ["A film of one agent: curiax evaluate RUN --video film.gif"]
    films, notes = {}, []
    pairs = [(setting, method) for setting in study.settings for method in study.methods]
    runs = {pair: median_run(group) for pair in pairs if (group := study.group(*pair))}
    for number, (pair, run) in enumerate(runs.items(), 1):
        tell(f"film {number} of {len(runs)}: {run.setting}, {method_title(run.method)}, seed {run.seed}")
        try:
            films[pair] = film(run.directory)
        except UserError as error:
            notes.append(f"No film of {method_title(run.method)} in {run.setting}: {error}.")
    return films, notes


def median_run(runs: list[RunData]) -> RunData:
    """The seed in the middle, by score; of two, the lower."""
    ranked = sorted(runs, key=lambda run: np.nan_to_num(final(run, "trackers")))
    return ranked[(len(ranked) - 1) // 2]


def film_payload(shot: Film, encode: Callable[[np.ndarray], str]) -> dict[str, Any]:
    """Typed arrays for the page; a missing coin is 65535."""
    bits = shot.pixels.reshape(len(shot.pixels), -1) @ (1 << np.arange(maze.VIEW**2, dtype=np.uint32))
    trackers = shot.trackers @ (1 << np.arange(4, dtype=np.uint8))
    return {
        "cell": encode(shot.cell.astype(np.uint16)),
        "noise": encode(shot.noise.astype(np.uint8)),
        "pixels": encode(bits.astype(np.uint32)),
        "blocks": encode(shot.blocks.astype(np.uint16)),
        "coins": encode(shot.coins.astype(np.int16).astype(np.uint16)),
        "trackers": encode(trackers.astype(np.uint8)),
        "reward": encode(shot.reward.astype(np.float32)),
    }


def write_gif(path: Path, setting: str, films: dict[str, Film]) -> None:
    """The films of one setting side by side, the reward drawn as it comes."""
    top = max(float(np.quantile(np.concatenate([shot.reward for shot in films.values()]), 0.99)), 1e-6)
    palette = colours(list(films))
    traces = {name: draw_trace(shot, palette[name], top) for name, shot in films.items()}
    num_steps = max(len(shot.cell) for shot in films.values())
    frames = []
    for step in range(0, num_steps, STRIDE):
        panels = [
            draw_panel(shot, min(step, len(shot.cell) - 1), name, palette[name], traces[name])
            for name, shot in films.items()
        ]
        frames.append(beside(panels, f"maze/{setting}   step {step:3d} of {num_steps}"))
    reference = frames[-1].quantize(64, dither=Image.Dither.NONE)  # one palette: no flicker
    frames = [frame.quantize(palette=reference, dither=Image.Dither.NONE) for frame in frames]
    frames[0].save(path, save_all=True, append_images=frames[1:], duration=FRAME, loop=0, optimize=True)


def beside(panels: list[Image.Image], caption: str) -> Image.Image:
    width, height = panels[0].size
    sheet = Image.new("RGB", (len(panels) * (width + MARGIN) + MARGIN, height + 2 * MARGIN + 14), PAPER)
    for index, panel in enumerate(panels):
        sheet.paste(panel, (MARGIN + index * (width + MARGIN), MARGIN))
    ImageDraw.Draw(sheet).text((MARGIN, height + MARGIN + 6), caption, fill="#5b636e", font=ImageFont.load_default(12))
    return sheet


def draw_panel(shot: Film, step: int, method: str, colour: str, trace: Image.Image) -> Image.Image:
    """Name and regions touched, the maze, the reward so far."""
    columns = maze.parse(maze.MAP).wall.shape[1]
    panel = background().copy()
    canvas = ImageDraw.Draw(panel)
    canvas.ellipse((0, 7, 12, 19), fill=colour)
    canvas.text((18, 4), method_title(method), fill=INK, font=ImageFont.load_default(15))
    for number, touched in enumerate(shot.trackers[step]):
        left = columns * CELL - 4 * 30 + 30 * number
        canvas.rounded_rectangle((left + 4, 4, left + 29, 21), 4, fill=INK if touched else "#eceef1")
        canvas.text(
            (left + 9, 6), f"R{number + 1}", fill=PAPER if touched else "#7b838d", font=ImageFont.load_default(11)
        )
    draw_things(canvas, shot, step, colour, columns)
    so_far = (0, 0, (step + 1) * trace.width // len(shot.cell), TRACE)
    panel.paste(trace.crop(so_far), (0, panel.height - TRACE))
    return panel


@cache
def background() -> Image.Image:
    """The empty maze."""
    layout = maze.parse(maze.MAP)
    rows, columns = layout.wall.shape
    panel = Image.new("RGB", (columns * CELL, HEADER + rows * CELL + TRACE), PAPER)
    canvas = ImageDraw.Draw(panel)
    for cell in range(rows * columns):
        row, column = divmod(cell, columns)
        fill = WALL if layout.wall[row, column] else REGIONS[layout.region[row, column]]
        canvas.rectangle(box(cell, columns), fill=fill)
    return panel


def draw_things(canvas: ImageDraw.ImageDraw, shot: Film, step: int, colour: str, columns: int) -> None:
    for coin in shot.coins[step]:
        if coin >= 0:
            canvas.ellipse(box(int(coin), columns, 2), fill=COIN, outline="#8a5f00")
    for block in shot.blocks[step]:
        canvas.rectangle(box(int(block), columns), fill=BLOCK)
    cell, reach = int(shot.cell[step]), maze.VIEW // 2
    for index, on in enumerate(shot.pixels[step].ravel()):
        down, right = divmod(index, maze.VIEW)
        row, column = cell // columns + down - reach, cell % columns + right - reach
        if shot.pixels[step].any() and 0 <= column < columns:
            canvas.rectangle(box(row * columns + column, columns), fill="#111111" if on else "#dddddd")
    canvas.ellipse(box(cell, columns, -2), fill=colour, outline=PAPER, width=2)


def draw_trace(shot: Film, colour: str, top: float) -> Image.Image:
    """Bars of intrinsic reward, and a line under the steps with noise."""
    width, base, height = background().width, TRACE - 6, TRACE - 14
    trace = Image.new("RGB", (width, TRACE), PAPER)
    canvas = ImageDraw.Draw(trace)
    canvas.line((0, base, width, base), fill=FAINT)
    for index, reward in enumerate(shot.reward):
        left = index * width // len(shot.reward)
        tall = round(height * min(float(reward) / top, 1))
        if tall:
            canvas.line((left, base - tall, left, base - 1), fill=colour)
        if shot.noise[index]:
            canvas.line((left, base + 2, left, base + 4), fill=INK)
    return trace


def box(cell: int, columns: int, inset: int = 0) -> tuple[int, int, int, int]:
    """The pixels of a cell."""
    row, column = divmod(cell, columns)
    left, above = column * CELL, HEADER + row * CELL
    return left + inset, above + inset, left + CELL - 1 - inset, above + CELL - 1 - inset

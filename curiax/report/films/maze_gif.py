"""Films of the maze as a GIF: agents side by side, each with its intrinsic reward so far."""

from functools import cache
from pathlib import Path

import numpy as np
from PIL import Image, ImageDraw, ImageFont

from curiax.envs import maze
from curiax.report.figure import colours
from curiax.report.films.maze import Film
from curiax.report.maze import BLOCK, COIN, REGIONS, WALL
from curiax.report.names import method_title

CELL = 12  # pixels
MARGIN = 14
HEADER = 30
TRACE = 46  # height of the plot of rewards
STRIDE = 2  # steps per frame
FRAME = 50  # milliseconds
INK, FAINT, PAPER = "#20242a", "#c3c8cf", "#ffffff"


def write_gif(path: Path, env: str, films: dict[str, Film]) -> None:
    """Writes the films of several methods side by side."""
    top = max(float(np.quantile(np.concatenate([film.reward for film in films.values()]), 0.99)), 1e-6)
    palette = colours(list(films))
    traces = {name: draw_trace(film, palette[name], top) for name, film in films.items()}
    num_steps = max(len(film.cell) for film in films.values())
    frames = []
    for step in range(0, num_steps, STRIDE):
        panels = [
            draw_panel(film, min(step, len(film.cell) - 1), name, palette[name], traces[name])
            for name, film in films.items()
        ]
        frames.append(beside(panels, f"{env}   step {step:3d} of {num_steps}"))
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


def draw_panel(film: Film, step: int, method: str, colour: str, trace: Image.Image) -> Image.Image:
    """The name and the regions touched, the maze, and the reward so far."""
    columns = maze.parse(maze.MAP).wall.shape[1]
    panel = background().copy()
    canvas = ImageDraw.Draw(panel)
    canvas.ellipse((0, 7, 12, 19), fill=colour)
    canvas.text((18, 4), method_title(method), fill=INK, font=ImageFont.load_default(15))
    for number, touched in enumerate(film.trackers[step]):
        left = columns * CELL - 4 * 30 + 30 * number
        canvas.rounded_rectangle((left + 4, 4, left + 29, 21), 4, fill=INK if touched else "#eceef1")
        canvas.text(
            (left + 9, 6), f"R{number + 1}", fill=PAPER if touched else "#7b838d", font=ImageFont.load_default(11)
        )
    draw_things(canvas, film, step, colour, columns)
    so_far = (0, 0, (step + 1) * trace.width // len(film.cell), TRACE)
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


def draw_things(canvas: ImageDraw.ImageDraw, film: Film, step: int, colour: str, columns: int) -> None:
    for coin in film.coins[step]:
        if coin >= 0:
            canvas.ellipse(box(int(coin), columns, 2), fill=COIN, outline="#8a5f00")
    for block in film.blocks[step]:
        canvas.rectangle(box(int(block), columns), fill=BLOCK)
    cell, reach = int(film.cell[step]), maze.VIEW // 2
    for index, on in enumerate(film.pixels[step].ravel()):
        down, right = divmod(index, maze.VIEW)
        row, column = cell // columns + down - reach, cell % columns + right - reach
        if film.pixels[step].any() and 0 <= column < columns:
            canvas.rectangle(box(row * columns + column, columns), fill="#111111" if on else "#dddddd")
    canvas.ellipse(box(cell, columns, -2), fill=colour, outline=PAPER, width=2)


def draw_trace(film: Film, colour: str, top: float) -> Image.Image:
    """Bars of intrinsic reward, and a line under the steps with noise."""
    width, base, height = background().width, TRACE - 6, TRACE - 14
    trace = Image.new("RGB", (width, TRACE), PAPER)
    canvas = ImageDraw.Draw(trace)
    canvas.line((0, base, width, base), fill=FAINT)
    for index, reward in enumerate(film.reward):
        left = index * width // len(film.reward)
        tall = round(height * min(float(reward) / top, 1))
        if tall:
            canvas.line((left, base - tall, left, base - 1), fill=colour)
        if film.noise[index]:
            canvas.line((left, base + 2, left, base + 4), fill=INK)
    return trace


def box(cell: int, columns: int, inset: int = 0) -> tuple[int, int, int, int]:
    """The pixels of a cell."""
    row, column = divmod(cell, columns)
    left, above = column * CELL, HEADER + row * CELL
    return left + inset, above + inset, left + CELL - 1 - inset, above + CELL - 1 - inset

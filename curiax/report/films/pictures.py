"""Films of what the agent sees, where that is a grey picture; below it the intrinsic reward so far."""

from pathlib import Path
from typing import NamedTuple

import jax
import numpy as np
from jaxtyping import Float, PRNGKeyArray, Shaped
from PIL import Image, ImageColor, ImageDraw, ImageFont

from curiax import envs
from curiax.config import Config
from curiax.training.evaluate import judge
from curiax.training.rollout_host import host_actor_init, host_rollout
from curiax.types import LearnerState, Trajectory

NUM_STEPS = 600  # agent steps at most
SIZE = 4  # screen pixels per pixel
GAP = 8  # screen pixels between two films
HEADER, TRACE = 24, 76  # heights of the text above and of the plot of rewards below
BAR, INK, PAPER = "#0072b2", "#20242a", "#ffffff"
FRAME = 60  # milliseconds: four frames of a game that shows 60 a second, and a little less


class Film(NamedTuple):
    """The first n steps of an episode."""

    frames: Shaped[np.ndarray, "n h w"]
    reward: Float[np.ndarray, " n"]  # intrinsic
    returns: Float[np.ndarray, " n"]  # sum of extrinsic rewards so far


def shoot(config: Config, state: LearnerState, seed: int) -> Film:
    """One episode from its start, with the rewards that the learner would compute."""
    key_play, key_score = jax.random.split(jax.random.key(seed))
    env = envs.make_host(config, 1, seed)
    try:
        actor = host_actor_init(env, config.network.belief)
        _, trajectory = host_rollout(env, state.acting, actor, NUM_STEPS, key_play)
    finally:
        env.close()

    @jax.jit
    def score(state: LearnerState, trajectory: Trajectory, key: PRNGKeyArray) -> jax.Array:
        return judge(config, env, state, trajectory, key)[1]

    reward = np.asarray(score(state, trajectory, key_score))[:, 0]
    ends = np.flatnonzero(trajectory.last[1:, 0])
    length = int(ends[0]) + 1 if len(ends) else NUM_STEPS
    returns = np.cumsum(np.asarray(trajectory.reward)[:length, 0])
    return Film(np.asarray(trajectory.obs)[1 : length + 1, 0], reward[:length], returns)


def write_gif(path: Path, env: str, films: dict[str, Film]) -> None:
    """Writes the films of several methods side by side."""
    traces = {name: draw_trace(film.reward, SIZE * film.frames.shape[2]) for name, film in films.items()}
    num_steps, colours = max(len(film.frames) for film in films.values()), palette()
    frames = []
    for step in range(num_steps):
        panels = [
            draw_panel(film, min(step, len(film.frames) - 1), f"{envs.setting_of(env)}  {name}", traces[name])
            for name, film in films.items()
        ]
        frames.append(beside(panels).quantize(palette=colours, dither=Image.Dither.NONE))
    frames[0].save(path, save_all=True, append_images=frames[1:], duration=FRAME, loop=0)


def beside(panels: list[Image.Image]) -> Image.Image:
    width, height = panels[0].size
    sheet = Image.new("RGB", (len(panels) * (width + GAP) - GAP, height), PAPER)
    for index, panel in enumerate(panels):
        sheet.paste(panel, (index * (width + GAP), 0))
    return sheet


def draw_panel(film: Film, step: int, name: str, trace: Image.Image) -> Image.Image:
    """The name and the return above, what the agent sees, and the reward so far below."""
    height, width = (SIZE * side for side in film.frames.shape[1:3])
    panel = Image.new("RGB", (width, HEADER + height + TRACE), PAPER)
    panel.paste(Image.fromarray(film.frames[step]).resize((width, height), Image.Resampling.NEAREST), (0, HEADER))
    canvas, font = ImageDraw.Draw(panel), ImageFont.load_default(13)
    canvas.text((6, 4), name, fill=INK, font=font)
    canvas.text((width - 6, 4), f"return {film.returns[step]:,.0f}", fill=INK, font=font, anchor="ra")
    so_far = (step + 1) * width // len(film.frames)
    panel.paste(trace.crop((0, 0, so_far, TRACE)), (0, HEADER + height))
    canvas.text((6, HEADER + height + 4), "intrinsic reward", fill=INK, font=font)
    words = f"step {step + 1} of {len(film.frames)}"
    canvas.text((width - 6, HEADER + height + 4), words, fill=INK, font=font, anchor="ra")
    return panel


def draw_trace(reward: Float[np.ndarray, " n"], width: int) -> Image.Image:
    """A bar for each step, up to the 99th percentile; the largest if several share a column of pixels."""
    trace = Image.new("RGB", (width, TRACE), PAPER)
    canvas, base, room = ImageDraw.Draw(trace), TRACE - 4, TRACE - 28
    canvas.line((0, base, width, base), fill=INK)
    top = max(float(np.quantile(reward, 0.99)), 1e-6)
    left = np.arange(len(reward) + 1) * width // len(reward)
    for column in range(width):
        first = np.searchsorted(left, column, side="right") - 1
        last = np.searchsorted(left, column + 1, side="left")
        tall = round(room * min(float(reward[first : max(last, first + 1)].max()) / top, 1))
        if tall:
            canvas.line((column, base - tall, column, base - 1), fill=BAR)
    return trace


def palette() -> Image.Image:
    """Greys, and shades from white to the colour of the bars. One palette for all frames avoids flicker."""
    greys = np.repeat(np.linspace(0, 255, 192), 3).reshape(-1, 3)
    blues = np.linspace(ImageColor.getrgb(PAPER), ImageColor.getrgb(BAR), 64)
    image = Image.new("P", (1, 1))
    image.putpalette(np.concatenate([greys, blues]).round().astype(np.uint8).tobytes())
    return image

"""A film of a run on the host: what the agent sees, and under it the intrinsic reward it gets."""

from pathlib import Path
from typing import NamedTuple

import jax
import numpy as np
from jaxtyping import Float, PRNGKeyArray, Shaped
from PIL import Image, ImageColor, ImageDraw, ImageFont

from curiax import envs
from curiax.config import Config
from curiax.errors import UserError
from curiax.training.evaluate import cannot_write, check_place, judge
from curiax.training.rollout_host import host_actor_init, host_rollout
from curiax.types import LearnerState, Trajectory

NUM_STEPS = 600  # agent steps at most
SIZE = 4  # screen pixels to a pixel
HEADER, TRACE = 24, 76  # height of the words above, and of the rewards below
BAR, INK, PAPER = "#0072b2", "#20242a", "#ffffff"
FRAME = 60  # milliseconds: an agent step is four frames of a sixtieth of a second


class HostFilm(NamedTuple):
    """The first n steps of an episode, and the reward of each."""

    name: str
    frames: Shaped[np.ndarray, "n h w"]
    reward: Float[np.ndarray, " n"]  # intrinsic
    returns: Float[np.ndarray, " n"]  # the environment's own, so far


def check_film(config: Config, path: Path) -> None:
    """Says before anything is played why there would be no film."""
    if path.suffix.lower() != ".gif":
        raise UserError(f"--video {path}: its name must end in .gif, the one format there is")
    if config.env.startswith("maze/"):
        raise UserError(f"--video: {config.env} is filmed by `curiax report`")
    if not envs.on_host(config.env) or len(envs.spec_of(config).observation_shape) != 2:
        raise UserError(f"--video: {config.env} has no grey pictures to film")
    check_place("--video", path)


def write_film(config: Config, state: LearnerState, path: Path, seed: int) -> None:
    """An episode of a run's policy, as a GIF."""
    try:
        draw(shoot(config, state, seed), path)
    except OSError as error:
        raise cannot_write("--video", path, error) from None


def shoot(config: Config, state: LearnerState, seed: int) -> HostFilm:
    """One episode from its beginning, scored as the learner would score it; nothing learns."""
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
    name = f"{config.env.partition('/')[2]}  {config.curiosity}"
    return HostFilm(name, np.asarray(trajectory.obs)[1 : length + 1, 0], reward[:length], returns)


def draw(film: HostFilm, path: Path) -> None:
    """The agent's view, its name above and its reward so far below. One palette for all, or the film would flicker."""
    height, width = (SIZE * side for side in film.frames.shape[1:3])
    bars, colours = draw_trace(film.reward, width), palette()
    frames = []
    for step, frame in enumerate(film.frames):
        sheet = Image.new("RGB", (width, HEADER + height + TRACE), PAPER)
        sheet.paste(Image.fromarray(frame).resize((width, height), Image.Resampling.NEAREST), (0, HEADER))
        canvas, font = ImageDraw.Draw(sheet), ImageFont.load_default(13)
        canvas.text((6, 4), film.name, fill=INK, font=font)
        canvas.text((width - 6, 4), f"return {film.returns[step]:,.0f}", fill=INK, font=font, anchor="ra")
        so_far = (step + 1) * width // len(film.frames)
        sheet.paste(bars.crop((0, 0, so_far, TRACE)), (0, HEADER + height))
        canvas.text((6, HEADER + height + 4), "intrinsic reward", fill=INK, font=font)
        words = f"step {step + 1} of {len(film.frames)}"
        canvas.text((width - 6, HEADER + height + 4), words, fill=INK, font=font, anchor="ra")
        frames.append(sheet.quantize(palette=colours, dither=Image.Dither.NONE))
    frames[0].save(path, save_all=True, append_images=frames[1:], duration=FRAME, loop=0)


def draw_trace(reward: Float[np.ndarray, " n"], width: int) -> Image.Image:
    """A bar for each step, up to the 99th percentile; where several share a column, the largest."""
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
    """Greys, and the way from white to the colour of the bars."""
    greys = np.repeat(np.linspace(0, 255, 192), 3).reshape(-1, 3)
    blues = np.linspace(ImageColor.getrgb(PAPER), ImageColor.getrgb(BAR), 64)
    image = Image.new("P", (1, 1))
    image.putpalette(np.concatenate([greys, blues]).round().astype(np.uint8).tobytes())
    return image

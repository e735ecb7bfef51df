"""A film of a run on the host: what the agent sees, and under it the intrinsic reward it gets."""

from pathlib import Path
from typing import NamedTuple

import jax
import numpy as np
from jaxtyping import Float, PRNGKeyArray, Shaped
from PIL import Image, ImageDraw

from curiax import envs
from curiax.collect import host_actor_init, host_rollout
from curiax.config import Config
from curiax.errors import UserError
from curiax.evaluate import judge, load
from curiax.evaluate_host import evaluation_env
from curiax.types import LearnerState, Trajectory

NUM_STEPS = 600  # agent steps at most
SIZE = 3  # screen pixels to a pixel
TRACE = 48  # height of the rewards
FRAME = 60  # milliseconds: an agent step is four frames of a sixtieth of a second


class HostFilm(NamedTuple):
    """The first n steps of an episode, and the reward of each."""

    frames: Shaped[np.ndarray, "n h w"]
    reward: Float[np.ndarray, " n"]


def write_film(directory: Path, path: Path, seed: int) -> None:
    """The newest policy of a run, as a GIF."""
    if path.suffix != ".gif":
        raise UserError(f"--video {path}: its name must end in .gif")
    config, state = load(directory)
    if not envs.on_host(config.env):
        raise UserError(f"--video: {config.env} is filmed by `curiax report`")
    if len(envs.spec_of(config).observation_shape) != 2:
        raise UserError(f"--video: {config.env} has no grey pictures to film")
    try:
        draw(shoot(config, state, seed), path)
    except OSError as error:
        raise UserError(f"--video {path}: cannot be written ({error.strerror or error})") from None


def shoot(config: Config, state: LearnerState, seed: int) -> HostFilm:
    """One episode from its beginning, scored as the learner would score it; nothing learns."""
    key_play, key_score = jax.random.split(jax.random.key(seed))
    env = evaluation_env(config, 1, seed)
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
    return HostFilm(np.asarray(trajectory.obs)[1 : length + 1, 0], reward[:length])


def draw(film: HostFilm, path: Path) -> None:
    top = max(float(np.quantile(film.reward, 0.99)), 1e-6)
    height, width = (SIZE * side for side in film.frames.shape[1:3])
    sheet = Image.new("L", (width, height + TRACE), 255)
    canvas = ImageDraw.Draw(sheet)
    frames = []
    for step, (frame, reward) in enumerate(zip(film.frames, film.reward, strict=True)):
        left = step * width // len(film.reward)
        tall = round((TRACE - 8) * min(float(reward) / top, 1))
        canvas.line((left, height + TRACE - 4 - tall, left, height + TRACE - 4), fill=60)
        sheet.paste(Image.fromarray(frame).resize((width, height), Image.Resampling.NEAREST), (0, 0))
        frames.append(sheet.copy())
    frames[0].save(path, save_all=True, append_images=frames[1:], duration=FRAME, loop=0)

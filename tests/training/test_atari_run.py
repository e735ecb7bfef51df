"""The whole way of a run on a real game: trained, stopped, gone on with, evaluated, filmed."""

import contextlib
import dataclasses
import io
import json
import signal
from typing import NamedTuple

import numpy as np
import pytest
from PIL import Image, ImageSequence

from curiax import envs
from curiax.commands.cli import main
from curiax.commands.program import Display
from curiax.envs import atari
from curiax.envs.atari.human import HUMAN
from curiax.training.run.metrics import read_metrics
from tests.support.programs import train_args
from tests.support.tiny import TINY

pytest.importorskip("envpool")
pytestmark = pytest.mark.slow

GAME = "montezuma_revenge"
LENGTH = 20  # agent steps of an episode, by the limit of frames
NUM_EPISODES = 6
NUM_UPDATES, STOPPED_AT = 6, 3
CONFIG = dataclasses.replace(
    TINY,
    env=f"atari/{GAME}",
    curiosity="byol-explore",  # compiles fastest
    env_steps=NUM_UPDATES * 4 * 8,
    batch_size=4,
    unroll=8,
    log_every=1,
    network=dataclasses.replace(TINY.network, patch=12, channels=(2,)),
)
OPTIONS = ["--curiosity", CONFIG.curiosity, "--world.horizon", "2"]
SCORES = (-100.0, 300.0)  # in place of the game's: in so few steps nobody scores, and 0 of 4753.3 would tell nothing


class Told(NamedTuple):
    """The exit code of a command, and the lines it printed."""

    code: int
    lines: list[str]


class Story(NamedTuple):
    stopped: Told
    resumed: Told
    evaluated: Told
    rows: list[dict[str, float]]  # of metrics
    result: dict
    film: list[np.ndarray]  # its frames
    starts: list[np.ndarray]  # the first observations of all emulators that were started together


def run(*words):
    """A command of the real program."""
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        code = main(list(words))
    return Told(code, out.getvalue().splitlines())


def shorten_episodes(patch):
    """Every episode of a game ends after LENGTH agent steps."""
    frames = 4 * LENGTH

    def make(config, batch_size, seed):
        return atari.make(GAME, batch_size, config.atari, seed, frame_limit=frames)

    patch.setitem(envs.HOSTS, "atari", envs.Host(make, lambda config: atari.spec_of(GAME, config.atari, frames)))


def spy_on_starts(patch):
    """A list that will hold the first observations of the environments that are made."""
    starts, make_host = [], envs.make_host

    def make(config, batch_size, seed):
        env = make_host(config, batch_size, seed)
        return env._replace(reset=lambda: seen(env.reset()))

    def seen(step):
        starts.append(step.obs.copy())
        return step

    patch.setattr(envs, "make_host", make)
    return starts


def show_and_stop(display, num_updates, metrics, show=Display.show):
    """Shows a row; then somebody presses Ctrl-C."""
    show(display, num_updates, metrics)
    if num_updates == STOPPED_AT:
        signal.raise_signal(signal.SIGINT)


@pytest.fixture(scope="module")
def story(tmp_path_factory):
    place = tmp_path_factory.mktemp("atari")
    directory, result, film = place / "run", place / "result.json", place / "film.gif"
    train = train_args(directory, *OPTIONS, config=CONFIG)
    evaluate = ["evaluate", str(directory), "--episodes", str(NUM_EPISODES), "--json", str(result)]
    with pytest.MonkeyPatch.context() as patch:
        shorten_episodes(patch)
        starts = spy_on_starts(patch)
        patch.setattr(Display, "show", show_and_stop)
        patch.setitem(HUMAN, GAME, SCORES)
        told = [run(*train), run(*train), run(*evaluate, "--video", str(film))]
    rows = list(read_metrics(directory / "metrics.csv"))
    with Image.open(film) as gif:
        frames = [np.asarray(frame.convert("L")) for frame in ImageSequence.Iterator(gif)]
    return Story(*told, rows, json.loads(result.read_text()), frames, starts)


def test_a_run_that_was_stopped_goes_on_with_new_episodes_to_the_end(story):
    assert story.stopped.code == 128 + signal.SIGINT
    assert story.stopped.lines[-1] == f"saved at update {STOPPED_AT}; the same command goes on from here"
    assert story.resumed.code == 0
    assert f"going on from update {STOPPED_AT} of {NUM_UPDATES}" in story.resumed.lines
    assert any(line.startswith("new episodes start") for line in story.resumed.lines)
    assert [row["update"] for row in story.rows] == list(range(1, NUM_UPDATES + 1))
    ended = [row["update"] for row in story.rows if np.isfinite(row["return"])]
    assert ended == [3, 6], "20 steps are in the third batch of 8, and once more from the new start"
    assert all(row["rooms_found"] == 1 for row in story.rows)


def test_the_evaluation_says_returns_rooms_and_human_normalised_scores(story):
    code, lines = story.evaluated
    assert code == 0
    assert f"{NUM_EPISODES} episodes, sampled policy, means [95 % interval]" in lines[0]
    assert "return                0.00  [0.00, 0.00]" in lines
    assert "human-normalised      0.25  [0.25, 0.25]" in lines, "0 is a quarter of the way from −100 to 300"
    assert "rooms per episode     1.00  [1.00, 1.00]" in lines
    assert [line[:20].rstrip() for line in lines[-2:]] == ["noise dwell", "policy entropy, nats"]


def test_the_result_is_what_was_said(story):
    result, means = story.result, story.result["means"]
    assert (result["env"], result["curiosity"]) == (CONFIG.env, CONFIG.curiosity)
    assert (result["update"], result["env_steps"]) == (NUM_UPDATES, CONFIG.env_steps)
    assert (result["episodes"], result["evaluation_seed"]) == (NUM_EPISODES, 0)
    assert {name: means[name]["mean"] for name in ("return", "length", "rooms", "level", "noise_dwell")} == {
        "return": 0,
        "length": LENGTH,
        "rooms": 1,
        "level": 0,
        "noise_dwell": 0,
    }
    low, high = SCORES
    assert means["human_normalised"]["mean"] == (means["return"]["mean"] - low) / (high - low)
    assert 0 < means["entropy"]["mean"] <= np.log(18) + 1e-5
    assert f"policy entropy, nats  {means['entropy']['mean']:.2f}" in story.evaluated.lines[-1]


def test_episodes_begin_after_random_no_ops_in_training_and_in_evaluation(story):
    stopped, resumed, evaluated, _ = story.starts
    assert [len(start) for start in story.starts] == [4, 4, NUM_EPISODES, 1]
    for start in (stopped, resumed, evaluated):
        assert len(np.unique(start, axis=0)) > 1
    assert not np.array_equal(resumed, stopped), "a run that goes on meets other chances"


def test_the_film_has_a_frame_for_each_step_of_one_episode(story):
    assert len(story.film) == LENGTH
    assert len({frame.tobytes() for frame in story.film}) == LENGTH

"""Frozen policies on the host: which episodes count, what is said of them, and their film."""

import dataclasses
import itertools
import json

import numpy as np
import pytest
from PIL import Image
from test_collect import SPEC, counter
from test_train import TINY

from curiax import envs, evaluate, host_film
from curiax.cli import main
from curiax.errors import UserError
from curiax.evaluate_host import human_normalised, play_on_host
from curiax.runs import Run
from curiax.train import train

CONFIG = dataclasses.replace(
    TINY,
    env="host/counter",
    curiosity="byol-explore",
    log_every=1,
    network=dataclasses.replace(TINY.network, channels=(2,), patch=4),
)


@pytest.fixture(autouse=True)
def hosts(monkeypatch):
    monkeypatch.setitem(envs.HOSTS, "host", envs.Host(lambda config, size, seed: counter(size)[0], lambda _: SPEC))


@pytest.fixture(scope="module")
def state():
    with pytest.MonkeyPatch.context() as patch:
        host = envs.Host(lambda config, size, seed: counter(size)[0], lambda _: SPEC)
        patch.setitem(envs.HOSTS, "host", host)
        return next(itertools.islice(train(CONFIG), 1)).state


@pytest.fixture
def directory(state, tmp_path):
    run = Run(tmp_path / "run", CONFIG)
    run.save(state)
    run.close()
    return tmp_path / "run"


def test_as_many_whole_episodes_count_as_were_asked_for(state, monkeypatch):
    monkeypatch.setattr("curiax.evaluate_host.MAX_STREAMS", 2)
    found = play_on_host(CONFIG, state.acting, 5, 0)  # three of one stream, two of the other
    assert found["outcome"]["return"].tolist() == [5.0] * 5 and found["noise_dwell"].tolist() == [0.0] * 5
    assert ((found["entropy"] > 0) & (found["entropy"] <= np.log(3) + 1e-6)).all()


def test_human_normalised_is_nought_for_a_random_policy_and_one_for_a_player():
    scores = human_normalised("atari/alien", {"return": np.array([227.8, 7127.7], np.float32)})
    np.testing.assert_allclose(scores["human_normalised"], [0, 1], atol=1e-6)
    assert human_normalised("host/counter", {"return": np.zeros(1)}) == {}


def test_the_command_prints_returns_and_writes_a_film(directory, tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(host_film, "NUM_STEPS", 8)
    film, result = tmp_path / "film.gif", tmp_path / "result.json"
    assert main(["evaluate", str(directory), "--episodes", "2", "--json", str(result), "--video", str(film)]) == 0
    assert "return                5.00  [5.00, 5.00]" in capsys.readouterr().out
    assert json.loads(result.read_text())["means"]["return"]["mean"] == 5
    with Image.open(film) as gif:
        assert gif.size == (80, host_film.HEADER + 80 + host_film.TRACE)
        assert 1 < gif.n_frames <= 5  # the episode's, and none of the next; equal ones may be one


def test_a_film_has_a_frame_and_a_reward_of_each_step_of_the_first_episode(state, monkeypatch):
    monkeypatch.setattr(host_film, "NUM_STEPS", 8)
    film = host_film.shoot(CONFIG, state, 0)
    assert film.frames[:, 0, 0].tolist() == [1, 2, 3, 4, 5]
    assert film.returns.tolist() == [1, 3, 6, 10, 15] and film.name == "counter  byol-explore"
    assert film.reward.shape == (5,) and np.isfinite(film.reward).all() and (film.reward >= 0).all()


@pytest.mark.parametrize(("name", "words"), [("film.mp4", "must end in .gif"), ("none/film.gif", "cannot be written")])
def test_a_film_that_cannot_be_written_is_said_in_one_line(name, words, directory, tmp_path, monkeypatch):
    monkeypatch.setattr(host_film, "NUM_STEPS", 8)
    with pytest.raises(UserError, match=words):
        host_film.write_film(directory, tmp_path / name, 0)


def test_a_maze_and_a_host_are_each_filmed_by_their_own(directory, tmp_path):
    with pytest.raises(UserError, match="curiax evaluate RUN --video"):
        evaluate.film(directory)

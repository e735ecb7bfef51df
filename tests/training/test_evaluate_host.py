"""Frozen policies on the host: which episodes count, what is said of them, and their film."""

import dataclasses
import io
import itertools
import json
from pathlib import Path

import numpy as np
import pytest
from PIL import Image
from rich.console import Console

from curiax import envs
from curiax.commands.cli import main
from curiax.envs.atari.human import HUMAN
from curiax.envs.table import ATARI
from curiax.errors import UserError
from curiax.report.films import make, pictures
from curiax.report.read import read_study
from curiax.training import evaluate
from curiax.training.evaluate_host import human_normalised, play_on_host
from curiax.training.run.directory import Run
from curiax.training.train import train
from tests.support.host_counter import FLAT, SPEC, counter
from tests.support.report_data import write_columns
from tests.support.tiny import TINY

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
    monkeypatch.setattr("curiax.training.evaluate_host.MAX_STREAMS", 2)
    found = play_on_host(CONFIG, state.acting, 5, 0)  # three of one stream, two of the other
    assert found["outcome"]["return"].tolist() == [5.0] * 5 and found["noise_dwell"].tolist() == [0.0] * 5
    assert ((found["entropy"] > 0) & (found["entropy"] <= np.log(3) + 1e-6)).all()


def noisy(config, batch_size, seed):
    """The counter: episode k of stream s has noise in its first k + s steps, and at its reset, which is no step."""
    env, _ = counter(batch_size)
    number = np.arange(batch_size)

    def step(action):
        nonlocal number
        answer = env.step(action)
        number = number + answer.first
        return answer._replace(info={"noise": answer.episode["return"] <= number})

    return env._replace(step=step)


def test_noise_dwell_is_the_share_of_noisy_steps_of_each_episode_alone(state, monkeypatch):
    monkeypatch.setattr("curiax.training.evaluate_host.MAX_STREAMS", 2)
    monkeypatch.setitem(envs.HOSTS, "host", envs.Host(noisy, lambda _: SPEC))
    dwell = play_on_host(CONFIG, state.acting, 5, 0)["noise_dwell"]
    np.testing.assert_allclose(dwell, [0, 1 / 5, 1 / 5, 2 / 5, 2 / 5], rtol=1e-6)  # the streams in turn
    means = evaluate.results(Path("run"), CONFIG, state, evaluate.evaluate(CONFIG, state, 5), 0)["means"]
    assert means["noise_dwell"]["mean"] == pytest.approx(0.24)


def test_progress_is_a_line_on_a_terminal_and_elsewhere_a_plain_one_now_and_then(state, monkeypatch):
    drawn, plain = io.StringIO(), io.StringIO()
    play_on_host(CONFIG, state.acting, 2, 0, Console(file=drawn, width=80, force_terminal=True))
    assert "2 of 2 episodes  10 steps" in drawn.getvalue()
    monkeypatch.setattr("curiax.training.progress.PLAIN_INTERVAL", 0.0)
    play_on_host(CONFIG, state.acting, 2, 0, Console(file=plain, width=80))
    told = [f"{2 * (number == 5)} of 2 episodes  {2 * number} steps" for number in range(1, 6)]
    assert plain.getvalue().splitlines() == told
    monkeypatch.setattr("curiax.training.progress.PLAIN_INTERVAL", 3600.0)
    play_on_host(CONFIG, state.acting, 2, 0, Console(file=plain, width=80))
    assert plain.getvalue().splitlines() == told


def test_human_normalised_is_nought_for_a_random_policy_and_one_for_a_player():
    scores = human_normalised("atari/alien", {"return": np.array([227.8, 7127.7], np.float32)})
    np.testing.assert_allclose(scores["human_normalised"], [0, 1], atol=1e-6)
    assert human_normalised("host/counter", {"return": np.zeros(1)}) == {}
    assert human_normalised("atari/tetris", {"return": np.zeros(1)}) == {}


def test_episodes_of_a_game_are_normalised_by_the_scores_of_that_game(state, monkeypatch):
    monkeypatch.setitem(envs.HOSTS, "atari", envs.HOSTS["host"])
    for game, expected in (("pitfall", 234.4 / 6693.1), ("montezuma_revenge", 5 / 4753.3)):
        found = play_on_host(dataclasses.replace(CONFIG, env=f"atari/{game}"), state.acting, 2, 0)
        np.testing.assert_allclose(found["outcome"]["human_normalised"], [expected] * 2, rtol=1e-6)


def test_the_table_of_scores_has_57_games_under_the_names_of_ale():
    registration = pytest.importorskip("envpool.atari.registration")
    assert len(HUMAN) == 57 and set(HUMAN) <= set(registration.atari_game_list)
    assert all(human > random for random, human in HUMAN.values())
    assert set(ATARI) <= set(HUMAN)


@pytest.mark.slow
def test_the_command_prints_returns_and_writes_a_film(directory, tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(pictures, "NUM_STEPS", 8)
    loaded, newest_state = [], evaluate.newest_state
    monkeypatch.setattr(evaluate, "newest_state", lambda *run: loaded.append(run) or newest_state(*run))
    film, result = tmp_path / "film.gif", tmp_path / "result.json"
    assert main(["evaluate", str(directory), "--episodes", "2", "--json", str(result), "--video", str(film)]) == 0
    assert len(loaded) == 1, "what was evaluated is what is filmed"
    assert "return                5.00  [5.00, 5.00]" in capsys.readouterr().out
    assert json.loads(result.read_text())["means"]["return"]["mean"] == 5
    with Image.open(film) as gif:
        assert gif.size == (80, pictures.HEADER + 80 + pictures.TRACE)
        assert gif.n_frames == 5  # the episode's, and none of the next


def test_a_film_has_a_frame_and_a_reward_of_each_step_of_the_first_episode(state, monkeypatch):
    monkeypatch.setattr(pictures, "NUM_STEPS", 8)
    film = pictures.shoot(CONFIG, state, 0)
    assert film.frames[:, 0, 0].tolist() == [1, 2, 3, 4, 5]
    assert film.returns.tolist() == [1, 3, 6, 10, 15]
    assert film.reward.shape == (5,) and np.isfinite(film.reward).all() and (film.reward >= 0).all()


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("film.mp4", "film.mp4: its name must end in .gif, the one format there is"),
        ("none/film.gif", "none/film.gif: cannot be written (No such file or directory)"),
        ("taken.gif", "taken.gif: cannot be written (Is a directory)"),
    ],
)
def test_a_film_that_cannot_be_written_is_said_in_one_line_before_anything_is_played(
    name, message, directory, tmp_path, monkeypatch, capsys
):
    (tmp_path / "taken.gif").mkdir()
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(envs, "make_host", lambda *_: pytest.fail("it played"))
    assert main(["evaluate", str(directory), "--video", name]) == 2
    assert capsys.readouterr() == ("", f"curiax: --video {message}\n")


def test_no_empty_film_is_left_where_the_result_cannot_be_written(directory, tmp_path, monkeypatch, capsys):
    film, result = tmp_path / "film.gif", tmp_path / "none/result.json"
    monkeypatch.setattr(envs, "make_host", lambda *_: pytest.fail("it played"))
    assert main(["evaluate", str(directory), "--video", str(film), "--json", str(result)]) == 2
    assert capsys.readouterr().err.startswith(f"curiax: --json {result}: cannot be written") and not film.exists()


def test_what_the_agent_sees_as_a_vector_is_not_filmed(tmp_path, monkeypatch):
    monkeypatch.setitem(envs.HOSTS, "host", envs.HOSTS["host"]._replace(spec=lambda _: FLAT))
    for config in (CONFIG, dataclasses.replace(CONFIG, env="gymnax/CartPole-v1")):
        with pytest.raises(UserError, match=f"^--video: {config.env} has no grey pictures to film$"):
            make.check_film(config, tmp_path / "film.gif")


def test_a_report_films_pictures_too_and_puts_two_methods_side_by_side(state, tmp_path, monkeypatch):
    monkeypatch.setattr(pictures, "NUM_STEPS", 8)
    for method in ("byol-explore", "byol-hindsight"):
        config = dataclasses.replace(CONFIG, curiosity=method)
        write_columns(tmp_path / method, config, {"return": [1.0, 2.0], "noise_dwell": [0.0, 0.0]})
    monkeypatch.setattr(make, "load", lambda _: (CONFIG, state))
    study = read_study(tmp_path)
    shots, notes = make.shoot_study(study, lambda text: None)
    assert make.write_beside(study, shots, tmp_path / "film.gif") and notes == []
    with Image.open(tmp_path / "film.gif") as gif:
        assert gif.size == (2 * 80 + pictures.GAP, pictures.HEADER + 80 + pictures.TRACE) and gif.n_frames == 5

"""Films: whose they are, what the page gets of them, and the GIF of two side by side."""

import base64

import numpy as np
import pytest
from PIL import Image

from curiax.report.figure import colours
from curiax.report.films import maze, maze_gif
from curiax.report.films.make import median_run, shoot_study, shown_beside, write_beside
from curiax.report.read import read_study
from tests.support.report_data import LAYOUT, config_of, fake_films, game_of, random_film, write_columns, write_run

ROWS = 4


def study_of(path, scores, method="rnd", setting="on-demand"):
    for seed, score in enumerate(scores):
        config = config_of(setting, method, seed, ROWS)
        write_run(path / setting / method / str(seed), config, [score] * ROWS, [0.0] * ROWS)
    return read_study(path)


def test_the_typical_run_is_the_one_in_the_middle_and_of_two_the_lower(tmp_path):
    three = study_of(tmp_path / "three", (3.0, 1.0, 2.0)).group("on-demand", "rnd")
    assert median_run(three, "trackers").seed == 2
    two = study_of(tmp_path / "two", (3.0, 1.0)).group("on-demand", "rnd")
    assert median_run(two, "trackers").seed == 1


def test_each_method_is_filmed_and_what_cannot_be_is_told(tmp_path, monkeypatch):
    filmed = []
    fake_films(monkeypatch, filmed)
    study_of(tmp_path, (1.0, 2.0, 3.0))
    said = []
    shots, notes = shoot_study(study_of(tmp_path, (1.0,), "icm"), said.append)
    assert list(shots) == [("on-demand", "rnd")] and filmed == [tmp_path / "on-demand" / "rnd" / "1"]
    assert notes == ["No film of ICM in on-demand: no checkpoint."]
    assert said == ["filming on-demand, ICM, seed 0", "filming on-demand, RND, seed 1"]


def test_an_environment_without_pictures_is_told_once(tmp_path):
    gymnax = {"env": "gymnax/CartPole-v1"}
    for method in ("rnd", "icm"):
        write_columns(tmp_path / method, game_of("hero", method, 0, 2, **gymnax), {"return": [1.0, 2.0]})
    shots, notes = shoot_study(read_study(tmp_path), pytest.fail)
    assert (shots, notes) == ({}, ["No film: gymnax/CartPole-v1 has no grey pictures to film."])


def test_the_gif_shows_the_compared_pair_where_it_differs_most_with_hindsight_last(tmp_path, monkeypatch):
    fake_films(monkeypatch)
    for setting, hindsight in (("baseline", 1.0), ("random", 3.0)):
        study_of(tmp_path, (hindsight,), "byol-hindsight", setting)
        study_of(tmp_path, (1.0,), "byol-explore", setting)
    study = study_of(tmp_path, (4.0,), "rnd", "random")
    assert shown_beside(study) == [("random", "byol-explore"), ("random", "byol-hindsight")]
    shots, _ = shoot_study(study, lambda text: None)
    assert len(shots) == 5 and write_beside(study, shots, tmp_path / "film.gif")
    with Image.open(tmp_path / "film.gif") as gif:
        assert gif.width == 2 * (LAYOUT.wall.shape[1] * maze_gif.CELL + maze_gif.MARGIN) + maze_gif.MARGIN
    assert not write_beside(study, {}, tmp_path / "none.gif")


def test_the_page_gets_the_film_whole():
    shot = random_film(60)
    shot = shot._replace(coins=np.where(np.arange(60)[:, None] < 30, shot.coins, -1))
    raw = {name: base64.b64decode(text) for name, text in maze.payload(shot).items()}
    np.testing.assert_array_equal(np.frombuffer(raw["cell"], "<u2"), shot.cell)
    np.testing.assert_array_equal(np.frombuffer(raw["blocks"], "<u2").reshape(-1, 4), shot.blocks)
    np.testing.assert_array_equal(np.frombuffer(raw["reward"], "<f4"), shot.reward)
    np.testing.assert_array_equal(np.frombuffer(raw["noise"], np.uint8), shot.noise)
    coins = np.frombuffer(raw["coins"], "<u2").reshape(-1, 2)
    np.testing.assert_array_equal(coins[:30], shot.coins[:30])
    assert (coins[30:] == 65535).all()
    bits = np.frombuffer(raw["pixels"], "<u4")[:, None] >> np.arange(25) & 1
    np.testing.assert_array_equal(bits.reshape(-1, 5, 5), shot.pixels)
    touched = np.frombuffer(raw["trackers"], np.uint8)[:, None] >> np.arange(4) & 1
    np.testing.assert_array_equal(touched, shot.trackers)


def near(image, point, colour):
    """Whether a pixel has a colour, but for the few of a GIF's palette."""
    wanted = [int(colour[start : start + 2], 16) for start in (1, 3, 5)]
    return np.abs(np.subtract(image.getpixel(point), wanted)).max() < 24


def test_the_gif_shows_both_agents_where_they_are(tmp_path):
    methods = ("byol-explore", "byol-hindsight")
    shots = {name: random_film(40, seed) for seed, name in enumerate(methods)}
    shots = {name: shot._replace(pixels=np.zeros_like(shot.pixels)) for name, shot in shots.items()}
    maze_gif.write_gif(tmp_path / "film.gif", "maze/on-demand", shots)
    palette, columns = colours(list(methods)), LAYOUT.wall.shape[1]
    panel = columns * maze_gif.CELL + maze_gif.MARGIN
    with Image.open(tmp_path / "film.gif") as gif:
        assert gif.n_frames == 40 // maze_gif.STRIDE
        assert gif.width == 2 * panel + maze_gif.MARGIN
        for frame in (0, gif.n_frames - 1):
            gif.seek(frame)
            image = gif.convert("RGB")
            for index, (name, shot) in enumerate(shots.items()):
                row, column = divmod(int(shot.cell[frame * maze_gif.STRIDE]), columns)
                across = maze_gif.MARGIN + index * panel + round((column + 0.5) * maze_gif.CELL)
                down = maze_gif.MARGIN + maze_gif.HEADER + round((row + 0.5) * maze_gif.CELL)
                assert near(image, (across, down), palette[name]), (name, frame)


def test_films_of_unequal_length_end_on_their_last_picture(tmp_path):
    maze_gif.write_gif(tmp_path / "film.gif", "maze/random", {"rnd": random_film(10), "icm": random_film(20, seed=1)})
    with Image.open(tmp_path / "film.gif") as gif:
        assert gif.n_frames == 20 // maze_gif.STRIDE

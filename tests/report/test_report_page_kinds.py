"""The page of other studies in a real browser: an old run, games, an agent that was just trained."""

import dataclasses

import pytest
from rich.console import Console

from curiax.commands.cli import main
from curiax.commands.program import run_training
from curiax.report.write import write_report
from tests.support.pages import FILES, NAMELESS, OVER_ALL, OVERFLOW
from tests.support.report_data import config_of, fake_films, game_of, staring, write_columns, write_run
from tests.support.report_games import write_games
from tests.support.tiny import TINY

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def bare(tmp_path_factory):
    """The page of one old run: no maps, no film, a few metrics."""
    root = tmp_path_factory.mktemp("old")
    write_run(root / "run", config_of("brownian", "rnd", 0, 12), [1.0] * 3, [0.2] * 3)
    assert main(["report", str(root / "run"), "--no-films", "--out", str(root / "out")]) == 0
    return root / "out" / "report.html"


@pytest.fixture(scope="module")
def games(tmp_path_factory):
    """The page of a made-up study of Montezuma's Revenge."""
    root = tmp_path_factory.mktemp("games")
    write_games(root)
    return write_report(root, root / "report", True, lambda text: None)


def test_an_old_run_without_maps_or_film_is_shown_all_the_same(bare, visit):
    assert {path.name for path in bare.parent.iterdir() if path.stat().st_size > 100} == FILES
    page = visit(bare, 400)
    assert "No maps: the runs have not logged any." in page.locator("#maps").inner_text()
    assert "not asked for" in page.locator("#films").inner_text()
    assert page.locator("#maps canvas, #films canvas").count() == 0
    assert page.locator("#figure path.mean").count() == 1
    assert "RND 1.0 (one seed)" in page.locator(".lead").inner_text()
    assert "25 % done" in page.locator("#scores").inner_text()
    assert page.evaluate(OVERFLOW) == 0
    assert page.evaluate(NAMELESS) == []


def test_a_page_of_games_tells_returns_and_rooms(games, visit):
    pictures = {"rooms.png", "outcomes.png", "outcomes.svg"}
    assert {path.name for path in games.parent.iterdir()} == FILES | OVER_ALL | pictures | {".curiax"}
    page = visit(games, 400)
    assert page.locator("h1").inner_text() == "Curiosity in Montezuma's Revenge"
    assert page.locator("#figure h3").all_inner_texts()[0] == "Return of an episode"
    assert page.locator("#figure .chart").count() == 3 * 2  # scores and settings
    assert page.locator("#figure path.mean").count() == 3 * 2 * 2
    picture = page.locator("#maps img")
    assert picture.evaluate("one => one.complete && one.naturalWidth > 300")
    assert "No film of BYOL-Explore in sticky-intrinsic" in page.locator("#films").inner_text()
    assert page.evaluate(OVERFLOW) == 0
    assert page.evaluate(NAMELESS) == []


def test_a_page_of_worlds_with_different_scores_shows_each_with_its_own(tmp_path, visit):
    for method, level in (("byol-hindsight", 3.0), ("byol-explore", 1.0)):
        config, maps = config_of("on-demand", method, 0, 8), staring(8, (4, 12), since=4)
        write_run(tmp_path / "runs" / method / "0", config, [level] * 8, [0.1] * 8, maps)
        game = game_of("venture", method, 0, 8)
        write_columns(tmp_path / "runs" / method / "1", game, {"return": [100 * level] * 8, "noise_dwell": [0.0] * 8})
    with pytest.MonkeyPatch.context() as patch:
        fake_films(patch)
        page = visit(write_report(tmp_path / "runs", tmp_path / "out", True, lambda text: None), 400)
    assert "on-demand (3.0 against 1.0) and venture (300 against 100)" in page.locator(".lead").inner_text()
    assert page.locator("#figure .chart").count() == 2
    numbers = page.locator("#worlds .heat tbody td b").all_inner_texts()
    assert sorted(numbers[:2]) == ["3.00", "300"] and sorted(numbers[2:]) == ["1.00", "100"]
    assert page.locator("#maps canvas").count() == 2
    assert "score: Return of an episode" in page.locator("#scores").inner_text()
    assert page.evaluate(OVERFLOW) == 0
    assert page.evaluate(NAMELESS) == []


def test_an_agent_is_trained_filmed_and_shown(tmp_path, visit):
    config = dataclasses.replace(TINY, env="maze/on-demand", curiosity="byol-explore", env_steps=48)
    assert run_training(config, tmp_path / "run", False, Console(quiet=True)) == 0
    page = visit(write_report(tmp_path / "run", tmp_path / "out", True, lambda text: None))
    assert "No episode has ended yet" in page.locator(".lead").inner_text()
    assert page.locator("#films output").inner_text() == "step 61 of 500"
    assert page.locator("#films canvas").count() == 2  # the maze and the trace of rewards
    assert page.locator("#maps canvas").count() == 1

"""The page in a real browser: it loads, moves, tells its values, and can be read on a phone."""

import itertools

import pytest

from curiax.report.write import write_report
from tests.support.pages import FILES, NAMELESS, OVER_ALL, OVERFLOW
from tests.support.report_data import config_of, fake_films, staring, write_run, write_study_json

pytestmark = pytest.mark.slow

ROWS = 12
STARE = (4, 12)
SEEDS = (0, 1, 2)


def write_study(root):
    """Two methods in two settings; one run has failed with a reason that is not HTML, one has not begun."""
    names = list(itertools.product(("baseline", "on-demand"), ("byol-hindsight", "byol-explore"), SEEDS))
    for setting, method, seed in names:
        stares = setting == "on-demand" and method == "byol-explore"
        level = 0.5 if stares else 3.5
        trackers = [min(row, level) + 0.1 * seed for row in range(ROWS)]
        dwell = [0.0 if setting == "baseline" else 0.9 if stares else 0.1] * ROWS
        maps = staring(ROWS, STARE, since=ROWS // 2 if stares else ROWS)
        errors = {"prediction_error": [2.0 / (row + 1) for row in range(ROWS)], "entropy": [1.0] * ROWS}
        config = config_of(setting, method, seed, ROWS)
        write_run(root / setting / method / str(seed), config, trackers, dwell, maps, **errors)
    failed = root / "on-demand" / "rnd" / "0"
    failed.mkdir(parents=True)
    (failed / "FAILED").write_text("</p><script>oops()</script>\n")
    write_study_json(root, [*names, ("on-demand", "rnd", 0), ("on-demand", "icm", 7)])


@pytest.fixture(scope="module")
def report(tmp_path_factory):
    """The page of a made-up study with films, and the files beside it."""
    root = tmp_path_factory.mktemp("study")
    write_study(root)
    with pytest.MonkeyPatch.context() as patch:
        fake_films(patch)
        return write_report(root, root / "report", True, lambda text: None)


def picture(canvas):
    return canvas.evaluate("canvas => canvas.toDataURL()")


def pictures(page, section):
    return page.locator(f"{section} canvas").evaluate_all("all => all.map((one) => one.toDataURL())")


def test_figures_and_tables_stand_beside_the_page(report):
    assert {path.name for path in report.parent.iterdir()} == FILES | OVER_ALL | {"film.gif", "errors.png", ".curiax"}
    assert all(path.stat().st_size > 100 for path in report.parent.iterdir() if path.name != ".curiax")
    assert (report.parent / "figure.png").read_bytes()[:4] == b"\x89PNG"
    assert "<svg" in (report.parent / "figure.svg").read_text()


def test_page_names_what_was_found_what_failed_and_what_is_missing(report, visit):
    page = visit(report)
    assert "BYOL-Hindsight touches more" in page.locator(".lead").inner_text()
    banner = page.locator("header .banner")
    assert "12 of 14 runs finished" in banner.inner_text()
    assert "RND / seed 0: </p><script>oops()</script>" in banner.inner_text()
    banner.locator("summary").click()
    assert "on-demand / ICM / seed 7: not started" in banner.inner_text()
    assert "curiax study maze" in page.locator("#made").inner_text()


def test_there_is_a_panel_for_each_setting_and_every_curve_is_drawn(report, visit):
    page = visit(report)
    panels = page.locator("#figure .chart")
    assert panels.count() == 2
    for panel in panels.all():
        assert panel.locator("path.mean").count() == 2
        assert panel.locator("path.seed").count() == 2 * len(SEEDS)
        lines = panel.locator("path").evaluate_all("all => all.map((one) => one.getAttribute('d'))")
        assert not any("NaN" in line or not line for line in lines)
    assert page.locator("#scores tbody tr:not(.setting)").count() == 4


def test_methods_are_compared_over_all_worlds_with_numbers_and_colours(report, visit):
    worlds = visit(report).locator("#worlds")
    rows = worlds.locator(".aggregate tbody tr")
    assert "BYOL-Hindsight" in rows.first.inner_text() and rows.count() == 2
    assert rows.first.locator("circle").count() == 1 and rows.last.locator("circle").count() == 2
    better = rows.last.locator("td").nth(2).inner_text()
    assert better.startswith("0.25 [0.0")  # of two worlds, as good in one and worse in the other
    cells = worlds.locator(".heat").first.locator("tbody td")
    assert cells.count() == 4
    paint = "one => getComputedStyle(one).backgroundColor"
    good, stares = (cells.nth(index).evaluate(paint) for index in (1, 3))
    assert good != stares and cells.nth(0).evaluate(paint) == good
    assert cells.nth(3).inner_text().split("\n")[0] == "0.60"
    assert "RND" not in worlds.inner_text()  # it has logged nothing


def test_pointing_at_a_panel_shows_each_seed(report, visit):
    panel = visit(report).locator("#figure .chart").last
    seed = panel.locator("path.seed").first
    assert panel.locator(".tip").is_hidden()
    assert seed.evaluate("one => getComputedStyle(one).opacity") == "0"
    panel.hover(position={"x": panel.bounding_box()["width"] - 20, "y": 60})
    told = panel.locator(".tip").inner_text()
    assert "BYOL-Hindsight 3.60" in told  # the mean of 3.5, 3.6 and 3.7
    assert "seed 0: 3.50 · seed 1: 3.60 · seed 2: 3.70" in told
    seed.evaluate("one => Promise.all(one.getAnimations().map((animation) => animation.finished))")
    assert float(seed.evaluate("one => getComputedStyle(one).opacity")) > 0.5


def test_arrow_keys_walk_along_a_panel(report, visit):
    page = visit(report)
    panel = page.locator("#figure .chart").first
    panel.focus()
    told = []
    for key in ("End", "ArrowLeft", "Home"):
        page.keyboard.press(key)
        told.append(panel.locator(".tip b").first.inner_text())
    assert told == ["294 k steps", "269 k steps", "13 k steps"]
    page.keyboard.press("Escape")
    assert panel.locator(".tip").is_hidden()


def test_slider_moves_all_maps_through_training_by_keyboard(report, visit):
    page = visit(report)
    slider, staring = page.locator("#maps input[type=range]"), page.locator("#maps canvas").last
    assert page.locator("#maps canvas").count() == 4
    late, said = picture(staring), staring.get_attribute("aria-label")
    assert "BYOL-Explore" in said and "in R1" in said and "87 % of its time" in said
    slider.focus()
    page.keyboard.press("Home")
    assert slider.get_attribute("aria-valuetext") == "0 k to 26 k steps"
    assert picture(staring) != late
    assert staring.get_attribute("aria-label") != said
    page.keyboard.press("ArrowRight")
    assert page.locator("#maps output").inner_text() == "26 k to 51 k steps"


def test_maps_show_what_was_wanted_too(report, visit):
    page = visit(report)
    before = pictures(page, "#maps")
    page.get_by_label("what it wanted").check(force=True)
    assert not set(before) & set(pictures(page, "#maps"))
    assert "per visit, in R1" in page.locator("#maps canvas").last.get_attribute("aria-label")


def test_maps_play_and_pause(report, visit):
    page = visit(report, stop_clock=True)
    play, slider = page.locator("#maps button"), page.locator("#maps input[type=range]")
    assert slider.input_value() == str(ROWS - 1)  # from the end it begins again
    play.click()
    assert (play.inner_text(), slider.input_value()) == ("Pause", "0")
    page.clock.run_for(700)
    assert slider.input_value() == "3"
    play.click()
    page.clock.run_for(700)
    assert (play.inner_text(), slider.input_value()) == ("Play", "3")


@pytest.mark.parametrize(("speed", "steps"), [("1", 10), ("5", 50)])
def test_film_plays_at_its_speed_and_pauses(report, visit, speed, steps):
    page = visit(report, stop_clock=True)
    play, slider = page.locator("#films button"), page.locator("#films input[type=range]")
    slider.fill("0")
    before = pictures(page, "#films")
    page.locator("#films select").select_option(speed)
    play.click()
    page.clock.run_for(500)
    now = int(slider.input_value())
    assert 0.8 * steps <= now <= steps  # a frame may be late
    assert not set(before) & set(pictures(page, "#films"))
    assert page.locator("#films output").inner_text() == f"step {now + 1} of 80"
    play.click()
    page.clock.run_for(500)
    assert (play.inner_text(), int(slider.input_value())) == ("Play", now)


def test_film_ends_on_its_last_step(report, visit):
    page = visit(report, stop_clock=True)
    page.locator("#films button").click()
    page.clock.run_for(5000)
    assert page.locator("#films button").inner_text() == "Play"
    assert page.locator("#films output").inner_text() == "step 80 of 80"


def test_film_and_curves_of_another_setting_can_be_chosen(report, visit):
    page = visit(report)
    for section in ("#films", "#curves"):
        shown = page.locator(f"{section} [role=img]").first
        assert "on-demand" in shown.get_attribute("aria-label")  # where the two differ most
        page.locator(f"{section} label", has_text="baseline").click()
        assert "baseline" in page.locator(f"{section} [role=img]").first.get_attribute("aria-label")
    titles = page.locator("#curves h3").all_inner_texts()
    assert {"Prediction error", "Policy entropy", "Noise in view", "Throughput"} <= set(titles)
    assert "Contrastive value" not in titles  # nobody logged it


def test_everything_drawn_and_every_control_has_a_name(report, visit):
    page = visit(report)
    assert page.evaluate(NAMELESS) == []
    assert page.locator("svg[role=img], canvas[role=img]").count() >= 10
    assert page.locator("html").get_attribute("lang") == "en"
    assert page.locator("h1").count() == 1


@pytest.mark.parametrize("width", [400, 1280])
def test_nothing_hangs_over_the_side_even_with_a_tip_open(report, visit, width):
    page = visit(report, width)
    assert page.evaluate(OVERFLOW) == 0
    for panel in (page.locator("#figure .chart").last, page.locator("#curves .chart").first):
        panel.hover(position={"x": panel.bounding_box()["width"] - 10, "y": 60})
        tip = panel.locator(".tip").bounding_box()
        assert tip["x"] >= 0 and tip["x"] + tip["width"] <= width
        assert page.evaluate(OVERFLOW) == 0
    page.locator("#made summary").last.click()  # the configuration
    assert page.evaluate(OVERFLOW) == 0


TEXTS = """() => {
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT), found = [];
  const colour = (text) => text.match(/[\\d.]+/g).map(Number);
  const linear = (v) => v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4;
  const light = (rgb) => rgb.slice(0, 3).map((v) => linear(v / 255))
    .reduce((sum, v, i) => sum + v * [0.2126, 0.7152, 0.0722][i], 0);
  const behind = (node) => {
    for (; node; node = node.parentElement) {
      const paint = colour(getComputedStyle(node).backgroundColor);
      if (paint.length === 3 || paint[3] === 1) return paint;
    }
  };
  while (walker.nextNode()) {
    const parent = walker.currentNode.parentElement, style = getComputedStyle(parent);
    if (!walker.currentNode.textContent.trim() || !parent.checkVisibility()) continue;
    if (parent.closest('option, script, .picture')) continue;
    const [a, b] = [colour(parent.closest('svg') ? style.fill : style.color), behind(parent)].map(light);
    const contrast = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
    found.push([parseFloat(style.fontSize), contrast, parent.textContent.slice(0, 40)]);
  }
  return found;
}"""


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [400, 1280])
def test_text_is_large_and_dark_enough_to_read(report, visit, width, scheme):
    texts = visit(report, width, color_scheme=scheme).evaluate(TEXTS)
    assert len(texts) > 100
    assert [text for text in texts if text[0] < 11 or text[1] < 4.5] == []  # pixels; WCAG's contrast of level AA


def test_dark_readers_get_dark_maps_and_films(report, visit):
    light, dark = visit(report), visit(report, color_scheme="dark")
    for section in ("#maps", "#films"):
        assert not set(pictures(light, section)) & set(pictures(dark, section))

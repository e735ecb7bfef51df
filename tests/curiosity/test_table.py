"""Table 1: its names, what stands behind each, how it looks, and what a wrong name is told."""

import io
import itertools

import pytest
from rich.cells import cell_len
from rich.console import Console

from curiax.config import LAPTOP
from curiax.curiosity import MEASURES, METHODS, OTHERS, REPRESENTATIONS, resolve
from curiax.curiosity.listing import IS_SAID_TO_BE, WORKS_BY, show_table_1
from curiax.errors import UserError

# The paper's Table 1: robust to random noise, to state- or action-dependent noise, aware of dynamics.
PAPER = {
    "ae": (False, False, True, "reconstructive"),
    "icm": (True, False, True, "action predictive"),
    "emi": (False, False, True, "MI-maximising"),
    "rnd": (True, True, False, "random projection"),
    "dora": (True, True, False, "pixel space"),
    "ama": (True, True, True, "pixel space"),
    "byol-explore": (False, False, True, "bootstrapped"),
    "byol-hindsight": (True, True, True, "bootstrapped"),
}
COMPOSITIONS = {
    "ae": "ae+predict",
    "icm": "icm+predict",
    "emi": "emi",
    "rnd": "rnd",
    "dora": "dora",
    "ama": "pixel+aleatoric",
    "byol-explore": "byol+predict",
    "byol-hindsight": "byol+hindsight",
    "icm+hindsight": "icm+hindsight",
    "lpm": "pixel+lpm",
    "critic": "pixel+critic",
    "lbs": "random+lbs",
    "disagreement": "random+disagreement",
    "progress": "pixel+progress",
    "random-policy": "random-policy",
}
CLAIMED = {name: row for name, row in METHODS.items() if name != "random-policy"}


def printed(width):
    screen = io.StringIO()
    show_table_1(Console(file=screen, width=width, soft_wrap=True))
    return screen.getvalue()


@pytest.mark.parametrize("name", PAPER)
def test_the_table_says_what_the_paper_says(name):
    method = METHODS[name]
    assert (method.random_noise, method.dependent_noise, method.dynamics, method.space) == PAPER[name]


def test_methods_that_the_paper_s_table_lacks_are_marked():
    lines = [line.split() for line in printed(200).splitlines() if "✓" in line]
    assert {name for name, star, *_ in lines if star == "*"} == {n for n, row in CLAIMED.items() if not row.in_paper}
    assert set(PAPER) | {"icm+hindsight"} == {name for name, row in CLAIMED.items() if row.in_paper}
    assert "* not in that table" in printed(200)


def test_every_name_has_its_composition():
    assert {name: resolve(name) for name in METHODS} == COMPOSITIONS


@pytest.mark.parametrize(("representation", "measure"), list(itertools.product(REPRESENTATIONS, MEASURES)))
def test_any_representation_takes_any_measure(representation, measure):
    name = f"{representation}+{measure}"
    assert resolve(name) == name


@pytest.mark.parametrize(("method", "measure"), list(itertools.product(["rnd", "dora"], MEASURES)))
def test_deterministic_targets_have_nothing_to_explain(method, measure):
    with pytest.raises(
        UserError, match=rf"^--curiosity {method}\+{measure}: {method} has a deterministic target: .*byol"
    ):
        resolve(f"{method}+{measure}")


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("ae+hindsigt", "measure hindsigt: unknown. Did you mean hindsight? There are: predict, aleatoric, hindsight"),
        ("pixels+predict", "representation pixels: unknown. Did you mean pixel? There are: byol, icm, ae, emi, random"),
        ("emi+foo", "measure foo: unknown. There are"),
        ("ae+", "measure : unknown"),
        ("amma", "--curiosity amma: unknown. Did you mean ama? There are: ae, icm, emi, rnd, dora, ama"),
        ("pixel", "--curiosity pixel: unknown."),
        ("rnd+foo", "--curiosity rnd+foo: unknown. Did you mean rnd?"),
        ("", "--curiosity : unknown."),
    ],
)
def test_a_wrong_name_is_told_which_part_is_wrong_and_what_there_is(name, words):
    with pytest.raises(UserError) as caught:
        resolve(name)
    assert words in str(caught.value) and "\n" not in str(caught.value)


def test_the_default_has_a_row():
    assert LAPTOP.curiosity in METHODS


@pytest.mark.parametrize("width", [80, 100, 120, 200])
def test_the_table_fits_the_screen_and_breaks_no_word(width):
    text = printed(width)
    assert max(map(cell_len, text.splitlines())) <= width
    assert "…" not in text.replace("…+hindsight", "")
    headings = " ".join((WORKS_BY | IS_SAID_TO_BE).values()).split()
    cells = " ".join(" ".join((row.inputs, row.target, row.measure, row.space)) for row in CLAIMED.values()).split()
    assert [word for word in (*CLAIMED, *headings, *cells) if word not in text] == []


def test_a_wide_screen_has_one_table_and_a_narrow_one_two():
    for width, pieces in ((120, 1), (80, 2)):
        rows = [line.split() for line in printed(width).splitlines() if line.startswith(" ama ")]
        assert len(rows) == pieces
        assert [mark for row in rows for mark in row if mark in "✓✗"] == ["✓", "✓", "✓"]
    marks = {
        line.split()[0]: [m for m in line.split() if m in ("✓", "✗")]
        for line in printed(120).splitlines()
        if "✓" in line
    }
    assert marks["icm"] == ["✓", "✗", "✓"] and marks["rnd"] == ["✓", "✓", "✗"] and len(marks) == len(CLAIMED) + 1


def test_a_very_narrow_screen_folds_words_and_drops_nothing():
    text = printed(60)
    assert max(map(cell_len, text.splitlines())) <= 60
    assert "…" not in text.replace("…+hindsight", "")


def test_what_can_be_combined_is_named():
    text = " ".join(printed(120).split())  # however its lines are broken
    assert ", ".join(REPRESENTATIONS) in text and ", ".join(MEASURES) in text
    assert set(OTHERS) == {"rnd", "dora", "emi", "random-policy"}

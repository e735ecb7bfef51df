"""docs/claims.md is what docs/claims.py makes of the results, and verdicts follow from numbers."""

import sys

import pytest

from tests.support.terminal import ROOT

sys.path.append(str(ROOT / "docs"))
import claims
import findings

VERDICTS = (findings.SHOWN, findings.NOT_SHOWN, findings.REFUTED, findings.OUT_OF_REACH, findings.NOT_YET)
LOW, HIGH, WIDE = [0.1, 0.2, 0.1], [3.9, 4.0, 3.9], [0.0, 2.0, 4.0]


def test_the_page_is_up_to_date():
    assert claims.PAGE.read_text() == claims.page(), "run: python docs/claims.py"


def test_every_claim_has_a_verdict_and_its_figure_exists():
    for claim in (claim for group in claims.CLAIMS.values() for claim in group):
        found = claim.find()
        assert found.verdict.removeprefix("partly: ").startswith(VERDICTS), claim.text
        assert not found.figure or (findings.RESULTS / found.figure).exists(), claim.text


@pytest.mark.parametrize(
    ("left", "right", "verdict"),
    [(LOW, HIGH, findings.SHOWN), (HIGH, LOW, findings.REFUTED), (WIDE, HIGH, findings.NOT_SHOWN)],
)
def test_lower_means_lower_beyond_the_spread_of_the_seeds(left, right, verdict):
    assert findings.lower(left, right) == verdict
    assert findings.falls(right, left) == verdict


def test_a_claim_of_all_methods_fails_with_one_of_them():
    assert findings.reach_all(HIGH, HIGH) == findings.SHOWN
    assert findings.reach_all(HIGH, LOW) == findings.REFUTED


def test_no_harm_is_refuted_only_by_a_difference():
    assert [findings.no_less(values, HIGH) for values in (HIGH, WIDE, LOW)] == [
        findings.SHOWN,
        findings.SHOWN,
        findings.REFUTED,
    ]


def test_a_loss_that_matters_in_one_setting_alone_is_not_shown_to_matter():
    found = {"a/both": HIGH, "a/less": LOW, "b/both": HIGH, "b/less": HIGH}
    verdict = findings.fails("less", ["a", "b"])
    assert verdict(found) == findings.NOT_SHOWN
    assert verdict(found | {"b/less": LOW}) == findings.SHOWN
    assert verdict(found | {"a/less": HIGH}) == findings.REFUTED
    assert findings.unchanged("less", ["b"])(found) == findings.SHOWN


def test_results_of_the_earlier_form_are_not_counted(tmp_path, monkeypatch):
    monkeypatch.setattr(findings, "RESULTS", tmp_path)
    (tmp_path / "losses").mkdir()
    for text, current in ((f"> {findings.EARLIER_FORM}, *innovations*", False), ("# The two losses", True)):
        (tmp_path / "losses" / "README.md").write_text(text)
        assert findings.is_current("losses") == current
    assert not findings.is_current("temperature")

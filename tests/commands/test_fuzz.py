"""Random mistakes and random damage: one line, no traceback, nothing of a stranger's changed."""

import pytest

from tests.support.fuzz.cases import Case, make_templates, run_case

NUM_CASES, NUM_GROUPS = 300, 10


@pytest.fixture(scope="module")
def templates(tmp_path_factory):
    directory = tmp_path_factory.mktemp("templates")
    make_templates(directory)
    return directory


@pytest.mark.slow
@pytest.mark.parametrize("group", range(NUM_GROUPS))
def test_no_mistake_and_no_damage_gives_a_traceback_or_changes_other_files(templates, tmp_path, group):
    for number in range(group, NUM_CASES, NUM_GROUPS):
        outcome = run_case(Case(seed=0, number=number), templates, tmp_path / str(number))
        assert outcome.fault is None, f"case {number}: {outcome}"


def test_the_fuzz_test_sees_faults(monkeypatch, tmp_path):
    def careless(args):
        (tmp_path / "case/foreign/lock").write_text("")
        raise ValueError("a traceback")

    monkeypatch.setattr("tests.support.fuzz.cases.SHARE_OF_DAMAGE", 0.0)
    monkeypatch.setattr("tests.support.fuzz.cases.curiax", careless)
    outcome = run_case(Case(seed=0, number=0), tmp_path, tmp_path / "case")
    assert outcome.fault == "exit code ValueError: a traceback"
    assert outcome._replace(code=2, stderr="one line").fault == "changed foreign/lock"
    assert outcome._replace(code=0, changed=[]).fault is None
    assert outcome._replace(code=2, stderr="1\n2\n3\n4", changed=[]).fault == "4 lines on stderr"
    assert outcome._replace(code=2, changed=[]).fault == "refused without a word"

"""A study measures the speed first only if that is a small part of its work, and never with --no-estimate."""

import dataclasses
import io

import pytest
from rich.console import Console

from curiax.commands.cli import main
from curiax.config import LAPTOP, PAPER
from curiax.studies.runner import run
from curiax.studies.runner.measure import few_rows, pays
from curiax.studies.runner.run import make_plan, run_study


@pytest.fixture
def measured(monkeypatch):
    """The methods that were measured; nothing is trained."""
    found = []
    monkeypatch.setattr(run, "measure", lambda configs, cores, stop: found.extend(configs) or {})
    monkeypatch.setattr(run, "launch", lambda tasks, place, stop: (state for state in ()))
    return found


def study(directory, config, *, dry_run=False, **options):
    plan = make_plan("demo", config, directory=directory, **options)
    output = io.StringIO()
    run_study(plan, dry_run, Console(file=output, width=400))
    return output.getvalue()


def test_a_long_study_is_measured_and_a_short_one_is_not(tmp_path, measured):
    said = study(tmp_path / "short", dataclasses.replace(LAPTOP, env_steps=102_400))
    assert measured == [] and "2 of 2 runs to do" in said and "about" not in said
    assert "measuring the speed of byol-explore, byol-hindsight" in study(tmp_path / "long", LAPTOP)
    assert sorted(measured) == ["byol-explore", "byol-hindsight"]


def test_no_estimate_measures_nothing_and_a_dry_run_measures_always(tmp_path, measured):
    said = study(tmp_path / "long", LAPTOP, estimate=False)
    assert measured == [] and "measuring" not in said
    study(tmp_path / "short", dataclasses.replace(LAPTOP, env_steps=100_000), dry_run=True)
    assert len(measured) == 2


def test_what_is_measured_is_at_most_a_twentieth_of_the_work():
    steps = few_rows(LAPTOP).env_steps
    assert steps == 3 * LAPTOP.log_every * LAPTOP.steps_per_update
    assert pays([LAPTOP, LAPTOP], 40 * steps) and not pays([LAPTOP, LAPTOP], 40 * steps - 1)
    assert pays([PAPER], PAPER.env_steps)


def test_the_option_reaches_the_plan_and_studies_without_an_estimate_refuse_it(monkeypatch, capsys, tmp_path):
    plans = []
    monkeypatch.setattr(run, "run_study", lambda plan, dry_run, console: plans.append(plan) or 0)
    assert main(["study", "demo", "--no-estimate", "--out", str(tmp_path)]) == 0 and not plans[0].estimate
    assert main(["study", "scm", "--no-estimate"]) == 2
    assert "--no-estimate: the study scm makes no estimate" in capsys.readouterr().err

"""The figures: a colour for each method, and a panel for each loss that was logged."""

import matplotlib.pyplot as plt
import numpy as np
import pytest

from curiax.report.figure import (
    COLOURS,
    LOSSES,
    OUTCOMES,
    add_legend,
    colours,
    draw_losses,
    draw_outcomes,
    spans_decades,
)
from curiax.report.read import read_study
from tests.support.report_data import config_of, game_of, write_columns, write_run


def test_a_method_keeps_its_colour_and_variants_share_none():
    names = ["byol-explore", *(f"variant-{number}" for number in range(12))]
    found = colours(names)
    assert found["byol-explore"] == COLOURS["byol-explore"]
    assert set(found) == set(names)
    assert len(set(found.values())) == len(names)


def test_losses_that_were_logged_are_drawn_and_no_others(tmp_path, monkeypatch):
    losses = {"prediction_error": [0.5, 0.25], "entropy": [1.5, 1.0]}
    write_run(tmp_path / "run", config_of("brownian", "icm", 0, 2), [1.0, 2.0], [0.2, 0.6], **losses)
    drawn = []
    monkeypatch.setattr(plt, "close", drawn.append)
    draw_losses(read_study(tmp_path / "run"), [tmp_path / "losses.png"])
    panels = {axes.get_ylabel(): axes for axes in drawn[0].axes}
    assert list(panels) == [LOSSES[name] for name in ("noise_dwell", "prediction_error", "entropy")]
    for name, values in {"noise_dwell": [0.2, 0.6], **losses}.items():
        np.testing.assert_allclose(panels[LOSSES[name]].get_lines()[-1].get_ydata(), values, rtol=1e-6)
    assert (tmp_path / "losses.png").stat().st_size > 0


def outcomes_of(level):
    """Losses in the paper's order, falling in the first of twenty rows, then at rest; the invariance loss may be less
    than nothing."""
    values = dict(zip(OUTCOMES, (0.4, 0.3, 0.2, 0.1, -0.3), strict=True))
    return {name: [3.0] + [level * value] * 19 for name, value in values.items()}


def drawn_outcomes(root, path, monkeypatch):
    drawn = []
    monkeypatch.setattr(plt, "close", drawn.append)
    assert draw_outcomes(read_study(root), [path])
    return drawn[0], [axes for axes in drawn[0].axes if axes.axison]


def test_outcome_losses_of_a_setting_share_one_axis_under_the_papers_names(tmp_path, monkeypatch):
    for game, level in (("hero", 1.0), ("venture", 2.0)):
        columns = {"return": [1.0] * 20, **outcomes_of(level)}
        write_columns(tmp_path / game / "0", game_of(game, "byol-hindsight", 0, 20), columns)
        explore = {"return": [1.0] * 20, "prediction_error": [9.0] * 20}
        write_columns(tmp_path / game / "1", game_of(game, "byol-explore", 0, 20), explore)
    figure, panels = drawn_outcomes(tmp_path, tmp_path / "outcomes.svg", monkeypatch)
    assert [axes.get_title() for axes in panels] == ["hero", "venture"]
    assert {axes.get_xlabel() for axes in panels} == {"agent steps, millions"} and panels[0].get_ylabel() == "loss"
    for axes, level in zip(panels, (1.0, 2.0), strict=True):
        ends = {line.get_label(): line.get_ydata()[-1] for line in axes.get_lines()}
        assert ends == {OUTCOMES[name].title: pytest.approx(values[-1]) for name, values in outcomes_of(level).items()}
        assert axes.get_ylim() == pytest.approx((-0.02 * level, 0.44 * level))  # not from where they begin
    (legend,) = figure.legends
    assert [text.get_text() for text in legend.get_texts()] == [stroke.title for stroke in OUTCOMES.values()]
    assert (tmp_path / "outcomes.svg").stat().st_size > 0


def test_settings_of_one_environment_share_the_scale_of_outcomes_and_methods_have_panels_of_their_own(
    tmp_path, monkeypatch
):
    for method, level in (("byol-hindsight", 1.0), ("icm+hindsight", 2.0)):
        columns = {"return": [1.0] * 20, **outcomes_of(level)}
        write_columns(tmp_path / method, game_of("hero", method, 0, 20), columns)
    _, panels = drawn_outcomes(tmp_path, tmp_path / "outcomes.png", monkeypatch)
    assert [axes.get_title() for axes in panels] == ["hero\nBYOL-Hindsight", "hero\nICM + hindsight"]
    assert panels[0].get_ylim() == panels[1].get_ylim() == pytest.approx((-0.04, 0.88))


def test_without_hindsight_there_are_no_outcomes_to_compare(tmp_path):
    config = config_of("brownian", "icm", 0, 2)
    write_run(tmp_path / "run", config, [1.0, 2.0], [0.2, 0.6], prediction_error=[0.5, 0.25])
    (tmp_path / "outcomes.png").write_text("of runs that are no more")
    assert not draw_outcomes(read_study(tmp_path / "run"), [tmp_path / "outcomes.png"])
    assert not (tmp_path / "outcomes.png").exists()


@pytest.mark.parametrize(("length", "columns"), [(5, 2), (30, 1)])
def test_a_legend_has_as_many_columns_as_fit(length, columns):
    figure, axes = plt.subplots(figsize=(4.4, 3), layout="constrained")
    lines = {f"{index}".zfill(length): axes.plot([0, 1], [0, 1])[0] for index in range(4)}
    add_legend(figure, lines, 2)
    plt.close(figure)
    (legend,) = figure.legends
    assert legend._ncols == columns and legend.get_window_extent().width <= figure.bbox.width


@pytest.mark.parametrize(
    ("curves", "logarithmic"),
    [
        ([[1.0, 0.5], [1e-3, 2e-3]], True),
        ([[1.0, 0.5], [0.1, 0.2]], False),
        ([[1.0, 0.0], [1e-3, 2e-3]], False),
        ([], False),
    ],
)
def test_errors_that_span_decades_are_drawn_on_a_logarithmic_axis(curves, logarithmic):
    figure, axes = plt.subplots(1, 2)
    for panel, curve in zip(axes, curves, strict=False):
        panel.plot(curve)
    assert spans_decades(axes) == logarithmic
    plt.close(figure)

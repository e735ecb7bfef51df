"""The figures: a colour for each method, and a panel for each loss that was logged."""

import matplotlib.pyplot as plt
import numpy as np
import pytest
from report_data import config_of, write_run

from curiax.report.figure import COLOURS, LOSSES, add_legend, colours, draw_losses
from curiax.report.read import read_study


def test_a_method_keeps_its_colour_and_variants_share_none():
    names = ["one", "byol-explore", "two", "three", "four", "five", "six", "seven"]
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


@pytest.mark.parametrize(("length", "columns"), [(5, 2), (30, 1)])
def test_a_legend_has_as_many_columns_as_fit(length, columns):
    figure, axes = plt.subplots(figsize=(4.4, 3), layout="constrained")
    lines = {f"{index}".zfill(length): axes.plot([0, 1], [0, 1])[0] for index in range(4)}
    add_legend(figure, lines, 2)
    plt.close(figure)
    (legend,) = figure.legends
    assert legend._ncols == columns and legend.get_window_extent().width <= figure.bbox.width

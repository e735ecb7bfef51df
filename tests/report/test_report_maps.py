"""Maps: shares of time and reward per visit, in slices of training, and their colours."""

import numpy as np

from curiax.report.maps import layout_payload, levels_of_reward, levels_of_share, slice_edges, sliced, top_reward
from curiax.report.read import read_study
from tests.support.report_data import LAYOUT, config_of, staring, write_run

ROWS = 8
CELL = (4, 12)  # where the agent stares
FLOOR = np.argwhere(~LAYOUT.wall).tolist()
INDEX = FLOOR.index(list(CELL))


def runs(path, *lengths, maps=True):
    for seed, length in enumerate(lengths):
        pictures = staring(ROWS, CELL, since=ROWS // 2)[:length] if maps else ()
        config = config_of("on-demand", "rnd", seed, ROWS)
        write_run(path / str(seed), config, [1.0] * length, [0.5] * length, pictures)
    study = read_study(path)
    return study.group("on-demand", "rnd"), slice_edges(study)


def test_share_of_time_is_visits_over_all_visits(tmp_path):
    maps = sliced(*runs(tmp_path, ROWS))
    assert maps.share.shape == (ROWS, len(FLOOR))
    np.testing.assert_allclose(maps.share.sum(axis=1), 1)
    np.testing.assert_allclose(maps.share[0], 1 / len(FLOOR))
    stare = 20_000 / (20_000 + 10 * (len(FLOOR) - 1))
    np.testing.assert_allclose(maps.share[-1, INDEX], stare)


def test_reward_is_per_visit(tmp_path):
    maps = sliced(*runs(tmp_path, ROWS))
    np.testing.assert_allclose(maps.wanted[:, INDEX], 2.0, rtol=1e-6)
    np.testing.assert_allclose(np.delete(maps.wanted, INDEX, axis=1), 0.2, rtol=1e-6)


def test_slices_that_no_run_has_reached_are_unknown(tmp_path):
    group, _ = runs(tmp_path, ROWS // 2)
    whole = np.linspace(0, ROWS * 25 * 1024, ROWS + 1)
    maps = sliced(group, whole)
    np.testing.assert_array_equal(np.isnan(maps.share).all(axis=1), np.arange(ROWS) >= ROWS // 2)
    assert not levels_of_share(maps.share)[-1].any()
    assert not levels_of_reward(maps.wanted, 1.0)[-1].any()


def test_seeds_are_summed_and_a_longer_one_stands_alone(tmp_path):
    maps = sliced(*runs(tmp_path, ROWS, ROWS // 2))
    alone = sliced(*runs(tmp_path / "alone", ROWS))
    np.testing.assert_allclose(maps.share, alone.share)


def test_runs_without_maps_have_none(tmp_path):
    assert sliced(*runs(tmp_path, ROWS, maps=False)) is None


def test_levels_of_time_are_logarithmic():
    levels = levels_of_share(np.array([[1.0, 0.1, 0.001, 0.0, np.nan]]))
    np.testing.assert_array_equal(levels, [[255, 170, 0, 0, 0]])


def test_levels_of_reward_tell_none_from_not_known():
    levels = levels_of_reward(np.array([[0.0, 1.0, 2.0, 3.0, np.nan]]), top=2.0)
    np.testing.assert_array_equal(levels, [[1, 128, 255, 255, 0]])


def test_the_scale_of_rewards_reaches_to_what_is_stared_at_though_it_be_one_cell(tmp_path):
    maps = sliced(*runs(tmp_path, ROWS))
    np.testing.assert_allclose(top_reward([maps]), 2.0, rtol=1e-6)
    walking = maps._replace(share=maps.share[:2], wanted=maps.wanted[:2])  # before it stares: a cell like others
    np.testing.assert_allclose(top_reward([walking]), 0.2, rtol=1e-6)


def test_without_maps_the_scale_does_not_matter():
    assert top_reward([]) == 1.0


def test_the_page_is_told_where_every_cell_is():
    layout = layout_payload(LAYOUT)
    rows, columns = LAYOUT.wall.shape
    assert (layout["rows"], layout["columns"]) == (rows, columns)
    assert [list(divmod(cell, columns)) for cell in layout["floor"]] == FLOOR
    names = dict(zip(map(tuple, FLOOR), layout["places"], strict=True))
    assert names[tuple(LAYOUT.start)] == "the first room"
    for number in (1, 2, 3, 4):
        region = np.argwhere(LAYOUT.region == number)
        assert {names[tuple(cell)] for cell in region.tolist()} == {f"R{number}"}

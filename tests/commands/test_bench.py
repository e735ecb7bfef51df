"""The speed table is complete and adds up. Speeds are not tested: they depend on the load."""

import contextlib
import io
import json

import pytest
from rich.console import Console

from curiax import curiosity
from curiax.commands.benchmarks import maze as bench
from curiax.commands.cli import main
from tests.support.tiny import TINY

METHODS = ("byol-explore", "byol-hindsight")


@pytest.fixture(scope="module")
def measured(tmp_path_factory):
    """What `curiax bench --json FILE` writes and prints, of two methods and small sizes."""
    path = tmp_path_factory.mktemp("bench") / "bench.json"
    printed = io.StringIO()
    with pytest.MonkeyPatch.context() as patch, contextlib.redirect_stdout(printed):
        patch.setattr(bench, "LAPTOP", TINY)
        patch.setattr(bench, "REPEATS", 1)
        patch.setattr(bench, "GEMM_SIZE", 64)
        patch.setattr(curiosity, "METHODS", {name: curiosity.METHODS[name] for name in METHODS})
        patch.setenv("COLUMNS", "120")
        assert main(["bench", "--json", str(path)]) == 0
    return json.loads(path.read_text()), printed.getvalue()


@pytest.mark.slow
@pytest.mark.parametrize("name", METHODS)
def test_every_method_has_its_speed_and_its_share_of_the_peak(name, measured):
    row = measured[0]["methods"][name]
    assert all(value > 0 for value in row.values())
    assert row["fraction_of_peak"] == pytest.approx(row["update_gflops"] / row["gemm_gflops"])


@pytest.mark.slow
def test_the_table_is_whole_and_its_ratios_are_ratios(measured):
    result = measured[0]
    speed = {name: result["methods"][name]["env_steps_per_s"] for name in METHODS}
    assert list(result["methods"]) == list(METHODS)
    assert result["gemm_gflops"] == max(row["gemm_gflops"] for row in result["methods"].values())
    assert result["hindsight_vs_explore"] == pytest.approx(speed["byol-hindsight"] / speed["byol-explore"])
    assert result["maze_vs_pycolab"] == pytest.approx(result["maze_steps_per_s"] / result["pycolab_steps_per_s"])
    assert result["cores"] >= 1


@pytest.mark.slow
def test_the_compiled_maze_needs_less_processor_time_than_its_twin(measured):
    assert measured[0]["maze_vs_pycolab"] > 10  # about 150: both are counted in processor time, so load changes little


@pytest.mark.slow
def test_the_table_is_printed(measured):
    result, printed = measured
    words = [*METHODS, "env steps/s", "of matrix-multiply peak", "byol-hindsight makes", "its Pycolab twin"]
    assert [word for word in words if word not in printed] == []
    assert f"{result['maze_steps_per_s']:,.0f} steps/s" in printed


def test_show_prints_the_numbers_it_is_given():
    row = {"env_steps_per_s": 12345.6, "update_ms": 1.25, "update_gflops": 40.4, "fraction_of_peak": 0.42}
    result = {"methods": {"byol-hindsight": row}, "gemm_gflops": 96.2, "hindsight_vs_explore": 0.61, "cores": 2}
    result |= {"maze_steps_per_s": 2e6, "pycolab_steps_per_s": 4e3, "maze_vs_pycolab": 500.0}
    console = Console(file=io.StringIO(), width=120)
    bench.show(console, result)
    printed = console.file.getvalue()
    for words in ("12,346", "40", "42%", "96 GFLOP/s on 2 cores", "61% of", "2,000,000 steps/s", "500 ×", "(4,000)"):
        assert words in printed


def test_the_peak_is_positive(monkeypatch):
    monkeypatch.setattr(bench, "GEMM_SIZE", 64)
    assert bench.gemm_gflops() > 0

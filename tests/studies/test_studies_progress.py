"""A study as it goes: progress from metrics, time left, scores, and how they are drawn."""

import dataclasses
import io
import json
import math

import numpy as np
import pytest
from rich.console import Console

from curiax.config import to_dict
from curiax.envs import scores_of
from curiax.studies.base import Member
from curiax.studies.runner import display
from curiax.studies.runner.display import Display, Line, cells, picture, plain, summary
from curiax.studies.runner.launch import State
from curiax.studies.runner.progress import (
    LAST_ROWS,
    Progress,
    Speed,
    duration,
    finished,
    glance,
    makespan,
    progress,
    seconds_left,
)
from curiax.studies.scores import Result, read_columns, result, score_table, write_scores
from curiax.training.run.metrics import MetricsFile
from tests.support.tiny import TINY

NAN = math.nan
CONFIG = dataclasses.replace(TINY, env_steps=8000)  # 1,000 updates
MEMBER = Member("on-demand", "byol-explore", 2)


def write_rows(directory, num_rows, seconds_per_row=0.5, start=10.0, trackers=lambda update: update / 100):
    """Metrics of a run of ten updates a row, the first after a start of some seconds."""
    directory.mkdir(exist_ok=True)
    file = MetricsFile(directory / "metrics.csv")
    for row in range(1, num_rows + 1):
        update = 10 * row
        seconds = start + seconds_per_row * row
        metrics = {"noise_dwell": 0.25, "trackers": trackers(update)} | {f"filler_{i}": i / 7 for i in range(30)}
        file.append({"update": update, "env_steps": 8 * update, "seconds": seconds, **metrics})
    file.close()
    return directory / "metrics.csv"


@pytest.mark.parametrize("num_rows", [1, 2, 8, 9, 40, 1000])
def test_a_glance_gives_the_first_row_and_the_last_few_however_long_the_file(num_rows, tmp_path):
    rows = glance(write_rows(tmp_path, num_rows))
    updates = [10 * row for row in range(1, num_rows + 1)]
    assert [row["update"] for row in rows] == updates[:1] + updates[1:][-LAST_ROWS:]
    assert rows[-1]["filler_29"] == 29 / 7 and rows[0]["seconds"] == 10.5


def test_a_glance_passes_over_a_row_that_is_being_written(tmp_path):
    path = write_rows(tmp_path, 3)
    content = path.read_bytes()
    for cut in (0, 10, content.index(b"\n") + 5, content.index(b"10.5"), len(content) - 1):
        path.write_bytes(content[:cut])
        assert [row["update"] for row in glance(path)] == [10, 20, 30][: max(content[:cut].count(b"\n") - 1, 0)]


def test_progress_tells_steps_trackers_noise_dwell_and_speed(tmp_path):
    write_rows(tmp_path, 50)
    run = progress(tmp_path, CONFIG)
    assert (run.env_steps, run.total_steps, run.share) == (4000, 8000, 0.5)
    assert run.shown == {"trackers": pytest.approx(np.mean(range(43, 51)) / 10), "noise dwell": 0.25}
    assert run.speed == pytest.approx(Speed(160, 10))  # 80 steps in half a second, after ten
    assert seconds_left(run, run.speed) == pytest.approx(25)


def test_a_run_that_has_not_begun_has_no_speed_and_no_score(tmp_path):
    run = progress(tmp_path, CONFIG)
    assert (run.env_steps, run.speed) == (0, None) and math.isnan(run.shown["trackers"])
    write_rows(tmp_path, 1, trackers=lambda update: NAN)
    run = progress(tmp_path, CONFIG)
    assert (run.env_steps, run.speed) == (80, None) and math.isnan(run.shown["trackers"])


def test_outside_of_mazes_progress_tells_mean_returns_and_the_rooms_found_so_far(tmp_path):
    assert list(progress(tmp_path, dataclasses.replace(CONFIG, env="atari/hero")).shown) == ["return", "noise dwell"]
    pitfall = dataclasses.replace(CONFIG, env="atari/pitfall")
    file = MetricsFile(tmp_path / "metrics.csv")
    for row, points in enumerate((NAN, 300.0, 500.0), 1):
        file.append(
            {
                "update": row,
                "env_steps": 8 * row,
                "seconds": row,
                "return": points,
                "rooms_found": row,
                "noise_dwell": 0,
            }
        )
    file.close()
    assert progress(tmp_path, pitfall).shown == {"return": 400.0, "rooms": 3.0, "noise dwell": 0.0}


def test_the_time_of_the_whole_is_that_of_the_last_core_to_end():
    seconds = [3.0, 1.0, 1.0, 2.0]
    assert makespan(seconds, 1) == 7
    assert makespan(seconds, 2) == 4  # 3 | 1 1 2
    assert makespan(seconds, 8) == 3
    assert makespan([], 2) == 0


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(0.0, "0 s"), (89.0, "89 s"), (91.0, "2 min"), (5400.0, "90 min"), (7500.0, "2 h 05 min"), (NAN, "…")],
)
def test_a_duration_is_told_in_the_units_one_thinks_in(seconds, text):
    assert duration(seconds) == text


def test_a_run_is_finished_if_it_is_done_long_enough_and_the_one_asked_for(tmp_path):
    assert not finished(tmp_path, CONFIG)
    (tmp_path / "config.json").write_text(json.dumps(to_dict(CONFIG)))
    assert not finished(tmp_path, CONFIG)
    (tmp_path / "DONE").write_text('{"update": 1000}')
    assert finished(tmp_path, CONFIG)
    assert finished(tmp_path, dataclasses.replace(CONFIG, env_steps=4000))
    assert not finished(tmp_path, dataclasses.replace(CONFIG, env_steps=16000))  # it is to be longer
    assert not finished(tmp_path, dataclasses.replace(CONFIG, learning_rate=0.5))  # another run
    (tmp_path / "DONE").write_text("")
    assert not finished(tmp_path, CONFIG)


def test_a_score_is_the_mean_over_the_last_quarter_of_training(tmp_path):
    write_rows(tmp_path, 100, trackers=lambda update: NAN if update % 20 else 4.0 if update > 750 else 1.0)
    found = result(MEMBER, read_columns(tmp_path / "metrics.csv"), scores_of("maze/on-demand"))
    assert found[:-2] == ("on-demand", "byol-explore", 2, 4.0, 0.25, 8000, pytest.approx(1.0))
    assert math.isnan(found.entropy) and found.others == {}


def test_scores_are_written_as_a_table_with_empty_cells_for_nan(tmp_path):
    write_scores(
        tmp_path / "scores.csv", [Result(*MEMBER, 3.5, 0.125, 8000, 1.5, 1.25), Result(*MEMBER, NAN, 0.5, 80, 0.25)]
    )
    assert (tmp_path / "scores.csv").read_text() == (
        "setting,method,seed,score,noise_dwell,env_steps,wall_minutes,entropy\n"
        "on-demand,byol-explore,2,3.5,0.125,8000,1.5,1.25\n"
        "on-demand,byol-explore,2,,0.5,80,0.25,\n"
    )


def drawn(renderable, width=80):
    console = Console(file=io.StringIO(), width=width)
    console.print(renderable)
    return console.file.getvalue().splitlines()


def test_the_table_of_scores_has_a_row_for_each_setting_and_method():
    rows = [Result("random", "icm", seed, float(seed), 0.5, 80, 1.0) for seed in (1, 2, 3)]
    lines = drawn(score_table([Result("on-demand", "rnd", 0, NAN, 0.75, 80, 1.0), *rows], "trackers"))
    assert any("trackers" in line and "noise dwell" in line for line in lines)
    (icm,) = [line for line in lines if "icm" in line]
    assert [part.strip() for part in icm.split("│")[1:-1]] == ["random", "icm", "3", "2.00 ± 2.48", "0.50 ± 0.00"]
    (rnd,) = [line for line in lines if "rnd" in line]
    assert [part.strip() for part in rnd.split("│")[1:-1]] == ["on-demand", "rnd", "1", "…", "0.75"]


def run(kind, number=0, share=0.5, reason="", trackers=3.25):
    steps = int(8000 * share)
    shown = {"trackers": trackers, "noise dwell": 0.125}
    progress = Progress(steps, 8000, shown, Speed(160.0, 10.0) if steps else None)
    return Line(f"on-demand/byol-hindsight/{number}", State(kind, reason), progress)


def test_a_run_is_shown_with_state_progress_trackers_noise_dwell_speed_and_time_left():
    assert list(cells(run("running")).values()) == ["running", "50%", "3.25", "0.12", "160", "25 s"]
    assert list(cells(run("waiting", share=0, trackers=NAN)).values()) == ["waiting", "", "", "0.12", "", ""]
    assert list(cells(run("done", share=1)).values()) == ["done", "100%", "3.25", "0.12", "", ""]
    assert plain(run("running")) == (
        "on-demand/byol-hindsight/0: running  50%  trackers 3.25  noise dwell 0.12  160 steps/s  25 s left"
    )
    assert plain(run("failed", reason="no disk")) == "on-demand/byol-hindsight/0: failed: no disk"


def test_the_table_fits_a_terminal_of_80_columns_and_tells_the_whole():
    lines = drawn(
        picture([run("running", 0), run("failed", 1, reason="no disk"), run("waiting", 2)], 4000.0, False, 24)
    )
    assert max(map(len, lines)) <= 80
    assert sum("on-demand/byol-hindsight/" in line for line in lines) == 4  # three runs, one reason
    assert any("byol-hindsight/1: no disk" in line for line in lines)
    assert lines[-1] == "0 of 3 runs done, 1 running, 1 waiting, 1 failed, 67 min left"
    assert lines[2].split() == ["on-demand/byol-hindsight/0", "running", "50%", "3.25", "0.12", "160", "25", "s"]


def test_where_not_all_runs_fit_those_with_news_stay():
    lines = [run("done", i, share=1) for i in range(30)] + [run("waiting", i, share=0) for i in range(30, 60)]
    lines[10], lines[40] = run("failed", 10, reason="no disk"), run("running", 40)
    shown = drawn(picture(lines, NAN, False, 24))
    assert len(shown) < 24
    assert any(line.startswith("on-demand/byol-hindsight/40 running") for line in shown)
    assert any(line.startswith("on-demand/byol-hindsight/10 failed") for line in shown)
    num_runs = sum(line.startswith("on-demand/") and "no disk" not in line for line in shown)
    assert f"… and {60 - num_runs} more" in shown
    assert shown[-1] == "29 of 60 runs done, 1 running, 29 waiting, 1 failed, … left"


def test_a_stopping_study_says_so():
    assert summary([run("running")], 4000.0, True).endswith("1 running, stopping; Ctrl-C again to end at once")


def test_without_a_terminal_there_are_lines_for_what_changes_and_now_and_then_for_all(monkeypatch):
    console = Console(file=io.StringIO(), width=200)
    with Display(console) as shown:
        for kind in ("waiting", "running", "running", "done"):
            shown.show([run(kind)], 60.0, False)
        assert [line.split(": ")[1].split()[0] for line in console.file.getvalue().splitlines()] == ["running", "done"]
        monkeypatch.setattr(display, "PLAIN_INTERVAL", 0)
        shown.show([run("running")], 60.0, False)
    assert console.file.getvalue().splitlines()[-1] == "0 of 1 runs done, 1 running, 60 s left"

"""Ctrl-C and SIGTERM always work: while code in C runs, while XLA compiles, in the middle of a long interval."""

import contextlib
import dataclasses
import io
import os
import re
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from types import SimpleNamespace

import pytest
from rich.console import Console

from curiax.commands import program
from curiax.commands.program import Display, run_training
from curiax.config.presets import PAPER
from curiax.training import train as training
from curiax.training.signals import STOPPING, Stop, polite_stop, prompt_stop
from curiax.training.train import calls, train
from tests.support.interrupt import Moment, interrupt
from tests.support.programs import PATIENCE, metrics_but_seconds, num_rows, train_args, wait_for, wait_until
from tests.support.terminal import ROOT, leave, read, terminal
from tests.support.tiny import TINY, leaves

BUSY = "import hashlib; print('busy', flush=True); hashlib.pbkdf2_hmac('sha256', b'', b'', 10**9)"  # minutes, in C
POLITE = f"""
from curiax.training.signals import polite_stop
with polite_stop(lambda line: print(line, flush=True)):
    {BUSY}
"""
PROMPT = f"""
from curiax.training.signals import prompt_stop
with prompt_stop():
    {BUSY}
"""
FINALISER = """
import time
from curiax.training.signals import prompt_stop
class Slow:
    def __del__(self):
        print("busy", flush=True)
        time.sleep(60)
with prompt_stop():
    del (slow := [Slow()])[0]
    time.sleep(60)
"""
COLOUR = re.compile(r"\x1b\[[\d;]*m")
FOUR = dataclasses.replace(TINY, log_every=4, env_steps=16 * TINY.steps_per_update)


@contextlib.contextmanager
def script(text):
    process = subprocess.Popen([sys.executable, "-c", text], cwd=ROOT, stdout=-1, stderr=-1, text=True)
    try:
        assert process.stdout is not None and process.stdout.readline() == "busy\n"
        time.sleep(0.3)  # between the line and the busy code
        yield process
    finally:
        process.kill()
        process.communicate()


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_while_c_code_runs_the_first_signal_is_acknowledged_and_further_ones_end_the_process(number, code):
    with script(POLITE) as process:
        process.send_signal(number)
        assert process.stdout.readline() == STOPPING + "\n"
        assert process.poll() is None
        process.send_signal(number)
        time.sleep(0.1)  # signals of the same number may merge if they come at once
        process.send_signal(number)
        assert process.communicate(timeout=PATIENCE) == ("", "curiax: interrupted\n")
    assert process.returncode == code


@pytest.mark.slow
def test_while_c_code_runs_one_signal_ends_a_command_that_has_nothing_to_save():
    with script(PROMPT) as process:
        process.send_signal(signal.SIGINT)
        assert process.communicate(timeout=PATIENCE) == ("", "curiax: interrupted\n")
    assert process.returncode == 130


def test_a_keyboard_interrupt_that_a_finaliser_swallows_ends_the_process_without_a_traceback():
    with script(FINALISER) as process:
        process.send_signal(signal.SIGINT)
        assert process.communicate(timeout=PATIENCE) == ("", "curiax: interrupted\n")
    assert process.returncode == 130


def test_handlers_are_as_before_after_the_block():
    before = [signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)]
    said, threads = [], threading.active_count()
    with polite_stop(said.append) as stop:
        signal.raise_signal(signal.SIGTERM)
        stop.wait_for_line()
        assert (stop.signal, said) == (signal.SIGTERM, [STOPPING])
        with pytest.raises(KeyboardInterrupt):
            signal.raise_signal(signal.SIGTERM)
    with pytest.raises(KeyboardInterrupt), prompt_stop():
        signal.raise_signal(signal.SIGINT)
    assert [signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)] == before
    assert signal.set_wakeup_fd(-1) == -1
    assert threading.active_count() == threads


def test_another_thread_can_run_a_command_without_signals():
    found = []

    def work():
        with polite_stop(print) as stop:
            found.append(stop)

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert isinstance(found[0], Stop)


@pytest.mark.parametrize(
    ("seconds", "expected"),
    [
        (1e9, [(0, 1), (1, 1), (2, 2), (0, 4)]),  # quick updates: whole intervals, once that is known
        (0.0, [(0, 1), (1, 1), (2, 1), (3, 1), (0, 1), (1, 1), (2, 1), (3, 1)]),
    ],
)
def test_an_interval_is_one_call_unless_that_would_take_long(seconds, expected, monkeypatch):
    monkeypatch.setattr(training, "CALL_SECONDS", seconds)
    assert list(calls(8, log_every=4)) == expected


@pytest.mark.slow
def test_metrics_and_state_have_the_same_bits_however_an_interval_is_divided(monkeypatch):
    whole, seen = list(train(FOUR)), []
    monkeypatch.setattr(training, "CALL_SECONDS", 0.0)
    divided = list(train(FOUR, watch=lambda num_updates: seen.append(num_updates) or 0))
    assert [row.metrics for row in map(numbers, divided)] == [row.metrics for row in map(numbers, whole)]
    assert leaves(divided[-1].state) == leaves(whole[-1].state)
    assert seen == [update for update in range(1, 16) if update % 4]


def numbers(row):
    """The row with its metrics as texts: NaN equals NaN."""
    return row._replace(metrics={name: value.hex() for name, value in row.metrics.items()})


@pytest.mark.slow
def test_a_signal_in_a_long_interval_saves_the_last_row_and_the_run_goes_on_to_the_same_bits(tmp_path, monkeypatch):
    assert run_training(FOUR, tmp_path / "whole", False, Console(quiet=True)) == 0
    show_within = Display.show_within

    def show_and_stop(display, num_updates):
        show_within(display, num_updates)
        if num_updates == 10:
            signal.raise_signal(signal.SIGINT)

    monkeypatch.setattr(training, "CALL_SECONDS", 0.0)
    monkeypatch.setattr(program, "PATIENCE", -1.0)  # seconds; no interval is waited for
    with monkeypatch.context() as patch:
        patch.setattr(Display, "show_within", show_and_stop)
        console = Console(file=io.StringIO(), width=200)
        assert run_training(FOUR, tmp_path / "cut", False, console) == 130
    assert console.file.getvalue().splitlines()[-2:] == [
        STOPPING,
        "saved at update 8; the same command goes on from here",
    ]
    assert num_rows(tmp_path / "cut") == 2
    console = Console(file=io.StringIO(), width=200)
    assert run_training(FOUR, tmp_path / "cut", False, console) == 0
    assert "going on from update 8 of 16" in console.file.getvalue()
    assert metrics_but_seconds(tmp_path / "cut") == metrics_but_seconds(tmp_path / "whole")


def test_a_run_of_the_paper_says_how_long_it_will_take_once_that_is_measured(monkeypatch):
    now = 0.0
    clock = SimpleNamespace(perf_counter=lambda: now)
    monkeypatch.setattr(program, "time", clock)
    monkeypatch.setattr("curiax.training.progress.time", clock)
    console = Console(file=io.StringIO(), width=200)
    with Display(PAPER, console) as display:
        now = 80.0
        display.show_within(1)
        assert display.seconds_to_row(1) == float("inf")
        now = 100.0
        display.show_within(2)
        assert display.seconds_to_row(2) == 23 * 20.0
    assert console.file.getvalue().splitlines() == [
        "compiling …",
        "0.00/409.60 M steps  … steps/s",
        "compiled in 80 s; about 23 days to go on this machine",
        "0.01/409.60 M steps  205 steps/s",
    ]


@pytest.mark.slow
def test_a_compilation_can_be_interrupted_and_the_same_command_starts_cleanly(tmp_path):
    outcome = interrupt(
        Moment("laptop", delay=12.0, pause=0.5), tmp_path, Path(os.environ["JAX_COMPILATION_CACHE_DIR"])
    )
    assert outcome.acknowledged < 5 and outcome.ended < 10, outcome  # on a busy machine; how soon, the module measures
    assert outcome.again and outcome.code in (130, -signal.SIGINT), outcome


def drawn(pty):
    """All that was drawn, without colours."""
    read(pty, 0.1)
    return COLOUR.sub("", pty.output.decode(errors="ignore"))


@pytest.mark.slow
def test_on_a_terminal_the_bar_shows_seconds_and_leaves_the_cursor_behind(tmp_path, monkeypatch):
    monkeypatch.setenv("JAX_COMPILATION_CACHE_DIR", str(tmp_path / "cache"))  # empty: to compile takes long
    words = ["train", "maze/on-demand", "--preset", "paper", "--run-dir", str(tmp_path / "run")]
    with terminal(sys.executable, "-m", "curiax", *words) as pty:
        for text in (r"compiling … 0:00:(0[8-9]|[1-9])", STOPPING):
            wait_until(lambda text=text: re.search(text, drawn(pty)), pty.process)
            pty.process.send_signal(signal.SIGINT)
        assert leave(pty) == 130
    last = COLOUR.sub("", pty.output.decode()).splitlines()[-1]
    assert "curiax: interrupted" in last or "saved at update 0" in last  # it may stop before it is ended
    assert pty.output.rfind(b"\x1b[?25h") > pty.output.rfind(b"\x1b[?25l")  # shown after it was hidden


def in_group(leader):
    """Ids of the processes of a process group."""
    found = []
    for path in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):  # it has ended meanwhile
            state, _, group = path.read_text().rpartition(")")[2].split()[:3]
            found += [int(path.parent.name)] if int(group) == leader and state != "Z" else []
    return found


@pytest.mark.slow
@pytest.mark.parametrize("num_signals", [1, 2])
def test_ctrl_c_leaves_no_process_of_the_environment_behind(tmp_path, num_signals):
    words = train_args(tmp_path / "run", "--gym.vectorization", "async", "--env-steps", "1000000")
    words[1] = "gym/tests.support.gym_toys:toys/Ages-v0"
    command = [sys.executable, "-m", "curiax", *words]
    process = subprocess.Popen(command, cwd=ROOT, stdout=-1, stderr=-1, text=True, start_new_session=True)
    try:
        wait_for(lambda: num_rows(tmp_path / "run") > 1)
        assert len(in_group(process.pid)) > 2
        for _ in range(num_signals):
            os.killpg(process.pid, signal.SIGINT)  # as a terminal sends it: to the processes of the environment too
        out, err = process.communicate(timeout=PATIENCE)
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
    assert process.returncode == 130 and err in ("", "curiax: interrupted\n")
    assert num_signals == 2 or "the same command goes on from here" in out
    wait_for(lambda: not in_group(process.pid))

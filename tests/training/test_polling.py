"""Threads that wait for sockets, with real ones."""

import contextlib
import os
import select
import subprocess
import sys
import threading
import time
import zlib

import pytest

from curiax.training import polling

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="Linux only")


def may_take_back():
    """Does the system let us raise a priority again? Tried by a thread of its own, which ends."""
    refused = []

    def try_it():
        try:
            for policy in (os.SCHED_IDLE, os.SCHED_OTHER):
                os.sched_setscheduler(0, policy, os.sched_param(0))
        except OSError as error:
            refused.append(error)

    thread = threading.Thread(target=try_it)
    thread.start()
    thread.join()
    return not refused


needs_permission = pytest.mark.skipif(
    sys.platform == "linux" and not may_take_back(), reason="needs CAP_SYS_NICE, or ulimit -e 20"
)


@contextlib.contextmanager
def waiting_for_sockets(seconds, max_events):
    """The number of a thread that does."""
    ended = threading.Event()

    def wait():
        with select.epoll() as sockets:
            while not ended.is_set():
                sockets.poll(seconds, max_events)

    thread = threading.Thread(target=wait)
    thread.start()
    try:
        yield thread.native_id
    finally:
        ended.set()
        thread.join()


def wait_until(true):
    deadline = time.monotonic() + 60
    while not true():
        assert time.monotonic() < deadline
        time.sleep(0.01)


def idle(thread):
    return os.sched_getscheduler(thread) == os.SCHED_IDLE


@needs_permission
def test_only_the_thread_that_asks_as_gloo_does_gives_way(monkeypatch):
    monkeypatch.setattr(polling, "LOOKS", 3000)
    with (
        waiting_for_sockets(0.01, 64) as gloo,
        waiting_for_sockets(0.2, 64) as one,
        waiting_for_sockets(0.01, 100) as two,
    ):
        threading.Thread(target=polling.let_gloo_give_way).start()
        wait_until(lambda: idle(gloo))
        assert not any(idle(thread) for thread in (one, two, 0))


@needs_permission
def test_a_thread_that_others_starve_is_relieved_for_a_while_and_then_gives_way_again(monkeypatch):
    monkeypatch.setattr(polling, "RELIEF", 0.5)
    with waiting_for_sockets(0.01, 64) as gloo:
        looks = iter([False, True])

        def starved(task):
            time.sleep(0.1)
            return task.name == str(gloo) and next(looks, False)

        monkeypatch.setattr(polling, "starved", starved)
        threading.Thread(target=polling.watch, args=(polling.TASKS / str(gloo),)).start()
        for expected in (True, False, True):
            wait_until(lambda expected=expected: idle(gloo) == expected)


def test_starved_is_a_thread_that_wants_to_run_on_a_core_that_others_keep_busy():
    core = min(os.sched_getaffinity(0))
    ended = threading.Event()

    def work():
        os.sched_setaffinity(0, {core})
        os.sched_setscheduler(0, os.SCHED_IDLE, os.sched_param(0))
        while not ended.is_set():
            zlib.crc32(bytes(10_000_000))

    endless = f"import os; os.sched_setaffinity(0, {{{core}}})\nwhile True: pass"
    others = [subprocess.Popen([sys.executable, "-c", endless]) for _ in range(2)]
    thread = threading.Thread(target=work)
    thread.start()
    try:
        wait_until(lambda: polling.starved(polling.TASKS / str(thread.native_id)))
    finally:
        for other in others:
            other.kill()
            other.wait()
        ended.set()
        thread.join()


def test_a_thread_that_waits_for_something_is_not_starved():
    with waiting_for_sockets(0.2, 64) as thread:
        assert not all(polling.starved(polling.TASKS / str(thread)) for _ in range(3))


def test_who_may_not_raise_a_priority_again_does_not_lower_it(monkeypatch):
    def refuse(thread, policy, parameters):
        asked.append((thread, policy))
        if policy == os.SCHED_OTHER:
            raise PermissionError

    asked = []
    monkeypatch.setattr(os, "sched_setscheduler", refuse)
    polling.watch(polling.TASKS / "1")
    assert asked == [(0, os.SCHED_IDLE), (0, os.SCHED_OTHER)]  # of the watching thread alone


def test_without_gloo_it_looks_for_a_while_and_goes_on(monkeypatch):
    monkeypatch.setattr(polling, "LOOKS", 3)
    polling.let_gloo_give_way()
    assert {os.sched_getscheduler(int(task.name)) for task in polling.TASKS.glob("*")} == {os.SCHED_OTHER}

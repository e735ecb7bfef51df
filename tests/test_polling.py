"""Threads that wait for sockets, with real ones."""

import contextlib
import os
import select
import sys
import threading

import pytest

from curiax import polling

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="Linux only")


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


def test_only_the_thread_that_asks_as_gloo_does_gives_way(monkeypatch):
    monkeypatch.setattr(polling, "LOOKS", 3000)
    with (
        waiting_for_sockets(0.01, 64) as gloo,
        waiting_for_sockets(0.2, 64) as one,
        waiting_for_sockets(0.01, 100) as two,
    ):
        polling.let_gloo_give_way()
        assert os.sched_getscheduler(gloo) == os.SCHED_IDLE
        assert {os.sched_getscheduler(thread) for thread in (one, two, 0)} == {os.SCHED_OTHER}


def test_without_gloo_it_looks_for_a_while_and_goes_on(monkeypatch):
    monkeypatch.setattr(polling, "LOOKS", 3)
    polling.let_gloo_give_way()
    assert {os.sched_getscheduler(int(task.name)) for task in polling.TASKS.glob("*")} == {os.SCHED_OTHER}

"""Threads that wait for sockets, with real ones."""

import contextlib
import os
import select
import sys
import threading
import time

import pytest

from curiax.polling import patient_polling, polling

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="Linux only")


@contextlib.contextmanager
def waiting_for_sockets():
    """The number of a thread that does."""
    ended = threading.Event()

    def wait():
        with select.epoll() as sockets:
            while not ended.is_set():
                sockets.poll(0.2)

    thread = threading.Thread(target=wait)
    thread.start()
    try:
        deadline = time.monotonic() + 60
        while thread.native_id not in polling():
            assert time.monotonic() < deadline
        yield thread.native_id
    finally:
        ended.set()
        thread.join()


def test_only_what_was_started_within_gives_way():
    with waiting_for_sockets() as before, contextlib.ExitStack() as stack:
        with patient_polling():
            within = stack.enter_context(waiting_for_sockets())
        after = stack.enter_context(waiting_for_sockets())
        assert os.sched_getscheduler(within) == os.SCHED_IDLE
        assert {os.sched_getscheduler(thread) for thread in (before, after, 0)} == {os.SCHED_OTHER}


def test_a_thread_that_computes_is_not_one():
    assert threading.get_native_id() not in polling()

"""Reading ahead changes nothing but the time."""

import itertools
import threading
import time

import pytest

from qckm.sources.source import prefetch


def test_items_come_in_order():
    assert list(prefetch(iter(range(50)))) == list(range(50))


def test_errors_arrive_in_their_place():
    def broken():
        yield 1
        raise ValueError("no more")

    items = prefetch(broken())
    assert next(items) == 1
    with pytest.raises(ValueError, match="no more"):
        next(items)


def test_an_endless_reader_stops_when_nobody_listens():
    items = prefetch(itertools.count())
    assert next(items) == 0
    items.close()
    deadline = time.monotonic() + 60
    while any(thread.name == "qckm-reader" for thread in threading.enumerate()):
        assert time.monotonic() < deadline
        time.sleep(0.02)


def test_a_silent_pipe_lets_the_clock_tick():
    gate = threading.Event()

    def silent():
        gate.wait()
        yield 1

    items = prefetch(silent(), tick=0.01)
    assert next(items) is None
    gate.set()
    assert next(item for item in items if item is not None) == 1

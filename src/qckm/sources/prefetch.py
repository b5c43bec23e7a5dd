"""Reading ahead in a thread, so that reading and sketching overlap."""

from __future__ import annotations

import queue
import threading
from collections.abc import Generator, Iterator
from typing import TypeVar

Item = TypeVar("Item")
_SECONDS_TO_END = 2.0


def prefetch(items: Iterator[Item], depth: int = 2, tick: float | None = None) -> Generator[Item | None]:
    """Yield the items of an iterator that runs in a thread, at most `depth` ahead.

    With `tick`, None is yielded when nothing came for so many seconds: a pipe may be silent while a clock runs.
    """
    ready: queue.Queue[Item | _Failure | _End] = queue.Queue(depth)
    stop = threading.Event()

    def put(item: Item | _Failure | _End) -> bool:
        while not stop.is_set():
            try:
                ready.put(item, timeout=0.1)
            except queue.Full:
                continue
            return True
        return False

    def work() -> None:
        try:
            for item in items:
                if not put(item):
                    return
        except BaseException as error:
            put(_Failure(error))
        else:
            put(_End())

    # A daemon: it may wait for a pipe that never ends when the program is told to.
    thread = threading.Thread(target=work, name="qckm-reader", daemon=True)
    thread.start()
    try:
        while True:
            try:
                item = ready.get(timeout=tick)
            except queue.Empty:
                yield None
                continue
            if isinstance(item, _End):
                return
            if isinstance(item, _Failure):
                raise item.error
            yield item
    finally:
        stop.set()
        # Python aborts if it ends while a thread is inside pyarrow. One that reads a file is done soon.
        thread.join(_SECONDS_TO_END)


class _End:
    """After the last item."""


class _Failure:
    """An error on its way from one thread to the other."""

    def __init__(self, error: BaseException) -> None:
        self.error = error

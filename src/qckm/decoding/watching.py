"""Whoever watches a decode: told of every step, and able to ask for the best so far.

The watcher is known to the code that runs inside `watching`, and to no other: threads have their own.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass


@dataclass(frozen=True)
class Step:
    """What a decoder is at, and how often it has evaluated its objective in the search it is at."""

    stage: str
    evaluations: int = 0


# Is told of a step; returns whether to stop searching.
Watch = Callable[[Step], bool]


@dataclass
class _Watcher:
    watch: Watch
    cut: bool = False


_WATCHER: ContextVar[_Watcher | None] = ContextVar("watcher", default=None)


@contextmanager
def watching(watch: Watch) -> Iterator[None]:
    """Have every step of a decode told to a function, which returns whether to stop searching.

    Examples
    --------
    >>> import numpy as np, qckm
    >>> op = qckm.SketchOperator.draw(n_features=1, n_frequencies=20, scale=1.0, random_state=0)
    >>> told = []
    >>> with watching(lambda step: told.append(step.stage)):
    ...     found = qckm.decode(op.sketch(np.arange(9.0)[:, np.newaxis] % 2), 1, random_state=0)
    >>> "searching" in told, told[-1]
    (True, 'clustering')
    """
    token = _WATCHER.set(_Watcher(watch))
    try:
        yield
    finally:
        _WATCHER.reset(token)


def tell(stage: str, evaluations: int = 0) -> None:
    """Tell the watcher, if there is one, of a step that cannot be cut short."""
    watcher = _WATCHER.get()
    if watcher is not None:
        watcher.watch(Step(stage, evaluations))


def asked_to_stop(stage: str, evaluations: int) -> bool:
    """Tell the watcher of a step of a search; return whether the search is to end here."""
    watcher = _WATCHER.get()
    if watcher is not None and watcher.watch(Step(stage, evaluations)):
        watcher.cut = True
    return watcher is not None and watcher.cut


def was_cut() -> bool:
    """Whether a search was ended by the watcher."""
    watcher = _WATCHER.get()
    return watcher is not None and watcher.cut

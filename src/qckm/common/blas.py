"""Small linear algebra runs on one thread: it is faster so, and its rounding must not depend on how many there are."""

from __future__ import annotations

from functools import cache
from typing import Any

from threadpoolctl import ThreadpoolController


def one_thread() -> Any:
    """Return a context in which BLAS and OpenMP use one thread."""
    return _controller().limit(limits=1)


@cache
def _controller() -> ThreadpoolController:
    return ThreadpoolController()  # looks through all loaded libraries: once is enough

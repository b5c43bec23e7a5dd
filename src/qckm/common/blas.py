"""Small linear algebra runs on one thread: it is faster so, and its rounding must not depend on how many there are."""

from __future__ import annotations

import sys
from functools import cache
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from threadpoolctl import ThreadpoolController

# What brings libraries with threads of their own, when it is imported.
_BRINGS_LIBRARIES = ("scipy.linalg", "sklearn.mixture")


def one_thread() -> Any:
    """Return a context in which BLAS and OpenMP use one thread, of the libraries that are loaded by now."""
    return _controller(tuple(name in sys.modules for name in _BRINGS_LIBRARIES)).limit(limits=1)


@cache
def _controller(loaded: tuple[bool, ...]) -> ThreadpoolController:
    """Look through all loaded libraries: once is enough, until there are more."""
    from threadpoolctl import (
        ThreadpoolController,  # looks for libraries when it is imported: only those who need it wait
    )

    return ThreadpoolController()

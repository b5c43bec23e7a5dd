"""Compilation of loops over floats, by numba, kept on disk wherever that is possible.

Unlike sketches, whose kernels are a world of their own, these may add in any order, as vector instructions do:
`fastmath`, but for NaN and infinity, which must stay what they are.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import numba

_REORDERED = {"reassoc", "contract", "arcp", "nsz", "afn"}
_OPTIONS: dict[str, Any] = {"nogil": True, "error_model": "numpy", "fastmath": _REORDERED}


@cache
def _sources(folder: Path) -> str:
    """Return a digest of the sources in a folder.

    Numba only looks at the date and size of the one file a function is in; an installed wheel has made-up dates, and
    what is inlined comes from neighbours.
    """
    digest = hashlib.sha256()
    for path in sorted(folder.glob("*.py")):
        digest.update(path.read_bytes())
    return digest.hexdigest()[:16]


def compiled(function: Callable[..., Any]) -> Any:
    """Compile a function at its first call for given types; take it from the disk cache if it was compiled before.

    Where no cache folder is writable (a read-only container), it is compiled anew in each process, in silence.
    """
    folder = Path(function.__code__.co_filename).parent
    function.__qualname__ += f"-{_sources(folder)}"  # names the cache's files
    try:
        return numba.njit(cache=True, **_OPTIONS)(function)
    except RuntimeError:  # numba found no folder for its cache
        return numba.njit(**_OPTIONS)(function)


def inlined(function: Callable[..., Any]) -> Any:
    """Compile a function into those that call it."""
    return numba.njit(forceinline=True, **_OPTIONS)(function)

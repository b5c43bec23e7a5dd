"""Compilation that users do not notice: lazy, without the GIL, and kept on disk wherever that is possible."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import numba


@cache
def _sources(folder: Path) -> str:
    """Return a digest of the sources in a function's folder.

    Numba only looks at the date and size of the one file a function is in; an installed wheel has made-up dates, and
    most of a kernel's code comes from its neighbours.
    """
    digest = hashlib.sha256()
    for path in sorted(folder.glob("*.py")):
        digest.update(path.read_bytes())
    return digest.hexdigest()[:16]


def compiled(function: Callable[..., Any], fastmath: bool = False) -> Any:
    """Compile a function at its first call for given types; take it from the disk cache if it was compiled before.

    `fastmath` lets floats be added in another order, as vector instructions do: for decoders, never for sketches.

    Where no cache folder is writable (a read-only container), it is compiled anew in each process, in silence.
    """
    function.__qualname__ = f"{function.__qualname__}-{_sources(Path(function.__code__.co_filename).parent)}"  # the name of the cache's files
    options: dict[str, Any] = {"nogil": True, "error_model": "numpy", "fastmath": fastmath}
    try:
        return numba.njit(cache=True, **options)(function)
    except RuntimeError:  # numba found no folder for its cache
        return numba.njit(**options)(function)

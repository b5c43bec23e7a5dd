"""How the functions of this package are compiled: to machine code alone, with neither Python nor the GIL in it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numba


def compiled(function: Callable[..., Any]) -> Any:
    """Mark a function for numba; others of this package may call it, Python only through `native.call`."""
    return numba.njit(nogil=True, error_model="numpy", no_cpython_wrapper=True, no_cfunc_wrapper=True)(function)

"""How Python calls the C core's loops over floats: structures of numbers and arrays, by their addresses."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
import numpy.typing as npt

from qckm.common.arrays import Floats
from qckm.kernels import library

_POINTER, _INT64, _DOUBLE = ctypes.c_void_p, ctypes.c_int64, ctypes.c_double


class Struct(ctypes.Structure):
    """A structure that keeps alive the arrays it points to; `_Waves` is decoder.h's qckm_waves."""

    def __init__(self, *values: float | npt.NDArray[Any]) -> None:
        self.held = [value for value in values if isinstance(value, np.ndarray)]
        super().__init__(*(value.ctypes.data if isinstance(value, np.ndarray) else value for value in values))


def fields(**kinds: str) -> list[tuple[str, Any]]:
    """Return the fields of a structure, several of a type in one word."""
    types = {"integers": _INT64, "arrays": _POINTER, "numbers": _DOUBLE}
    return [(name, types[kind.split("_")[0]]) for kind, names in kinds.items() for name in names.split()]


def call(name: str, *arguments: Any) -> None:
    """Call a function of the library, whose arguments are all pointers."""
    for argument in arguments:
        if isinstance(argument, Struct):
            _require_size(type(argument))
    pointers = (
        _POINTER(argument.ctypes.data) if isinstance(argument, np.ndarray) else ctypes.byref(argument)
        for argument in arguments
    )
    library.require_done(_function(name)(*pointers), "decode")


def floats(array: npt.NDArray[Any]) -> Floats:
    """Return an array as C reads it: float64, in a row."""
    return np.ascontiguousarray(array, np.float64)


@cache
def _function(name: str) -> Callable[..., int]:
    function: Callable[..., int] = getattr(library.load(), name)
    return function


def c_name(kind: type[Struct]) -> str:
    """Return what a structure is called in decoder.h."""
    return f"qckm_{kind.__name__.strip('_').lower()}"


@cache
def _require_size(kind: type[Struct]) -> None:
    library.require_size(library.load(), c_name(kind), kind)

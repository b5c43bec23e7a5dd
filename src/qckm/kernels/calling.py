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
from qckm.kernels.library import fields as fields
from qckm.kernels.threads import Tasks, share


class Struct(ctypes.Structure):
    """A structure that keeps alive the arrays it points to; `_Waves` is decoder.h's qckm_waves."""

    def __init__(self, *values: float | npt.NDArray[Any]) -> None:
        self.held = [value for value in values if isinstance(value, np.ndarray)]
        super().__init__(*(value.ctypes.data if isinstance(value, np.ndarray) else value for value in values))


class _Products(Struct):
    _fields_ = fields(integers="first last count", arrays="vectors out")


def multiply(
    name: str, matrix: Struct, shape: tuple[int, int], vectors: Floats, n_threads: int, together: int = 1
) -> Floats:
    """Multiply the rows of a matrix with vectors (L, columns): (L, rows). Threads share the rows, so many together."""
    (rows, columns), given = shape, floats(vectors)
    if given.shape[1] != columns:
        raise ValueError(f"expected vectors of {columns} numbers, got {given.shape[1]}")
    out = np.zeros((len(given), rows))
    height = together * -(-rows // (together * n_threads))

    def work(tasks: Tasks) -> None:
        for task in tasks:
            call(name, matrix, _Products(task * height, min(rows, (task + 1) * height), len(given), given, out))

    if given.size and out.size:
        share(work, -(-rows // height), n_threads)
    return out


def call(name: str, *arguments: Any) -> None:
    """Call a function of the library whose arguments are all pointers, and which says no more than that it is done."""
    asked(name, *arguments)


def asked(name: str, *arguments: Any) -> bool:
    """Call a function of the library, as `call` does; return what it says beside being done, such as that it cannot."""
    for argument in arguments:
        if isinstance(argument, Struct):
            _require_size(type(argument))
    pointers = (
        ctypes.c_void_p(argument.ctypes.data) if isinstance(argument, np.ndarray) else ctypes.byref(argument)
        for argument in arguments
    )
    said = _function(name)(*pointers)
    library.require_done(said, "decode")
    return bool(said)


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

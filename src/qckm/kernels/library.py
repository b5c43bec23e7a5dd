"""The C core (core/), loaded and called through ctypes: calls let go of the GIL, one library serves every Python."""

from __future__ import annotations

import ctypes
import os
import warnings
from collections.abc import Callable
from functools import cache
from importlib import import_module
from typing import Any, cast

import numpy as np
import numpy.typing as npt

from qckm.common.arrays import Floats
from qckm.errors import QckmError

_NAMES = ("qckm_core.so", "qckm_core.dylib", "qckm_core.dll")
_POINTER, _INT64, _DOUBLE = ctypes.c_void_p, ctypes.c_int64, ctypes.c_double

# The number types of rows, as core.h counts them.
NUMBERS = {name: number for number, name in enumerate(("f4", "f8", "i1", "u1", "i2", "u2", "i4", "u4", "i8", "u8"))}
# The contract between these structures and calls and the library: core.h's QCKM_ABI.
ABI = 7
# What the library returns where it is not 0, the number of a row, or something else that a function says (core.h).
DONE, NO_MEMORY, REFUSED = -1, -2, -3


def fields(**kinds: str) -> list[tuple[str, Any]]:
    """Return the fields of a structure, several of a type in one word."""
    types = {"integers": _INT64, "arrays": _POINTER, "numbers": _DOUBLE}
    return [(name, types[kind.split("_")[0]]) for kind, names in kinds.items() for name in names.split()]


class Spec(ctypes.Structure):
    """core.h's qckm_spec: what is measured."""

    _fields_ = fields(
        integers="n m paired kind octaves single",
        arrays="frequencies dither table inverse_steps origin_codes",
        integers_after="size",
        arrays_after="signs factors radii",
    )


class RowsAt(ctypes.Structure):
    """core.h's qckm_rows: rows (rows, n) anywhere in memory, which it keeps alive."""

    _fields_ = fields(arrays="data", integers="rows row_bytes feature_bytes number")

    def __init__(self, rows: npt.NDArray[Any]) -> None:
        self.held = held = rows if rows.dtype.isnative else rows.astype(rows.dtype.newbyteorder("="))
        number = NUMBERS[f"{held.dtype.kind}{held.dtype.itemsize}"]  # C's long long is an int64 too
        super().__init__(held.ctypes.data, len(held), *held.strides, number)


class Totals(ctypes.Structure):
    """core.h's qckm_summary: what a pass over rows found."""

    _fields_ = fields(arrays="total lower upper", integers="count saturated", arrays_after="codes squares products")


STRUCTURES: dict[str, type[ctypes.Structure]] = {"qckm_spec": Spec, "qckm_rows": RowsAt, "qckm_summary": Totals}


# What functions return and take, and what they do, in words: errors say that it could not be done.
_ROWS, _TO = ctypes.POINTER(RowsAt), ctypes.POINTER
_FUNCTIONS: dict[str, tuple[Any, str, list[Any]]] = {
    "prepare": (ctypes.c_int, "lay out an operator", [_TO(Spec), _TO(_POINTER)]),
    "sum": (_INT64, "sketch rows", [_POINTER, _ROWS, _POINTER, _TO(Totals)]),
    "sum_groups": (_INT64, "sketch rows", [_POINTER, _ROWS, _POINTER, _INT64, _POINTER]),
    "gather": (ctypes.c_int, "sort rows by group", [_POINTER, _INT64, _INT64, _POINTER, _INT64, _POINTER, _POINTER]),
    "encode": (_INT64, "sketch rows", [_POINTER, _ROWS, _POINTER, _INT64]),
    "count_bits": (ctypes.c_int, "count bits", [_POINTER, _INT64, _INT64, _INT64, _POINTER]),
    "nearest": (ctypes.c_int, "compare rows with centroids", [_ROWS, _INT64, _POINTER, _INT64, _POINTER, _POINTER]),
}


@cache
def load() -> Any:
    """Return the library; None where NumPy was asked for, or where there is none, with a warning, once.

    There is none where there was no C compiler, or on a platform that it does not know. Functions raise an error where
    they have done nothing.
    """
    if os.environ.get("QCKM_INSTRUCTIONS", "").lower() == "numpy":
        return None
    path = _find()
    if path is None:
        warnings.warn(_MISSING, SlowKernelWarning, stacklevel=3)
        return None
    try:
        library = ctypes.CDLL(path)
    except (OSError, UnicodeError) as error:  # the second: what the system says of a name that is no UTF-8
        raise QckmError(f"{path}: cannot be loaded: {error}. {_REMEDY}") from error
    _require_contract(library, path)
    library.qckm_instructions.restype = ctypes.c_char_p
    library.qckm_use.argtypes = [ctypes.c_char_p]
    library.qckm_release.restype = None
    library.qckm_release.argtypes = [_POINTER]
    for name, (kind, doing, taken) in _FUNCTIONS.items():
        function = getattr(library, f"qckm_{name}")
        function.restype, function.argtypes, function.errcheck = kind, taken, _requiring_success(doing)
    wanted = os.environ.get("QCKM_INSTRUCTIONS")
    if wanted and not library.qckm_use(wanted.lower().encode("utf-8", "replace")):
        raise QckmError(
            f"QCKM_INSTRUCTIONS={wanted}: expected numpy, or what this CPU has of avx512vnni, avx512, avx2, ssse3, "
            "neon, plain."
        )
    return library


_REMEDY = (
    "Install qckm again, which builds it (`pip install .`, or `pip install --editable .` in a checkout whose sources "
    "changed); or do without it, slowly: QCKM_INSTRUCTIONS=numpy."
)


def _require_contract(library: ctypes.CDLL, path: str) -> None:
    """Refuse a library that was built from other sources than these: its structures may be others, in silence."""
    try:
        library.qckm_abi.restype = library.qckm_size_of.restype = _INT64
        library.qckm_size_of.argtypes = [ctypes.c_char_p]
        found = library.qckm_abi()
    except AttributeError:
        found = None
    if found != ABI:
        given = "none: it is no library of qckm's, or an older one" if found is None else found
        raise QckmError(f"{path}: expected a library of contract {ABI}, got {given}. {_REMEDY}")
    for name, kind in STRUCTURES.items():
        _require_size(library, name, kind)


def _require_size(library: ctypes.CDLL, name: str, kind: type[ctypes.Structure]) -> None:
    """Refuse a library whose structure of that name has another size than Python's."""
    size = library.qckm_size_of(name.encode())
    if size != ctypes.sizeof(kind):
        raise QckmError(
            f"{library._name}: expected {name} to have {ctypes.sizeof(kind)} bytes, got {size}: the library was built "
            f"from other sources. {_REMEDY}"
        )


def _requiring_success(doing: str) -> Callable[[int, Any, Any], int]:
    """Return what passes on the result of a function, or raises an error where that says that it has done nothing."""

    def check(result: int, function: Any, arguments: Any) -> int:
        if result == NO_MEMORY:
            raise MemoryError(f"not enough memory to {doing}")
        if result == REFUSED:
            raise QckmError(
                f"The C core refuses to {doing}: arguments contradict each other. This is a fault of qckm's."
            )
        return result

    return check


_MISSING = (
    "The compiled kernels of qckm are missing: there was no C compiler when it was installed, or none for this "
    "platform. Sketches are the same, but sketching and decoding are many times slower. Install gcc or clang, then "
    "reinstall qckm: pip install --force-reinstall --no-deps --no-cache-dir --no-binary qckm qckm."
)


class SlowKernelWarning(UserWarning):
    """The compiled kernels are missing: results come out the same, many times slower."""


def instructions() -> str:
    """Return the name of the instruction set in use: "avx2", say, or "numpy" where there is no library."""
    library = load()
    return "numpy" if library is None else library.qckm_instructions().decode()


def _find() -> str | None:
    if named := os.environ.get("QCKM_CORE"):  # another build: with sanitizers, say
        return named
    # An editable installation has the library in another folder than the sources: the package knows both.
    for folder in import_module("qckm.kernels").__path__:
        for name in _NAMES:
            if os.path.exists(path := os.path.join(folder, name)):
                return path
    return None


class Struct(ctypes.Structure):
    """A structure that keeps alive the arrays it points to; `_Waves` is decoder.h's qckm_waves."""

    def __init__(self, *values: float | npt.NDArray[Any]) -> None:
        self.held = [value for value in values if isinstance(value, np.ndarray)]
        super().__init__(*(value.ctypes.data if isinstance(value, np.ndarray) else value for value in values))


def call(name: str, *arguments: Any) -> bool:
    """Call a function of the library whose arguments are all pointers.

    Return what it says beside being done, such as that a matrix is not positive definite.
    """
    for argument in arguments:
        if isinstance(argument, Struct):
            _require_struct(type(argument))
    pointers = (
        ctypes.c_void_p(argument.ctypes.data) if isinstance(argument, np.ndarray) else ctypes.byref(argument)
        for argument in arguments
    )
    return bool(_function(name)(*pointers))


def floats(array: npt.NDArray[Any]) -> Floats:
    """Return an array as C reads it: float64, in a row."""
    return np.ascontiguousarray(array, np.float64)


@cache
def _function(name: str) -> Callable[..., int]:
    function = getattr(load(), name)
    function.errcheck = _requiring_success("decode")
    return cast(Callable[..., int], function)


def c_name(kind: type[Struct]) -> str:
    """Return what a structure is called in decoder.h."""
    return f"qckm_{kind.__name__.strip('_').lower()}"


@cache
def _require_struct(kind: type[Struct]) -> None:
    _require_size(load(), c_name(kind), kind)

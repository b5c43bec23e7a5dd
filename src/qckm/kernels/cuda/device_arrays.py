"""Arrays that lie on a GPU, whoever made them, taken without a copy."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from qckm.errors import RowsError
from qckm.kernels.cuda.device import cupy
from qckm.kernels.cuda.modules import NUMBERS


def as_device_array(X: Any, dimensions: int) -> tuple[Any, str]:
    """Return X as a CuPy array that shares its memory, and the name of its type of numbers.

    The stream on which X was computed is waited for, as DLPack has it. A bfloat16 array comes as its bits.
    """
    module, library = cupy(), type(X).__module__.split(".", 1)[0]
    if library == "cudf":
        X = X.to_cupy()
    name = str(X.dtype).rsplit(".", 1)[-1]
    if name == "bfloat16":
        X = X.view(import_module("torch").int16 if library == "torch" else "uint16")
    if isinstance(X, module.ndarray):
        array = X
    elif library != "numpy" and hasattr(X, "__dlpack__"):
        array = module.from_dlpack(X.detach() if hasattr(X, "detach") else X)
    else:
        array = module.asarray(X)
    if name != "bfloat16":
        name = str(array.dtype)
    if array.ndim != dimensions:
        raise RowsError(f"Expected {dimensions} dimension(s) on the GPU, got {array.ndim}.")
    if name == "bool":
        array, name = array.view("uint8"), "uint8"
    if name not in NUMBERS:
        raise RowsError(f"Expected rows of {', '.join(NUMBERS)} on the GPU, got {name}.")
    return array, name


def as_floats(array: Any, number: str) -> Any:
    """Return a device array's numbers, of a bfloat16 array given as bits."""
    return (array.astype("uint32") << 16).view("float32") if number == "bfloat16" else array

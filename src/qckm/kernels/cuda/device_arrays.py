"""Arrays that lie on a GPU, whoever made them: told without importing their library, and taken without a copy."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from qckm.errors import RowsError
from qckm.kernels.cuda.device import cupy
from qckm.kernels.cuda.modules import NUMBERS

_CUDA = (2, 13)  # DLPack's numbers of devices: CUDA, and CUDA's managed memory


def is_on_gpu(X: object) -> bool:
    """Whether rows lie on a GPU: CuPy, PyTorch, JAX, Numba arrays, cuDF frames."""
    if type(X).__module__.split(".", 1)[0] == "cudf" or hasattr(X, "__cuda_array_interface__"):
        return True
    where = getattr(X, "__dlpack_device__", None)
    return where is not None and not _is_numpy(X) and int(where()[0]) in _CUDA


def as_device_array(X: Any, dimensions: int) -> tuple[Any, str]:
    """Return X as a CuPy array that shares its memory, and the name of its type of numbers.

    The stream on which X was computed is waited for, as DLPack has it. A bfloat16 array comes as its bits.
    """
    module = cupy()
    if type(X).__module__.split(".", 1)[0] == "cudf":
        X = X.to_cupy()
    name = str(X.dtype).rsplit(".", 1)[-1]
    if name == "bfloat16":
        X = X.view(_unsigned_16(X))
    array = X if isinstance(X, module.ndarray) else _shared(X)
    name = name if name == "bfloat16" else str(array.dtype)
    if array.ndim != dimensions:
        raise RowsError(f"Expected {dimensions} dimension(s) on the GPU, got {array.ndim}.")
    if name == "bool":
        array, name = array.view("uint8"), "uint8"
    if name not in NUMBERS:
        raise RowsError(f"Expected rows of {', '.join(NUMBERS)} on the GPU, got {name}.")
    return array, name


def _shared(X: Any) -> Any:
    if hasattr(X, "__dlpack__") and not _is_numpy(X):
        return cupy().from_dlpack(X.detach() if hasattr(X, "detach") else X)
    return cupy().asarray(X)


def _unsigned_16(X: Any) -> Any:
    """Return what X's library calls 16 bits: PyTorch wants its own name."""
    return import_module("torch").int16 if type(X).__module__.split(".", 1)[0] == "torch" else "uint16"


def _is_numpy(X: object) -> bool:
    return type(X).__module__.split(".", 1)[0] == "numpy"

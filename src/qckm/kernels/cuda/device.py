"""CuPy and a GPU that can be used, or an error that says what is missing; arrays that lie there; kernels compiled."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from importlib import import_module, resources
from typing import Any

from qckm.errors import DeviceError, MissingExtraError, RowsError

# Of multiplications of signed bytes by 16 and 32 features at once: NVIDIA's Ampere, of 2020, and later.
_CAPABILITY = 80

# What a row's number is called: its type in C, and 1 or 2 where that holds the bits of a half.
NUMBERS = {
    "float32": ("float", 0),
    "float64": ("double", 0),
    "float16": ("unsigned short", 2),
    "bfloat16": ("unsigned short", 1),
    "int8": ("signed char", 0),
    "uint8": ("unsigned char", 0),
    "int16": ("short", 0),
    "uint16": ("unsigned short", 0),
    "int32": ("int", 0),
    "uint32": ("unsigned", 0),
    "int64": ("long long", 0),
    "uint64": ("unsigned long long", 0),
}


@cache
def cupy() -> Any:
    """Return CuPy, once there is a GPU that it can use."""
    try:
        module = import_module("cupy")
    except ImportError as error:
        raise MissingExtraError('Sketching on a GPU needs CuPy: pip install "qckm[gpu]".') from error
    try:
        count = module.cuda.runtime.getDeviceCount()
    except module.cuda.runtime.CUDARuntimeError as error:
        raise DeviceError(f"CuPy finds no GPU: {error}. Use device='cpu'.") from error
    if count == 0:
        raise DeviceError("CuPy finds no GPU. Use device='cpu'.")
    return module


def require_capable(number: int) -> None:
    """Refuse a GPU that is not there, or too old."""
    count = cupy().cuda.runtime.getDeviceCount()
    if number >= count:
        raise DeviceError(f"Expected a GPU among {count}, got number {number}.")
    capability = int(cupy().cuda.Device(number).compute_capability)
    if capability < _CAPABILITY:
        raise DeviceError(
            f"GPU {number} has compute capability {capability / 10:.1f}: expected at least {_CAPABILITY / 10:.1f} "
            "(Ampere, 2020). Use device='cpu'."
        )


def shared_memory_of(number: int) -> int:
    """Return how many bytes of shared memory a block may have."""
    return int(cupy().cuda.Device(number).attributes["MaxSharedMemoryPerBlockOptin"]) - 1024  # the system's own


def source_of(*names: str) -> str:
    """Return a source file of the kernels, by its path below them."""
    return resources.files("qckm.kernels").joinpath(*names).read_text("utf-8")


def compiled(source: str, name: str, macros: Mapping[str, object]) -> Any:
    """Return a kernel of CUDA source, compiled for some macros; CuPy keeps what it compiled on disk."""
    defines = "".join(f"#define {macro} {value}\n" for macro, value in macros.items())
    return cupy().RawKernel(defines + source, name, options=("-std=c++17",))


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

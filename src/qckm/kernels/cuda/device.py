"""CuPy and a GPU that can be used: or an error that says what is missing."""

from __future__ import annotations

from functools import cache
from importlib import import_module
from typing import Any

from qckm.errors import DeviceError, MissingExtraError

# Of multiplications of signed bytes by 16 and 32 features at once: NVIDIA's Ampere, of 2020, and later.
_CAPABILITY = 80


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

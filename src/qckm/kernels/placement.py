"""Where rows are sketched: by the CPU unless told otherwise; rows that lie on a GPU, there."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from qckm.errors import OperatorError

_CUDA = (2, 13)  # DLPack's numbers of devices: CUDA, and CUDA's managed memory
_HOST_LIBRARIES = ("numpy", "pandas", "polars", "pyarrow")

_current: ContextVar[int | None] = ContextVar("qckm_device", default=None)


def parse_device(name: str | None) -> int | None:
    """Return the number of a GPU ("cuda", "cuda:1"), or None for "cpu" and "auto"."""
    if name in (None, "auto", "cpu"):
        return None
    found = re.fullmatch(r"cuda(?::(\d+))?", name) if isinstance(name, str) else None
    if not found:
        raise OperatorError(f"Expected device 'auto', 'cpu', 'cuda' or 'cuda:1' and so on, got {name!r}.")
    return int(found[1] or 0)


@contextmanager
def computing_on(device: str | None) -> Iterator[None]:
    """Sketch rows of this process on a device, within the block."""
    token = _current.set(parse_device(device))
    try:
        yield
    finally:
        _current.reset(token)


def current_gpu() -> int | None:
    """Return the number of the GPU that rows of this process are to be sketched on; None for the CPU."""
    return _current.get()


def is_on_gpu(X: object) -> bool:
    """Whether rows lie on a GPU: CuPy, PyTorch, JAX or Numba arrays there, cuDF frames. No library is imported to tell.

    Examples
    --------
    >>> is_on_gpu([[1.0, 2.0]])
    False
    """
    library = type(X).__module__.split(".", 1)[0]
    if library in _HOST_LIBRARIES:
        return False
    if library == "cudf" or hasattr(X, "__cuda_array_interface__"):
        return True
    where = getattr(X, "__dlpack_device__", None)
    return where is not None and int(where()[0]) in _CUDA

"""Rows that an engine holds: told by where their type comes from, and opened by whoever has registered for it.

No engine is known here, nor imported to find out: `qckm` itself registers those it has (engines/), and others may.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from qckm.errors import SourceError
from qckm.kernels.placement import is_on_gpu

# The library of arrays that lie on a GPU, whoever made them.
GPU = "arrays on a GPU"

# What is done with the rows is known above only: whoever opens some says what is asked of them.
Opener = Callable[[object, Sequence[Any] | str | None, Sequence[str] | None, object], Any]

_ENGINES: dict[str, tuple[str, Opener]] = {}


def register(engines: Mapping[str, str], opener: Opener) -> None:
    """Say who opens the types of some libraries, and what their engines are called: {"pyspark": "spark"}."""
    _ENGINES.update({library: (name, opener) for library, name in engines.items()})


def engine_of(data: object) -> str | None:
    """Return the engine ("dask", "spark", "ray" or "gpu") that holds some data; None for what lies in this process.

    Examples
    --------
    >>> engine_of([[0.0, 1.0]]) is None
    True
    """
    return _ENGINES.get(_library_of(data), (None,))[0]


def open_held(
    data: object,
    columns: Sequence[Any] | str | None = None,
    usual: Sequence[str] | None = None,
    sample_weight: object = None,
) -> Any:
    """Open rows that an engine holds; `usual` are the columns to read where none are asked for, if all are there."""
    if engine_of(data) is None:
        known = ", ".join(sorted({name for name, _ in _ENGINES.values()}))
        raise SourceError(f"Expected rows held by {known}, got {type(data).__name__}.")
    return _ENGINES[_library_of(data)][1](data, columns, usual, sample_weight)


def _library_of(data: object) -> str:
    return GPU if is_on_gpu(data) else type(data).__module__.split(".", 1)[0]

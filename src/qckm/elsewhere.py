"""Rows that an engine holds: told by where their type comes from, so that no engine is imported to find out."""

from __future__ import annotations

from typing import Any

_ENGINES = {"dask": "dask", "pyspark": "spark", "ray": "ray"}


def engine_of(data: Any) -> str | None:
    """Return the engine ("dask", "spark" or "ray") that holds some data; None for what lies in this process.

    Examples
    --------
    >>> engine_of([[0.0, 1.0]]) is None
    True
    """
    return _ENGINES.get(type(data).__module__.split(".", 1)[0])

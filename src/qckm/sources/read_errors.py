"""The one place where whatever goes wrong in a foreign file, frame or stream becomes a SourceError that names it."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

from qckm.errors import QckmError, SourceError


@contextlib.contextmanager
def reading(label: str, expected: str = "cannot be read") -> Iterator[None]:
    """Turn an error of whoever reads for us (zlib, zipfile, NumPy, pyarrow, polars, …) into ours.

    Ours pass, and so do errors of the system that name a file: no such file, no permission. A MemoryError stays one.
    """
    try:
        yield
    except (QckmError, MemoryError):
        raise
    except Exception as error:
        if isinstance(error, OSError) and error.filename is not None:
            raise
        words = str(error).strip() or type(error).__name__
        raise SourceError(f"{label}: {expected}: {words}") from error

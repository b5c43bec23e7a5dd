"""The same sketches as one would write them in NumPy, a few thousand rows at a time so that they stay in the cache."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

CHUNK = 1024


def chunked(X: np.ndarray, measure: Callable[[np.ndarray], Any]) -> Any:
    """Add up a measurement of chunks of rows."""
    return sum(measure(X[start : start + CHUNK]) for start in range(0, len(X), CHUNK))

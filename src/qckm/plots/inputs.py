"""What a plot is given: checked, so that a mistake is said before anything is drawn."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from qckm.common.arrays import Floats
from qckm.errors import QckmError


def require(value: object, kind: type) -> None:
    """Refuse what is not of a kind."""
    if not isinstance(value, kind):
        raise QckmError(f"Expected a {kind.__name__}, got {type(value).__name__}.")


def as_numbers(name: str, values: npt.ArrayLike, *shapes: tuple[int | str, ...]) -> Floats:
    """Return an array of one of the shapes, in which a word stands for any number."""
    try:
        array = np.asarray(values, np.float64)
    except (TypeError, ValueError) as error:
        raise QckmError(f"Expected {name} to be numbers, got {values!r:.80}.") from error
    for shape in shapes:
        sizes = zip(shape, array.shape, strict=False)
        if len(shape) == array.ndim and all(isinstance(wanted, str) or wanted == size for wanted, size in sizes):
            return array
    expected = " or ".join(map(str, shapes)).replace("'", "")
    raise QckmError(f"Expected {name} of shape {expected}, got {array.shape}.")


def as_sizes(name: str, values: npt.ArrayLike, increasing: bool = False) -> Floats:
    """Return numbers (S,) that a logarithmic axis can show."""
    array = as_numbers(name, values, ("S",))
    if not (array.size and np.isfinite(array).all() and (array > 0).all()):
        raise QckmError(f"Expected {name} > 0, one or more, got {array}.")
    if increasing and (np.diff(array) <= 0).any():
        raise QckmError(f"Expected increasing {name}, got {array}.")
    return array

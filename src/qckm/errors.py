"""What can go wrong, as one small hierarchy.

Every error is a `ValueError` too, so that code written for scikit-learn or NumPy catches it without knowing qckm.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Iterable
from typing import Literal

# What a remedy is about, where it looks different on the command line, which adds its own words (cli/console.py).
Topic = Literal[
    "bad rows",
    "checkpoint",
    "columns",
    "comment",
    "decimal",
    "exclude",
    "export",
    "frequencies",
    "a model",
    "model",
    "operator",
    "output",
    "parts",
    "public operator",
    "rows",
    "sketch",
    "standardize",
]


# What a remark says. Of "identifier" and "dominating column" the value `column` is the column's name.
Code = Literal[
    "coincident",
    "cut short",
    "dominating column",
    "empty",
    "identical rows",
    "identifier",
    "out of reach",
    "too few rows",
]


class QckmError(ValueError):
    """Anything qckm refuses; the base of the others.

    Parameters
    ----------
    words : str
        What was expected, what was given, and what to do, in terms of Python.
    about : str, optional
        What the remedy is about: one of `Topic`.
    **values : str
        What a remedy that can be pasted needs: the `path` of a file, or the names of `columns`.

    Examples
    --------
    >>> error = SourceError("Expected 2 columns, got 3.", about="columns", columns="age,income")
    >>> error.within("rows.csv")
    SourceError('rows.csv: Expected 2 columns, got 3.')
    """

    def __init__(self, words: str = "", about: Topic | None = None, **values: str) -> None:
        super().__init__(words)
        self.about, self.values = about, values

    def within(self, place: str, kind: type[QckmError] | None = None) -> QckmError:
        """Return the same error with a place in front of its words; as one of another kind, if that is given."""
        return (kind or type(self))(f"{place}: {self}", self.about, **{"path": place, **self.values})


class Remark(str):
    """A sentence about a result, what its remedy is about, with the values it needs, and a code for programs.

    Examples
    --------
    >>> Remark("Column 'id' counts the rows: leave it out.", about="exclude", columns="id").values
    {'columns': 'id'}
    """

    about: Topic | None
    code: Code | None
    values: dict[str, str]

    def __new__(cls, words: str, about: Topic | None = None, code: Code | None = None, **values: str) -> Remark:
        """Keep the words, and what they are about."""
        remark = super().__new__(cls, words)
        remark.about, remark.code, remark.values = about, code, values
        return remark

    def __getnewargs__(self) -> tuple[str, Topic | None, Code | None]:  # type: ignore[override]
        """Be copied, and pickled, whole: the values follow as attributes."""
        return str(self), self.about, self.code


def codes_of(remarks: Iterable[str]) -> set[Code]:
    """Return what remarks say, for programs."""
    return {remark.code for remark in remarks if isinstance(remark, Remark) and remark.code}


class RowsError(QckmError):
    """The rows cannot be sketched: not two-dimensional, not numbers, not finite, wrong number of features."""


class SourceError(QckmError):
    """Data that cannot be read: no such file or column, columns that are not numbers, a file that is damaged."""


class SplitError(SourceError):
    """A file that was to be read in parts, and turns out to be readable only as a whole."""


class CheckpointError(QckmError):
    """A checkpoint that cannot be continued: inputs or options have changed, or the file is damaged."""


class OperatorError(QckmError):
    """An operator that cannot be built: a frequency that does not fit, a step that is not a power of two."""


class SignatureError(QckmError):
    """A function that is no signature: not periodic, not centred, outside [-1, 1], or without a first harmonic."""


class SketchError(QckmError):
    """A sum that cannot be: of more rows than its integers hold, or one that no rows have."""


class MergeError(SketchError):
    """Two sketches that cannot be added or subtracted."""


class FileError(QckmError):
    """Bytes that are no sketch file, or a damaged one."""


class BusyError(QckmError):
    """A file that another process is at work on."""


class MessageError(QckmError):
    """A sensor's message that is cut short, damaged, of another operator, or that cannot be true."""


class DecodeError(QckmError):
    """A sketch that cannot be decoded as asked."""


class CollectorError(QckmError):
    """What a collector does not take, or cannot do."""


class PrivacyError(QckmError):
    """What cannot be protected as asked: rows without a bound, an operator that tells of rows, a budget of nothing."""


class MissingExtraError(QckmError, ImportError):
    """Something optional is needed and not installed."""


class DeviceError(QckmError):
    """There is no GPU, or none that can be used."""


class PoorFitWarning(UserWarning):
    """The centroids found do not explain the sketch, or not stably: they may be wrong."""


class RemarkWarning(UserWarning):
    """Something to know before relying on a result: a column that outweighs the others, centroids that coincide."""


class SampleLostWarning(UserWarning):
    """A sample of rows that centroids would have been decoded with was left behind: the sketch is decoded alone."""


class SaturationWarning(UserWarning):
    """Some rows lie farther from the operator's origin than can be coded, and were clipped."""


class UncountedWarning(UserWarning):
    """Some messages or reports could not be counted, and are not in the sketch."""


class PartsWarning(UserWarning):
    """A sum has more parts than it keeps the names of, or the same tables of sketches twice."""


class DriftWarning(UserWarning):
    """Two sketches were compared otherwise than asked, or are the same sum."""


def warn(words: str, category: type[Warning]) -> None:
    """Warn at the line of the caller's own code, however deep in qckm, or in scikit-learn above it, we are."""
    frame, level = sys._getframe(), 1
    while frame.f_back and str(frame.f_globals.get("__name__")).partition(".")[0] in ("qckm", "sklearn"):
        frame, level = frame.f_back, level + 1
    warnings.warn(words, category, stacklevel=level)

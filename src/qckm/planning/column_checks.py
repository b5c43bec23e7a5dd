"""Columns to be told of before clusters are believed: those that name rows, and one beside which no other counts.

Row numbers and identifiers measure nothing, so that distances in them mean nothing. A pilot tells by its values, a
sketch by its bounds and the columns' names: whoever decodes a sketch that was made elsewhere hears of them, too.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence

import numpy as np

from qckm.common.arrays import Floats
from qckm.errors import Remark
from qckm.sketch import Sketch

# A column that makes up more than this share of the squared distances is nearly all that clusters are found by. The
# number steers nothing but the remark.
_NEARLY_ALL = 0.95
# Of fewer rows, whole numbers without gaps are no surprise.
_FEWEST = 20
# A pilot drawn from many rows misses the first and the last of them: 1 of its 32 parts at either end, at most.
_ENDS = 1 / 16
# Whole numbers beyond this are no longer told apart.
_LARGEST = 2.0**53

_NAMES = re.compile(
    r"(?:id|ids|idx|index|pk|oid|uid|uuid|guid|row|rowid|rownum|row[ _-]?(?:id|no|nr|num|number)|unnamed: ?\d+)",
    re.IGNORECASE,
)
_ENDINGS = re.compile(r".*(?:[ _.-](?:id|idx|pk|uuid|guid)|[a-z](?:Id|ID))")


def identifiers_in_rows(rows: Floats, weights: Floats, names: Sequence[str]) -> dict[str, Remark]:
    """Return the columns of distinct rows (P, n), each of which stands for so many (P,), that name rows, and why.

    Examples
    --------
    >>> import numpy as np
    >>> rows = np.column_stack([np.arange(50.0), np.random.default_rng(0).normal(size=50)])
    >>> list(identifiers_in_rows(rows, np.ones(50), ["number", "height"]))
    ['number']
    """
    total = float(weights.sum())
    found = {}
    for name, values in zip(names, rows.T, strict=True):
        if not _is_whole(values):
            continue
        words = _numbering(np.sort(values), total) or _named(name, values.min(), values.max())
        if words:
            found[name] = _advice(name, words, names)
    return found


def identifiers_in_sketch(sketch: Sketch, names: Sequence[str]) -> dict[str, Remark]:
    """Return the columns of a sketch that name rows, and why, by their names and bounds."""
    found = {}
    totals = {sketch.count, sketch.count + sketch.skipped} if sketch.exact and sketch.count >= _FEWEST else set()
    for name, lower, upper in zip(names, *sketch.bounds, strict=True):
        if not _is_whole(np.array([lower, upper])):
            continue
        words = _COUNTS if upper - lower + 1 in totals else _named(name, lower, upper)
        if words:
            found[name] = _advice(name, words, names)
    return found


def dominating_column(variances: Floats, names: Sequence[str], known: Collection[str] = ()) -> Remark | None:
    """Tell of a column beside which the others, of such variances (n,), do not count, unless it is no measurement.

    Examples
    --------
    >>> import numpy as np
    >>> dominating_column(np.array([100.0, 9e6]), ["age", "income"])[:55]
    "Column 'income' makes up more than 99.9% of the squared"
    """
    with np.errstate(over="ignore", invalid="ignore"):
        total = float(variances.sum())
    # Beside columns that are constant, any column is all there is.
    if np.count_nonzero(variances) < 2 or not total < np.inf or variances.max() <= _NEARLY_ALL * total:
        return None
    name, share = names[int(variances.argmax())], float(variances.max()) / total
    if name in known:
        return None
    return Remark(
        f"Column {name!r} makes up {'more than 99.9%' if share > 0.999 else f'{share:.1%}'} of the squared distances "
        "between rows: the others hardly count. Standardize the columns if they should.",
        about="standardize",
        code="dominating column",
        column=name,
    )


def doubts_of_rows(rows: Floats, weights: Floats, units: Floats, names: Sequence[str]) -> tuple[Remark, ...]:
    """Return what a user should hear of the columns of a pilot, which count in such units (n,)."""
    with np.errstate(over="ignore", invalid="ignore"):
        counted = rows / units
        variances = weights @ (counted - np.average(counted, axis=0, weights=weights)) ** 2
    return _doubts(identifiers_in_rows(rows, weights, names), variances, names)


def doubts_of_sketch(
    sketch: Sketch, variances: Floats, rows: Floats | None, weights: Floats | None
) -> tuple[Remark, ...]:
    """Return the same for a sketch's columns, of such variances (n,), and for distinct rows of it, if there are any."""
    names = names_of(sketch)
    identifiers = identifiers_in_sketch(sketch, names)
    if rows is not None and weights is not None:
        identifiers |= identifiers_in_rows(rows, weights, names)
    return _doubts(identifiers, variances, names)


def _doubts(identifiers: dict[str, Remark], variances: Floats, names: Sequence[str]) -> tuple[Remark, ...]:
    dominating = dominating_column(variances, names, known=identifiers)
    return (*identifiers.values(), *([dominating] if dominating else []))


def names_of(sketch: Sketch) -> tuple[str, ...]:
    """Return what a sketch's columns are called: by number where they have no names."""
    operator = sketch.operator
    return operator.feature_names or tuple(map(str, range(operator.n_features)))


_COUNTS = "counts the rows: its values are whole numbers without gaps, one per row"
_STEPS = "numbers the rows: its values are evenly spaced, one per row, as of a counter or a clock"
_CALLED = "is called like an identifier"


def _is_whole(values: Floats) -> bool:
    return bool(np.isfinite(values).all() and np.abs(values).max() < _LARGEST and (values == np.rint(values)).all())


def _numbering(values: Floats, total: float) -> str:
    """Return why sorted whole numbers of a pilot that stands for so many rows number these; "" if they do not."""
    steps = np.diff(values)
    if len(values) < _FEWEST or not steps.all():
        return ""
    step = int(np.gcd.reduce(steps.astype(np.int64)))
    count = (values[-1] - values[0]) / step + 1
    slack = 0.0 if total == len(values) else _ENDS * total
    if abs(count - total) > slack:
        return ""
    return _COUNTS if step == 1 else _STEPS


def _named(name: str, lower: float, upper: float) -> str:
    called = _NAMES.fullmatch(name.strip()) or _ENDINGS.fullmatch(name.strip())
    return _CALLED if called and upper > lower else ""


def _advice(name: str, words: str, names: Sequence[str]) -> Remark:
    others = [other for other in names if other != name]
    which = f", and read {', '.join(others)} alone" if 0 < len(others) <= 10 else ""
    said = f"Column {name!r} {words}. Distances in it mean nothing: leave it out{which}."
    return Remark(said, about="columns", code="identifier", column=name)

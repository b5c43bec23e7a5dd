"""Frozen dataclasses that travel as their fields: by pickle, by copy, between processes."""

from __future__ import annotations

from dataclasses import dataclass, fields


@dataclass(frozen=True, eq=False)
class Value:
    """Base of frozen dataclasses: a copy is built anew from the fields, and checked as any other.

    What was cached in the original (`cached_property`) stays behind. It may hold addresses of memory, which mean
    nothing in another process, and in a copy belong to arrays that somebody else owns.

    Examples
    --------
    >>> import copy, qckm
    >>> op = qckm.SketchOperator.draw(n_features=2, n_frequencies=8, scale=1.0, random_state=0)
    >>> copy.deepcopy(op) == op
    True
    """

    def __reduce__(self) -> tuple[object, ...]:
        return type(self), tuple(getattr(self, field.name) for field in fields(self))

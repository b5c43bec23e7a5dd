"""False alarms: pairs of windows that are alike, compared by every statistic that is shipped, at 5 % and 1 %.

A new reference of 2000 rows is drawn for every tenth pair. Windows for "blocks" come in parts of a tenth of the smaller
one. One bit unless said; the exponential is measured with windows of 5000 rows.
"""

from __future__ import annotations

import numpy as np

import qckm
from drift.data import NAMES, draw, operator_of
from drift.tables import Table

WINDOWS = ((5000, 5000), (500, 500), (50_000, 50_000), (20_000, 500))
PAIRS, M, REFERENCE, PARTS = 500, 200, 2000, 10
PAIRS_A_REFERENCE = 10


def pvalues(name: str, a: int, b: int, pairs: int, seed: int = 0) -> dict[str, np.ndarray]:
    """Return p-values of pairs of windows of a and b rows, by statistic."""
    rng = np.random.default_rng([seed, a, b, NAMES.index(name)])
    operators = {"": operator_of(name, M, "one-bit")}
    if a == b == 5000:
        operators[", exponential"] = operator_of(name, M, "exponential")
    found: dict[str, list[float]] = {}
    references: dict[str, qckm.Reference] = {}
    size = min(a, b) // PARTS
    for pair in range(pairs):
        rows = draw(name, a + b + REFERENCE, rng)
        for label, operator in operators.items():
            if pair % PAIRS_A_REFERENCE == 0:
                references[label] = qckm.Reference.of(operator, rows[a + b :])
            parts = [
                [operator.sketch(part) for part in np.array_split(window, len(window) // size)]
                for window in (rows[:a], rows[a : a + b])
            ]
            before, after = (sum(some[1:], some[0]) for some in parts)
            for statistic in ("largest", "squares", "whitened"):
                reference = None if statistic == "largest" else references[label]
                drift = qckm.compare(before, after, reference, statistic=statistic)
                found.setdefault(statistic + label, []).append(drift.pvalue)
            if not label:
                found.setdefault("blocks", []).append(qckm.compare(*parts).pvalue)
    return {statistic: np.array(values) for statistic, values in found.items()}


def measure(names: tuple[str, ...] = NAMES, pairs: int = PAIRS) -> None:
    """Measure what is not there yet."""
    table = Table(
        "levels", ("data", "rows_a", "rows_b", "statistic"), ("pairs", "alarms_5", "alarms_1", "level_5_percent")
    )
    for name in names:
        for a, b in WINDOWS:
            if not table.has(name, a, b):
                for statistic, values in pvalues(name, a, b, pairs).items():
                    five, one = int((values <= 0.05).sum()), int((values <= 0.01).sum())
                    table.add(name, a, b, statistic, len(values), five, one, 100 * five / len(values))

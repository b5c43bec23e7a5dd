"""False alarms: pairs of windows that are alike, compared by every statistic that is shipped, at 5 % and 1 %.

A new reference of 2000 rows is drawn for every 25th pair. Windows for "blocks" come in ten parts. One bit unless said;
the exponential is measured with windows of 5000 rows. What `compare` does is called directly, without its checks.
"""

from __future__ import annotations

import numpy as np

import qckm
from drift.data import NAMES, draw, operator_of
from drift.tables import Table
from qckm.drift import block_exchange
from qckm.drift.largest import largest_difference

WINDOWS = ((500, 500), (5000, 5000), (50_000, 50_000))
EXCHANGES = 1000
PAIRS, M, REFERENCE, PARTS = 500, 200, 2000, 10
PAIRS_PER_REFERENCE = 25


def pvalues(name: str, a: int, b: int, pairs: int, seed: int = 0) -> dict[str, np.ndarray]:
    """Return p-values of pairs of windows of a and b rows, by statistic."""
    rng = np.random.default_rng([seed, a, b, NAMES.index(name)])
    operators = {"": operator_of(name, M, "one-bit")}
    if a == b == 5000:
        operators[", exponential"] = operator_of(name, M, "exponential")
    found: dict[str, list[float]] = {}
    references: dict[str, qckm.Reference] = {}
    block_exchange._MOST_EXCHANGES = EXCHANGES
    for pair in range(pairs):
        rows = draw(name, a + b + REFERENCE, rng)
        for label, operator in operators.items():
            if pair % PAIRS_PER_REFERENCE == 0:
                references[label] = qckm.Reference.of(operator, rows[a + b :])
            parts = [
                [operator.sketch(part) for part in np.array_split(window, PARTS)]
                for window in (rows[:a], rows[a : a + b])
            ]
            before, after = (sum(some[1:], some[0]) for some in parts)
            pvalues = {
                "largest": largest_difference(before, after)[1],
                "squares": references[label].squares(before, after)[1],
                "whitened": references[label].whitened(before, after)[1],
            }
            if not label:
                pvalues["blocks"] = block_exchange.exchange_blocks(*parts, 0.05, None, 0)[1]
            for statistic, pvalue in pvalues.items():
                found.setdefault(statistic + label, []).append(pvalue)
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

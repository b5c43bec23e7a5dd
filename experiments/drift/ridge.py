"""What the ridge of the whitened statistic matters: level and power, on seeds that nothing else is reported on."""

from __future__ import annotations

import numpy as np

import qckm
from drift.data import draw, operator_of
from drift.power import skin_new_cluster
from drift.tables import Table
from qckm.drift import reference_rows

RIDGES, SEED, PAIRS, M = (0.01, 0.03, 0.1), 1000, 200, 300


def measure() -> None:
    table = Table("ridge", ("ridge", "what"), ("pairs", "alarms", "percent"))
    usual = reference_rows.RIDGE
    for ridge in RIDGES:
        reference_rows.RIDGE = ridge
        for what in ("kddcup99, alike, 500 rows", "skin, alike, 500 rows", "skin, new cluster of 0.5 %, 20 000 rows"):
            if table.has(ridge, what):
                continue
            data, rng, alarms = what.split(",")[0], np.random.default_rng(SEED), 0
            operator, changed = operator_of(data, M, "one-bit", SEED), skin_new_cluster(20_000, 0.005)
            for pair in range(PAIRS):
                if "new" in what:
                    before, after, rows = changed(rng)
                else:
                    every = draw(data, 3000, rng)
                    before, after, rows = every[:500], every[500:1000], every[1000:]
                if pair % 10 == 0:
                    reference = qckm.Reference.of(operator, rows)
                a, b = operator.sketch(before), operator.sketch(after)
                alarms += qckm.compare(a, b, reference, statistic="whitened").drifted
            table.add(ridge, what, PAIRS, int(alarms), 100 * alarms / PAIRS)
    reference_rows.RIDGE = usual

"""How many frequencies K clusters need."""

from __future__ import annotations

# Frequencies for each unknown: where there are rows to decode with, where the sketch is all there is (measured:
# experiments/default_m.py), and how many are enough where these would have more components in all, n·m.
_WITH_ROWS, _ALONE, _ENOUGH, _MOST_COMPONENTS = 5, 20, 2, 1 << 26
# So few that two places far apart look alike by 1/√(2m), 7 %, by chance.
_LEAST = 100


def choose_n_frequencies(n_features: int, n_clusters: int, alone: bool = False) -> int:
    """Choose m: five times the unknowns, 20 times where no rows are decoded with; never so few that chance shows.

    For thousands of features that would be gigabytes of frequencies to decode with: then it is less, down to twice the
    unknowns, which are enough (docs/guide/choosing-m.md).
    """
    unknowns = n_features * n_clusters
    wanted = (_ALONE if alone else _WITH_ROWS) * unknowns
    return max(_LEAST, min(wanted, max(_ENOUGH * unknowns, _MOST_COMPONENTS // n_features)))

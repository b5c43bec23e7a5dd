"""How many frequencies K clusters need."""

from __future__ import annotations

# Frequencies for each unknown, and how many are enough where the former would have more components in all, n·m.
_USUAL, _ENOUGH, _MOST_COMPONENTS = 5, 2, 1 << 26
# So few that two places far apart look alike by 1/√(2m), 7 %, by chance.
_LEAST = 100


def choose_n_frequencies(n_features: int, n_clusters: int) -> int:
    """Choose m: five times the unknowns, and never so few that their randomness shows.

    For thousands of features that would be gigabytes of frequencies to decode with: then it is less, down to twice the
    unknowns, which are enough (docs/guide/choosing-m.md).
    """
    unknowns = n_features * n_clusters
    return max(_LEAST, min(_USUAL * unknowns, max(_ENOUGH * unknowns, _MOST_COMPONENTS // n_features)))

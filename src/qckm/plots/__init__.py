"""Sketches and what was found in them go in, matplotlib axes come out (extra `plot`).

Every function draws on the axes it is given, or on the current ones of pyplot, and returns them.
"""

from qckm.plots.findings import clustering, density, drift_effects, selection, witness

__all__ = [
    "clustering",
    "density",
    "drift_effects",
    "selection",
    "witness",
]

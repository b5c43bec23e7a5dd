"""Sketches, clusterings and measurements go in, matplotlib axes come out (extra `plot`).

Every function draws on the axes it is given, or on the current ones of pyplot, and returns them.
"""

from qckm.plots.experiment_curves import convergence, phase_diagram, trade_off
from qckm.plots.findings import clustering, density, drift_effects, selection, witness

__all__ = [
    "clustering",
    "convergence",
    "density",
    "drift_effects",
    "phase_diagram",
    "selection",
    "trade_off",
    "witness",
]

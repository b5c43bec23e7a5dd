"""The descents of CL-OMPR: the paper's steps 1 and 5, with the rules of the authors' toolbox.

The whole descent runs in the C core without returning to Python, which would take longer than the arithmetic at the
sizes of the paper's figures.
"""

from __future__ import annotations

import numpy as np

from qckm.common.arrays import Floats
from qckm.decoding.model.loops import Descent, Rules, loops
from qckm.decoding.model.waves import Waves

# When to stop, as L-BFGS-B has it: an iteration that gains less than this, or a gradient that is as good as none.
_RULES = Rules(iterations=2000, every=1, gain=2.2e-9, least=1.0, slope=1e-5)


def match_point(waves: Waves, start: Floats, low: Floats, high: Floats) -> Descent:
    """Step 1: move a point (n,) to where its normalised atom correlates best with z; the value is minus that."""
    return loops().match(waves, start, low, high, _RULES)


def fit_points(waves: Waves, n_points: int, start: Floats, low: Floats, high: Floats) -> Descent:
    """Step 5: descend on ‖z − Σ_k α_k a(c_k)‖² over points (K, n) and weights (K,), one after the other in a vector."""
    found, _ = loops().fit(waves, (n_points, 0, 0), np.zeros(n_points), 0.0, start, low, high, _RULES)
    return found

"""The best non-negative weights of given atoms."""

from __future__ import annotations

import numpy as np

from qckm.common.arrays import Floats
from qckm.kernels.threads import one_thread


def non_negative_weights(atoms: Floats, z: Floats) -> tuple[Floats, float]:
    """Solve min ‖z − Σ_k α_k a_k‖² over α ≥ 0 for atoms (K, M); return α and that minimum.

    By the normal equations, K × K where the atoms are K × M: their triangular factor poses the same problem to the
    solver in K rows instead of M. A whisper on the diagonal keeps the factor defined when two atoms coincide.
    """
    from scipy.optimize import nnls  # here: takes half a second to import, and rows that were kept need none of it

    gram = atoms @ atoms.T
    gram[np.diag_indices_from(gram)] *= 1 + 1e-10
    factor = np.linalg.cholesky(gram + 1e-13 * np.trace(gram) * np.eye(len(gram)))
    with one_thread():  # of SciPy's libraries, which may not have been there when a decoder said so
        weights, _ = nnls(factor.T, np.linalg.solve(factor, atoms @ z), maxiter=100 * len(gram))
    residual = z - weights @ atoms
    return weights, float(residual @ residual)

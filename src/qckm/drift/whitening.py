"""The inverse of a covariance of contributions, from fewer rows than there are measurements or more."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from qckm.common.arrays import Floats
from qckm.decoding.clouds.contributions import Singles

# ρ, as a share of the greatest eigenvalue of C. From a third of it to three times as much, levels and power of the
# whitened test were the same to a standard error (200 pairs, seeds from 1000; `python -m drift ridge` measures it).
RIDGE = 0.03
_POWER_STEPS = 30
_LEAST_RIDGE = 1e-9


@dataclass(frozen=True, eq=False)
class Whitening:
    """(C + ρI)⁻¹ = (I − FᵀF)/ρ, for the covariance C = QᵀQ of R rows: F is L⁻¹Q, where LLᵀ = QQᵀ + ρI.

    So the work is that of R × R matrices, however many measurements there are.
    """

    ridge: float
    factor: Singles  # (R, M)

    @classmethod
    def of(cls, rows: Singles) -> Whitening:
        """Take the covariance from rows (R, M) that are centred and scaled so that their squares add up to it."""
        from scipy.linalg import solve_triangular

        products = (rows @ rows.T).astype(np.float64)
        ridge = max(RIDGE * _greatest_eigenvalue(products), _LEAST_RIDGE)
        products[np.diag_indices_from(products)] += ridge
        lower = np.linalg.cholesky(products)
        factor = solve_triangular(lower, rows.astype(np.float64), lower=True, overwrite_b=True)
        return cls(ridge, factor.astype(np.float32))

    def apply(self, vectors: Floats) -> Floats:
        """Return (C + ρI)⁻¹v, for vectors in columns (M, …)."""
        through = self.factor.T @ (self.factor @ vectors.astype(np.float32))
        return (vectors - through.astype(np.float64)) / self.ridge

    def form(self, vector: Floats) -> float:
        """Return vᵀ(C + ρI)⁻¹v."""
        along = (self.factor @ vector.astype(np.float32)).astype(np.float64)
        return max(0.0, float(vector @ vector - along @ along) / self.ridge)

    def products(self, rows: Singles) -> Singles:
        """Return the forms of all pairs of rows (R′, M)."""
        along = rows @ self.factor.T
        products: Singles = (rows @ rows.T - along @ along.T) / np.float32(self.ridge)
        return products


def _greatest_eigenvalue(matrix: Floats) -> float:
    vector, size = np.ones(len(matrix)), 0.0
    for _ in range(_POWER_STEPS):
        vector = matrix @ vector
        size = float(np.linalg.norm(vector))
        if not size > 0:
            break
        vector /= size
    return size

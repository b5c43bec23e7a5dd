"""What a mixture of Gaussians says of rows: densities, memberships, samples."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from qckm.common.arrays import Floats

# Rows that are looked at together.
_BLOCK = 1 << 14


@dataclass(frozen=True, eq=False)
class GaussianDensity:
    """Weights (K,), means (K, n), and covariances (K,), (K, n) or (K, n, n): spherical, diag, full."""

    weights: Floats
    means: Floats
    covariances: Floats

    @cached_property
    def matrices(self) -> Floats:
        """The covariances as matrices, (K, n, n)."""
        n = self.means.shape[1]
        if self.covariances.ndim == 3:
            return self.covariances
        variances = self.covariances if self.covariances.ndim == 2 else np.repeat(self.covariances[:, np.newaxis], n, 1)
        matrices: Floats = variances[:, np.newaxis] * np.eye(n)
        return matrices

    @cached_property
    def _factors(self) -> Floats:
        factors: Floats = np.linalg.cholesky(self.matrices).astype(np.float64)
        return factors

    def logarithms(self, rows: Floats) -> Floats:
        """Return log(weight · density) of each row (rows, n) in each of the components, (rows, K)."""
        from scipy.linalg import solve_triangular

        n = self.means.shape[1]
        out = np.empty((len(rows), len(self.means)))
        with np.errstate(divide="ignore"):
            logarithms = np.log(self.weights)
        for start in range(0, len(rows), _BLOCK):
            block = rows[start : start + _BLOCK]
            for k, (mean, factor) in enumerate(zip(self.means, self._factors, strict=True)):
                away = solve_triangular(factor, (block - mean).T, lower=True)
                size = np.log(np.diag(factor)).sum() + n / 2 * np.log(2 * np.pi)
                out[start : start + _BLOCK, k] = logarithms[k] - size - (away**2).sum(axis=0) / 2
        return out

    def score_samples(self, rows: Floats) -> Floats:
        """Return the logarithm of the density at each row, (rows,)."""
        from scipy.special import logsumexp

        found: Floats = np.asarray(logsumexp(self.logarithms(rows), axis=1))
        return found

    def predict_proba(self, rows: Floats) -> Floats:
        """Return the probability of each component, given a row, (rows, K)."""
        from scipy.special import softmax

        found: Floats = np.asarray(softmax(self.logarithms(rows), axis=1))
        return found

    def predict(self, rows: Floats) -> npt.NDArray[np.int32]:
        """Return the most probable component of each row, (rows,)."""
        labels: npt.NDArray[np.int32] = self.logarithms(rows).argmax(axis=1).astype(np.int32)
        return labels

    def sample(self, count: int, rng: np.random.Generator) -> tuple[Floats, npt.NDArray[np.int32]]:
        """Draw rows (count, n) and the component that each is of."""
        which = np.sort(rng.choice(len(self.weights), size=count, p=self.weights / self.weights.sum()))
        normal = rng.standard_normal((count, self.means.shape[1]))
        rows: Floats = self.means[which] + np.einsum("inj,ij->in", self._factors[which], normal)
        return rows, which.astype(np.int32)

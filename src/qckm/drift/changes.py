"""Changes of clusters as columns of a regression: how much of the difference of two sketches they explain."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

import numpy as np

from qckm.common.arrays import Floats
from qckm.drift.clouds import LabelledCloud
from qckm.drift.whitening import Whitening
from qckm.sketch import Sketch

# Slopes of the signature are taken over this part of a turn, in radians either way: bits have no derivative.
_HALF_STEP = 0.5
# Directions whose variance is below this share of the greatest are not told from none.
_FLAT = 1e-8


@dataclass(frozen=True, eq=False)
class Option:
    """A change that may be added: its columns, what it would be alone, and how likely by chance."""

    kind: Literal["weight", "move", "new"]
    cluster: int | None
    columns: Floats  # (M, p)
    size: float  # of the first column
    pvalue: float
    rank: float  # the same as a normal deviation, which does not vanish


@dataclass(eq=False)
class Changes:
    """The difference of two sketches, and the columns that were chosen to explain it."""

    difference: Floats  # (M,)
    factor: float  # 1/N + 1/N′
    whitening: Whitening
    judges: Floats  # (P, M): centred contributions times the roots of their weights
    atoms: Floats  # (K, M): mean contributions less those of all
    shifts: Floats  # (K, M): mean slopes times the cluster's share
    frequencies: Floats  # (n, M)
    present: Floats  # (K,): which clusters have points
    chosen: list[Option] = field(default_factory=list)

    @classmethod
    def of(cls, cloud: LabelledCloud, before: Sketch, after: Sketch) -> Changes:
        """Prepare the columns of all clusters."""
        operator, K = before.operator, len(cloud.centers)
        mean = cloud.weights @ cloud.contributions.astype(np.float64)
        half = len(cloud.points) // 2
        rooted = (np.sqrt(cloud.weights)[:, np.newaxis] * (cloud.contributions - mean)).astype(np.float32)
        shaping, judging = (
            part / np.float32(np.sqrt(max(weights.sum(), 1e-12)))
            for part, weights in ((rooted[:half], cloud.weights[:half]), (rooted[half:], cloud.weights[half:]))
        )
        members = np.zeros((K, len(cloud.points)))
        members[cloud.labels, np.arange(len(cloud.points))] = cloud.weights
        shares = np.maximum(cloud.shares, 1e-300)[:, np.newaxis]
        phases = (cloud.points - operator.origin) @ operator.frequencies + operator.phases
        halves = 2 if operator.paired else 1
        slopes = np.concatenate([members @ _slopes(operator.signature, phases + h * np.pi / 2) for h in range(halves)], 1)
        return cls(
            after.values() - before.values(),
            1 / before.count + 1 / after.count,
            Whitening.of(shaping),
            judging.astype(np.float64),
            members @ cloud.contributions / shares - mean,
            slopes,
            np.tile(operator.frequencies, halves),
            cloud.shares > 0,
        )

    @property
    def _columns(self) -> Floats:
        return np.concatenate([np.zeros((self.difference.size, 0)), *(option.columns for option in self.chosen)], 1)

    def left_over(self) -> Floats:
        """Return (C + ρI)⁻¹(d − what the chosen columns explain)."""
        columns = self._columns
        return self.whitening.apply(self.difference - columns @ self._solve(columns)[0])

    def candidates(self) -> list[Option]:
        """Return all changes of clusters that could be added."""
        taken = {(option.kind, option.cluster) for option in self.chosen}
        options = []
        for k in np.flatnonzero(self.present).tolist():
            if ("weight", k) not in taken and len(self.atoms) > 1:
                options.append(self.rate("weight", k, self.atoms[k][:, np.newaxis], 1))
            if ("move", k) not in taken:
                columns = (self.frequencies * self.shifts[k]).T
                options.append(self.rate("move", k, columns, columns.shape[1]))
        return options

    def rate(
        self, kind: Literal["weight", "move", "new"], cluster: int | None, columns: Floats, freedom: int
    ) -> Option:
        """Return how much columns would explain of what is left, and how likely chance would let them."""
        from scipy.special import chdtrc

        before = self._columns
        weighed = self.whitening.apply(columns)
        if before.shape[1]:
            columns_left = columns - before @ self._solve(before, columns)[0]
            weighed = self.whitening.apply(columns_left)
        scores = weighed.T @ self.difference
        spread = self.judges @ weighed
        covariance = spread.T @ spread * self.factor
        gain = float(scores @ _pseudo_inverse(covariance) @ scores)
        information = columns.T @ weighed
        size = float((_pseudo_inverse(information) @ scores)[0])
        # Wilson and Hilferty: the cube root of chi-square is nearly normal.
        rank = ((max(gain, 0.0) / freedom) ** (1 / 3) - (1 - 2 / (9 * freedom))) / np.sqrt(2 / (9 * freedom))
        return Option(kind, cluster, columns, size, float(chdtrc(freedom, max(gain, 0.0))), rank)

    def add(self, option: Option) -> None:
        """Choose a change."""
        self.chosen.append(option)

    def estimates(self) -> list[tuple[Floats, Floats]]:
        """Return the size of each chosen change, fitted together, and its covariance."""
        values, covariance = self._solve(self._columns)
        ends = np.cumsum([0, *(option.columns.shape[1] for option in self.chosen)])
        parts = [slice(begin, end) for begin, end in zip(ends[:-1], ends[1:], strict=True)]
        return [(values[part], covariance[part, part]) for part in parts]

    def weights(self) -> tuple[Floats, Floats]:
        """Return how much the share of each cluster has changed, moves and new rows apart, and the errors."""
        others = [option.columns for option in self.chosen if option.kind != "weight"]
        which = np.flatnonzero(self.present)
        K = len(which)
        # Shares change by what sums up to 0: K − 1 directions, those of the cosine transform but the constant.
        basis = np.cos(np.pi * np.outer(np.arange(K) + 0.5, np.arange(1, K)) / max(K, 1))
        columns = np.concatenate([self.atoms[which].T @ basis, *others], axis=1)
        changes, errors = np.full(len(self.atoms), np.nan), np.full(len(self.atoms), np.nan)
        if K < 2:
            changes[which], errors[which] = 0.0, 0.0
            return changes, errors
        values, covariance = self._solve(columns)
        changes[which] = basis @ values[: K - 1]
        errors[which] = np.sqrt(np.maximum(np.einsum("ij,jk,ik->i", basis, covariance[: K - 1, : K - 1], basis), 0))
        return changes, errors

    def _solve(self, columns: Floats, target: Floats | None = None) -> tuple[Floats, Floats]:
        """Regress a target (M, …), the difference unless given, on columns; return coefficients and covariance."""
        weighed = self.whitening.apply(columns)
        inverse = _pseudo_inverse(columns.T @ weighed)
        values = inverse @ (weighed.T @ (self.difference if target is None else target))
        spread = self.judges @ (weighed @ inverse)
        return values, spread.T @ spread * self.factor


def _slopes(signature: object, phases: Floats) -> Floats:
    """Return how a signature rises with the phase, averaged over a part of a turn."""
    slopes: Floats = (signature(phases + _HALF_STEP) - signature(phases - _HALF_STEP)) / (2 * _HALF_STEP)  # type: ignore[operator]
    return slopes


def _pseudo_inverse(matrix: Floats) -> Floats:
    """Return the inverse of a covariance in the directions in which it is not flat."""
    inverse: Floats = np.linalg.pinv(matrix, rcond=_FLAT, hermitian=True)
    return inverse

"""The 50 % lines of a phase diagram, and what one bit costs: the ratio of two lines, with bootstrap intervals.

    python -m paper.transition        # in experiments/: prints the ratios of all diagrams that have been measured

A line is where the success rate, made increasing in m (isotonic regression) and interpolated in log m, crosses a half.
The cost of one signature against another is the geometric mean over n (or K) of the ratios of their lines. Trials are
resampled within each n, both signatures together, for they share data and frequencies.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
from sklearn.isotonic import isotonic_regression

from paper.phase import SHAPES, VARIANTS, table_of
from paper.runner import RESULTS
from paper.settings import SUCCESS

_RESAMPLES = 1000


@dataclass(frozen=True, eq=False)
class Diagram:
    """Successes (V, R, trials) of one signature at values (V,) of n or K and ratios (R,) of m/(nK)."""

    values: np.ndarray
    ratios: np.ndarray
    success: list[np.ndarray]  # for each value (R, trials), trials whose ratios have all been measured

    def rates(self) -> np.ndarray:
        """Return the success rates (V, R)."""
        return np.array([successes.mean(axis=1) for successes in self.success])

    def line(self, chosen: list[np.ndarray] | None = None) -> np.ndarray:
        """Return m/(nK) at the transition for each value, of all trials or of those that are chosen."""
        rates = [
            successes[:, slice(None) if chosen is None else chosen[i]].mean(axis=1)
            for i, successes in enumerate(self.success)
        ]
        return np.array([_crossing(np.log(self.ratios), rate) for rate in rates])


def _crossing(x: np.ndarray, rates: np.ndarray) -> float:
    """Return exp(x) where the rates cross one half; beyond the grid, NaN."""
    increasing = isotonic_regression(rates)
    above = np.flatnonzero(increasing >= 0.5)
    if above.size == 0 or above[0] == 0:
        return float("nan")
    j = above[0]
    share = (0.5 - increasing[j - 1]) / (increasing[j] - increasing[j - 1])
    return float(np.exp(x[j - 1] + share * (x[j] - x[j - 1])))


def diagrams(figure: str, variant: str, folder: Path = RESULTS) -> dict[str, Diagram]:
    """Return what has been measured of a variant, by signature."""
    ratios = np.array(VARIANTS[variant].ratios)
    rows = table_of(figure, variant, folder).read()
    found: dict[tuple[str, int, int], dict[int, float]] = {}
    for row in rows:
        value = int(row["n"] if figure == "2a" else row["K"])
        found.setdefault((row["signature"], value, int(row["seed"])), {})[int(row["m"])] = float(row["sse_over_kmeans"])
    out = {}
    for signature in VARIANTS[variant].signatures:
        values, success = [], []
        for n, n_clusters in SHAPES[figure]:
            value = n if figure == "2a" else n_clusters
            sizes = [int(np.ceil(ratio * n * n_clusters)) for ratio in ratios]
            trials = [cells for key, cells in sorted(found.items()) if key[:2] == (signature, value)]
            whole = [[cells[m] <= SUCCESS for m in sizes] for cells in trials if all(m in cells for m in sizes)]
            if whole:
                values.append(value)
                success.append(np.array(whole, float).T)
        if values:
            out[signature] = Diagram(np.array(values), ratios, success)
    return out


def cost(one: Diagram, other: Diagram, seed: int = 0) -> tuple[float, float, float]:
    """Return how many times the measurements of the other diagram the first needs, with a 95 % interval."""
    rng = np.random.default_rng(seed)
    trials = [min(a.shape[1], b.shape[1]) for a, b in zip(one.success, other.success, strict=True)]
    means = [_cost(one.line([slice(n) for n in trials]), other.line([slice(n) for n in trials]))]
    for _ in range(_RESAMPLES):
        chosen = [rng.integers(n, size=n) for n in trials]
        means.append(_cost(one.line(chosen), other.line(chosen)))
    known = np.array(means[1:])[~np.isnan(means[1:])]  # a resample may have its transition beyond the grid
    return (means[0], *(np.quantile(known, [0.025, 0.975]) if known.size else (np.nan, np.nan)))


def _cost(one: np.ndarray, other: np.ndarray) -> float:
    """Return the geometric mean of the ratios of two lines, over the values where both have a transition."""
    both = ~np.isnan(one) & ~np.isnan(other)
    return float(np.exp(np.mean(np.log(one[both] / other[both])))) if both.any() else float("nan")


def main() -> None:
    for figure in SHAPES:
        for variant in VARIANTS:
            found = diagrams(figure, variant)
            if "exponential" not in found:
                continue
            for signature, diagram in found.items():
                line = " ".join(f"{value}: {m:.2f}" for value, m in zip(diagram.values, diagram.line(), strict=True))
                trials = min(successes.shape[1] for successes in diagram.success)
                print(f"{figure} {variant:13} {signature:12} {trials:3} trials, 50 % at m/nK  {line}")
                if signature != "exponential":
                    ratio, low, high = cost(diagram, found["exponential"])
                    print(f"{'':17} {signature} / exponential: {ratio:.3f} ({low:.3f} to {high:.3f})")


if __name__ == "__main__":
    main()

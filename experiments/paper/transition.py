"""The 50 % lines of a phase diagram, and what one bit costs: the ratio of two lines, with bootstrap intervals.

    python -m paper.transition        # in experiments/: prints the ratios of all diagrams that have been measured

A line is where the success rate, made increasing in m (isotonic regression) and interpolated in log m, crosses a half.
The cost of one signature against another is the geometric mean of the ratios of their lines, over those n (or K) where
both transitions lie on the grid; which these are is decided once, by all trials, so that every resample estimates the
same. Trials are resampled within each n, both signatures together, for they share data and frequencies: paired by seed.

A resample's transition that falls off the grid is put at the grid's edge. That keeps the resample, but understates how
far off it is, and with it the interval on that side: so the number of such resamples is told with every interval.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
from sklearn.isotonic import isotonic_regression

from paper.phase import SHAPES, VARIANTS, frequencies_of, table_of
from paper.runner import RESULTS
from paper.settings import SUCCESS

RESAMPLES = 1000


@dataclass(frozen=True, eq=False)
class Row:
    """Successes of one signature at one n or K, of trials that have been measured on all of the grid."""

    value: int
    nominal: np.ndarray  # (G,) m/(nK) as it was asked for
    grid: np.ndarray  # (G,) m/(nK) as it is: m is rounded up, and at n = 3 0.75 becomes 0.83
    seeds: np.ndarray  # (T,)
    success: np.ndarray  # (G, T)

    def crossing(self, chosen: slice | np.ndarray = slice(None)) -> float:
        """Return m/(nK) at the transition, of all trials or of those chosen; 0 below the grid, infinite beyond it."""
        return _crossing(np.log(self.grid), self.success[:, chosen].mean(axis=1))

    def of_seeds(self, seeds: np.ndarray) -> Row:
        """Return the trials of these seeds, in their order."""
        place = {seed: i for i, seed in enumerate(self.seeds)}
        chosen = [place[seed] for seed in seeds]
        return Row(self.value, self.nominal, self.grid, self.seeds[chosen], self.success[:, chosen])

    def tell(self, m: float) -> str:
        """Return a crossing in words."""
        if on_grid(m):
            return f"{m:.2f}"
        return f"below {self.grid[0]:.3g}" if m == 0 else f"beyond {self.grid[-1]:.3g}"


@dataclass(frozen=True, eq=False)
class Diagram:
    """Rows of one signature at all n or K that have been measured."""

    signature: str
    rows: list[Row]

    @property
    def values(self) -> np.ndarray:
        """The values (V,) of n or K."""
        return np.array([row.value for row in self.rows])

    @property
    def ratios(self) -> np.ndarray:
        """The nominal m/(nK), (R,), that some row has."""
        return np.unique(np.concatenate([row.nominal for row in self.rows]))

    def rates(self) -> np.ndarray:
        """Return the success rates (V, R) at the nominal ratios, NaN where a row has not been measured."""
        rates = np.full((len(self.rows), self.ratios.size), np.nan)
        for rate, row in zip(rates, self.rows, strict=True):
            rate[np.searchsorted(self.ratios, row.nominal)] = row.success.mean(axis=1)
        return rates

    def line(self) -> np.ndarray:
        """Return m/(nK) at the transition for each value, NaN off the grid."""
        line = np.array([row.crossing() for row in self.rows])
        return np.where(on_grid(line), line, np.nan)


@dataclass(frozen=True)
class Cost:
    """How many times the measurements of one signature another needs, with a 95 % interval."""

    ratio: float
    low: float
    high: float
    values: tuple[int, ...]  # the n or K it is the mean of
    left_out: dict[int, str]  # those whose transition is off the grid: which, and on which side
    clipped: int  # of RESAMPLES, those with a transition off the grid


def on_grid(m: float | np.ndarray) -> bool | np.ndarray:
    """Return whether crossings are neither below the grid nor beyond it."""
    return (m > 0) & np.isfinite(m)


def _crossing(x: np.ndarray, rates: np.ndarray) -> float:
    """Return exp(x) where the rates cross one half; 0 below the grid, infinite beyond it."""
    increasing = np.round(isotonic_regression(rates), 9)  # a half that was pooled of others is a half
    above = np.flatnonzero(increasing >= 0.5)
    if above.size == 0:
        return float("inf")
    j = above[0]
    if j == 0:
        return float(np.exp(x[0])) if increasing[0] == 0.5 else 0.0
    share = (0.5 - increasing[j - 1]) / (increasing[j] - increasing[j - 1])
    return float(np.exp(x[j - 1] + share * (x[j] - x[j - 1])))


def diagrams(figure: str, variant: str, folder: Path = RESULTS) -> dict[str, Diagram]:
    """Return what has been measured of a variant, by signature."""
    found: dict[tuple[str, int], dict[int, dict[int, float]]] = {}
    for row in table_of(figure, variant, folder).read():
        value = int(row["n"] if figure == "2a" else row["K"])
        trials = found.setdefault((row["signature"], value), {})
        trials.setdefault(int(row["seed"]), {})[int(row["m"])] = float(row["sse_over_kmeans"])
    out = {}
    for signature in VARIANTS[variant].signatures:
        rows = []
        for n, n_clusters in SHAPES[figure]:
            value = n if figure == "2a" else n_clusters
            row = _row(value, n * n_clusters, VARIANTS[variant].ratios, found.get((signature, value), {}))
            rows += [] if row is None else [row]
        if rows:
            out[signature] = Diagram(signature, rows)
    return out


def _row(value: int, unknowns: int, ratios: tuple[float, ...], trials: dict[int, dict[int, float]]) -> Row | None:
    """Return the trials that are whole, on the grid that most have: points added later need not be there."""
    sizes = [(ratio, frequencies_of(ratio, unknowns)) for ratio in ratios]
    sizes = [(ratio, m) for ratio, m in sizes if 2 * sum(m in cells for cells in trials.values()) > len(trials)]
    whole = {seed: cells for seed, cells in sorted(trials.items()) if all(m in cells for _, m in sizes)}
    if not sizes or not whole:
        return None
    nominal, grid = np.array([(ratio, m / unknowns) for ratio, m in sizes]).T
    success = np.array([[cells[m] <= SUCCESS for cells in whole.values()] for _, m in sizes], float)
    return Row(value, nominal, grid, np.array(list(whole)), success)


def cost(one: Diagram, other: Diagram, seed: int = 0) -> Cost:
    """Return how many times the measurements of the other diagram the first needs."""
    pairs, left_out = [], {}
    for pair in _paired(one, other):
        off = [
            f"{diagram.signature} {row.tell(row.crossing())}"
            for diagram, row in zip((one, other), pair, strict=True)
            if not on_grid(row.crossing())
        ]
        if off:
            left_out[pair[0].value] = ", ".join(off)
        else:
            pairs.append(pair)
    if not pairs:
        return Cost(np.nan, np.nan, np.nan, (), left_out, 0)
    rng, means, clipped = np.random.default_rng(seed), [], 0
    edges = np.array([[(row.grid[0], row.grid[-1]) for row in pair] for pair in pairs])
    for _ in range(RESAMPLES):
        chosen = [rng.integers(a.seeds.size, size=a.seeds.size) for a, _ in pairs]
        lines = np.array([[row.crossing(trials) for row in pair] for pair, trials in zip(pairs, chosen, strict=True)])
        clipped += not on_grid(lines).all()
        means.append(_geometric_mean(np.clip(lines, edges[..., 0], edges[..., 1])))
    ratio = _geometric_mean(np.array([[row.crossing() for row in pair] for pair in pairs]))
    return Cost(ratio, *np.quantile(means, [0.025, 0.975]), tuple(a.value for a, _ in pairs), left_out, clipped)


def _paired(one: Diagram, other: Diagram) -> list[tuple[Row, Row]]:
    """Return the rows at values that both have, with the seeds that both have."""
    others = {row.value: row for row in other.rows}
    both = [(row, others[row.value]) for row in one.rows if row.value in others]
    pairs = [(a, b, np.intersect1d(a.seeds, b.seeds)) for a, b in both]
    return [(a.of_seeds(seeds), b.of_seeds(seeds)) for a, b, seeds in pairs if seeds.size]


def _geometric_mean(lines: np.ndarray) -> float:
    """Return that of the ratios of lines (V, 2)."""
    return float(np.exp(np.mean(np.log(lines[:, 0] / lines[:, 1]))))


def main() -> None:
    for figure in SHAPES:
        for variant in VARIANTS:
            found = diagrams(figure, variant)
            if "exponential" not in found:
                continue
            for signature, diagram in found.items():
                line = " ".join(f"{row.value}: {row.tell(row.crossing())}" for row in diagram.rows)
                trials = min(row.seeds.size for row in diagram.rows)
                print(f"{figure} {variant:13} {signature:12} {trials:3} trials, 50 % at m/nK  {line}")
                if signature != "exponential":
                    price = cost(diagram, found["exponential"])
                    print(
                        f"{'':17} {signature} / exponential: {price.ratio:.3f} ({price.low:.3f} to {price.high:.3f}), "
                        f"mean of {len(price.values)}, {price.clipped} of {RESAMPLES} resamples clipped"
                    )
                    for value, off in price.left_out.items():
                        print(f"{'':17} left out: {value}, {off}")


if __name__ == "__main__":
    main()

"""Proposition 1 of the paper, measured: how fast the sketch distance approaches the distance of the distributions.

    python -m paper.proposition1        # in experiments/

For a signature f with first harmonic f₁, data P and centroids Q, equation (accessAllFreq) says that

    | ‖A_f(P) − A_f₁(Q)‖² / (2m|F₁|²)  −  γ²(P, Q)  −  c_P |  ≤  ε

with an ε that falls as m^(−1/2). Both γ² and c_P are known here without any sampling: for the gaussian law the kernel
is exp(−‖x − y‖²/2s²), so that they are sums over pairs of rows. The error is the root mean square over draws of the
operator; its slope on logarithmic axes is printed, and the bound that the proposition's C_f gives at 95 % beside it.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np
from scipy.spatial.distance import cdist

import qckm
from paper.arguments import positive
from paper.runner import RESULTS, Table
from qckm.decoding.model.sketch_model import FirstHarmonicModel

SIGNATURES = ["exponential", "one-bit", "2-bit", "triangle", "modulo"]
SCALE = 2.0
HEADER = ["signature", "m", "rms_error", "bound_95", "gamma_squared", "c_P", "bias_in_standard_errors"]
IMAGES = Path(__file__).parents[2] / "docs" / "images" / "paper"


def kernel_mean(X: np.ndarray, Y: np.ndarray, factor: float, wx: np.ndarray, wy: np.ndarray) -> float:
    """E cos(factor·ω·(x − y)) over the gaussian law and over weighted pairs."""
    return float(wx @ np.exp(-(factor**2) * cdist(X, Y, "sqeuclidean") / (2 * SCALE**2)) @ wy)


def gamma_and_constant(X: np.ndarray, C: np.ndarray, weights: np.ndarray, F: np.ndarray) -> tuple[float, float]:
    """γ²(P, Q), and the constant c_P of a signature with the squared harmonics F."""
    even = np.full(len(X), 1 / len(X))
    gamma = (
        kernel_mean(X, X, 1, even, even)
        - 2 * kernel_mean(X, C, 1, even, weights)
        + kernel_mean(C, C, 1, weights, weights)
    )
    # Beyond some harmonic only a row's distance to itself, 0, is left: the rest of the series is that of the energy.
    exact = [k for k in range(2, 40) if F[k] > 1e-9]
    constant = sum(2 * F[k] * kernel_mean(X, X, k, even, even) for k in exact)
    constant += 2 * F[40:].sum() * kernel_mean(X, X, 40, even, even)
    return gamma, constant / (2 * F[1])


def draw(signature: str, m: int, seed: int) -> qckm.SketchOperator:
    return qckm.SketchOperator.draw(5, m, SCALE, signature=signature, dither="single", random_state=10_007 * seed + m)


def sketch_distance(op: qckm.SketchOperator, X: np.ndarray, C: np.ndarray, weights: np.ndarray) -> float:
    """‖A_f(P) − A_f₁(Q)‖² / (2m|F₁|²)."""
    model = FirstHarmonicModel.of(op.sketch(X))
    residual = model.residual(model.to_points(C), weights)
    return float((residual**2).mean() / (model.amplitude**2 / 2))


def measure(draws: int) -> None:
    """Measure, write the table and draw the figure."""
    rng = np.random.default_rng(0)
    centers = 3 * rng.normal(size=(4, 5))
    X = centers[rng.integers(4, size=500)] + rng.normal(size=(500, 5))
    C, weights = centers[:3] + 0.5, np.array([0.3, 0.3, 0.4])
    sizes = 2 ** np.arange(5, 13)
    rows, slopes = [], {}
    for name in SIGNATURES:
        signature = qckm.signatures.get(name)
        gamma, constant = gamma_and_constant(X, C, weights, np.abs(signature.harmonics) ** 2)
        target, F1 = gamma + constant, abs(signature.harmonics[1])
        C_f = 8 * F1**4 / (1 + 2 * F1) ** 4
        errors = []
        for m in sizes:
            misses = [sketch_distance(draw(name, int(m), seed), X, C, weights) - target for seed in range(draws)]
            errors.append(np.sqrt(np.mean(np.square(misses))))
            bias = np.mean(misses) / (np.std(misses) / np.sqrt(draws))
            bound = np.sqrt(np.log(2 / 0.05) / (C_f * m))
            numbers = (errors[-1], bound, gamma, constant)
            rows.append((name, m, *(f"{number:.6f}" for number in numbers), f"{bias:.2f}"))
        slopes[name] = np.polyfit(np.log(sizes), np.log(errors), 1)[0]
        print(
            f"{name:12} slope {slopes[name]:6.3f} (the proposition: -0.5)   at m = {sizes[-1]}: rms error "
            f"{errors[-1]:.4f}, bound {bound:.4f}   γ² = {gamma:.4f}, c_P = {constant:.4f}, C_f = {C_f:.4f}"
        )
    table_of().replace(rows)
    plot()


def table_of(folder: Path = RESULTS) -> Table:
    return Table("proposition1", HEADER, n_keys=2, folder=folder)


def plot(folder: Path = RESULTS, images: Path = IMAGES) -> None:
    """Draw what was measured, if anything was."""
    rows = table_of(folder).read()
    if not rows:
        return
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    from curves import convergence

    figure, axes = plt.subplots(figsize=(7, 4.6), layout="constrained")
    sizes = np.unique([int(row["m"]) for row in rows])
    names = list(dict.fromkeys(row["signature"] for row in rows))
    errors = {name: [float(row["rms_error"]) for row in rows if row["signature"] == name] for name in names}
    convergence(axes, sizes, errors, xlabel="frequencies m", ylabel="rms error of the sketch distance")
    # The errors are nearly the same: side by side, each curve can be seen.
    for number, (line, shape) in enumerate(zip(axes.get_lines()[: len(names)], "os^Dv", strict=False)):
        line.set(xdata=sizes * 1.03 ** (number - 2), marker=shape, linewidth=1)
    axes.set_title("Proposition 1, measured (curves drawn side by side)")
    axes.set_xticks(sizes, [str(size) for size in sizes])
    axes.minorticks_off()
    ticks = [
        tick for tick in (0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2) if min(map(min, errors.values())) <= tick <= 0.08
    ]
    axes.set_yticks(ticks, [f"{tick:g}" for tick in ticks])
    axes.legend(fontsize=8)
    figure.savefig(images / "proposition1.png", dpi=100, metadata={"Software": None})
    plt.close(figure)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--draws", type=positive, default=200)
    measure(parser.parse_args().draws)


if __name__ == "__main__":
    main()

"""
A density from a sketch
=======================

A one-bit sketch of 40 000 rows, and the mixture of three Gaussians whose sketch it is: weights, means and covariances,
without a row.
"""

# %%
import matplotlib.pyplot as plt
import numpy as np

import qckm

rng = np.random.default_rng(0)
turn = np.array([[0.8, -0.6], [0.6, 0.8]])
X = np.concatenate([
    rng.normal(size=(20_000, 2)) * [2.0, 0.5] @ turn.T,
    rng.normal(size=(12_000, 2)) * [0.6, 1.4] + [5, 1],
    rng.normal(size=(8_000, 2)) * [1.0, 0.4] @ turn + [1, 5],
])  # fmt: skip
sketch = qckm.CompressiveGaussianMixture(3, random_state=0).partial_fit(X).sketch_
mixture = qckm.CompressiveGaussianMixture(3, random_state=0).fit_sketch(sketch)
print(f"weights {mixture.weights_.round(3)}, reproduces the sketch: {mixture.converged_}")

# %%
# Contours of the density over some of the rows, which it has not seen. The lowest are where anomalies are.
side = np.linspace(-7, 9, 200)
grid = np.stack(np.meshgrid(side, side), axis=-1)
scores = mixture.score_samples(grid.reshape(-1, 2)).reshape(200, 200)
fig, ax = plt.subplots(figsize=(6.5, 5.5), layout="constrained")
ax.plot(*X[rng.choice(len(X), 1500)].T, ".", ms=2, color="0.6")
shown = ax.contour(side, side, scores, levels=[-12, -9, -7, -5.5, -4.5, -3.5], cmap="viridis")
ax.plot(*mixture.means_.T, "k+", ms=10, mew=2)
fig.colorbar(shown, label="log density, nats")
ax.set(title="A mixture fitted to a one-bit sketch", aspect="equal")
plt.show()

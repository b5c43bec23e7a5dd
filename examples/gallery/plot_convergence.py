"""
Rows add up to certainty
========================

A sketch of N rows differs from that of endlessly many by its sampling noise, which falls as N^(−1/2), and so does the
error of the centroids found in it.
"""

# %%
import matplotlib.pyplot as plt
import numpy as np

import qckm
import qckm.plots

rng = np.random.default_rng(0)
true = np.array([[-3.0, 0.0], [3.0, 0.0], [0.0, 4.0]])
operator = qckm.SketchOperator.draw(2, 60, scale=1.6, law="concentrated-radius", random_state=0)

# %%
# Four streams, each stopped at six points; the sketch goes on growing, its size does not.
sizes = 1000 * 4 ** np.arange(6)
noise, errors = np.zeros((2, 4, len(sizes)))
for trial in range(4):
    sketch = operator.empty()
    for i, size in enumerate(sizes):
        more = int(size - sketch.count)
        sketch = sketch + operator.sketch(true[rng.integers(3, size=more)] + rng.normal(size=(more, 2)))
        centers = qckm.decode(sketch, 3, init=true, random_state=0).centers
        gaps = np.linalg.norm(centers[:, np.newaxis] - true, axis=2).min(axis=0)
        noise[trial, i], errors[trial, i] = np.sqrt(sketch.sampling_noise()), np.sqrt((gaps**2).mean())

# %%
fig, ax = plt.subplots(figsize=(6, 4.3), layout="constrained")
curves = {"sampling noise of the sketch": noise.mean(axis=0), "error of the centroids": errors.mean(axis=0)}
qckm.plots.convergence(sizes, curves, ax=ax)
plt.show()

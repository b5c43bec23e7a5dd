"""
More rows, less noise
=====================

A sketch of N rows differs from that of endlessly many by its sampling noise, which falls as N^(−1/2), and which the
sketch itself knows: it is how decoders can tell a good match from a bad one.
"""

# %%
import matplotlib.pyplot as plt
import numpy as np

import qckm

rng = np.random.default_rng(0)
places = np.array([[-3.0, 0.0], [3.0, 0.0], [0.0, 4.0]])
operator = qckm.SketchOperator.draw(2, 60, scale=1.6, law="concentrated-radius", random_state=0)


def rows(count):
    return places[rng.integers(3, size=count)] + rng.normal(size=(count, 2))


# %%
# Three million rows stand for endlessly many; nobody has to hold them at once.
endless = qckm.sketch_batches(operator, (rows(100_000) for _ in range(30)))

# %%
# Four streams, each stopped at five points; the sketch goes on growing, its size does not.
sizes = 500 * 4 ** np.arange(5)
promised, measured = np.zeros((2, 4, len(sizes)))
for trial in range(4):
    sketch = operator.empty()
    for i, size in enumerate(sizes):
        sketch = sketch + operator.sketch(rows(int(size - sketch.count)))
        promised[trial, i] = np.sqrt(sketch.sampling_noise())
        measured[trial, i] = np.linalg.norm(sketch.values() - endless.values())

# %%
# What the sketch promises is what is measured.
fig, ax = plt.subplots(figsize=(6, 4.3), layout="constrained")
ax.loglog(sizes, promised.mean(axis=0), "o-", label="sampling_noise(), its root")
ax.loglog(sizes, measured.mean(axis=0), "o-", label="distance from endlessly many")
ax.loglog(sizes, 1.5 * promised[:, 0].mean() * np.sqrt(sizes[0] / sizes), "k--", label="slope −0.5")
ax.set(xlabel="rows", ylabel="error of the sketch")
ax.legend()
plt.show()

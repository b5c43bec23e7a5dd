"""
What quality costs in bytes
===========================

The SSE of centroids from a sketch, against the bytes that are kept; beside it, k-means of as many bytes of rows.
The paper's page has the same for more data and trials.
"""

# %%
import warnings

import matplotlib.pyplot as plt
import numpy as np
from sklearn.cluster import KMeans

import qckm

rng = np.random.default_rng(0)
n, K = 5, 5
X = 2.5 * rng.normal(size=(K, n))[rng.integers(K, size=50_000)] + rng.normal(size=(50_000, n))
best = KMeans(K, n_init=5, random_state=0).fit(X)

# %%
# From half of nK frequencies to five times as many; each keeps 2m integers of 8 bytes. Where they are too few, the
# estimator says so with a `PoorFitWarning`, and `converged_` is False.
warnings.simplefilter("ignore", qckm.errors.PoorFitWarning)
sizes = [15, 20, 25, 30, 40, 60, 125]
sketched, sampled = [], []
for m in sizes:
    how = {"n_frequencies": m, "init": "sketch", "compute_labels": False}
    trials = [qckm.CompressiveKMeans(K, random_state=seed, **how).fit(X) for seed in range(3)]
    sketched.append([-km.score(X) / best.inertia_ for km in trials])
    rows = [X[rng.choice(len(X), 16 * m // (4 * n), replace=False)] for _ in range(3)]
    sampled.append([-KMeans(K, n_init=5, random_state=0).fit(part).score(X) / best.inertia_ for part in rows])

# %%
fig, ax = plt.subplots(figsize=(6.5, 4.3), layout="constrained")
n_bytes = [16 * m for m in sizes]
ax.semilogx(n_bytes, np.median(sketched, axis=1), "o-", label="sketch, one bit per measurement")
ax.semilogx(n_bytes, np.median(sampled, axis=1), "o-", label="rows")
ax.set(xlabel="bytes kept", ylabel="SSE / k-means of all rows", ylim=(0.95, 2))
ax.set_title(f"K = n = {K}; nK frequencies are {16 * n * K} bytes")
ax.legend()
plt.show()

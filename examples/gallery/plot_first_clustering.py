"""
A first clustering
==================

Six clusters in the plane, 200 000 rows. What is kept of them are 400 integers: the sketch.
"""

# %%
# The data, as nobody will be able to look at them later.
import matplotlib.pyplot as plt
import numpy as np
from sklearn.cluster import KMeans

import qckm
import qckm.plots

rng = np.random.default_rng(1)
centers = 4 * rng.normal(size=(6, 2))
X = centers[rng.integers(6, size=200_000)] + 0.7 * rng.normal(size=(200_000, 2))

# %%
# One pass, one bit per measurement. The estimator draws the operator from a pilot of the rows, sketches all of them and
# decodes the sketch.
km = qckm.CompressiveKMeans(n_clusters=6, n_frequencies=200, random_state=0).fit(X)
print(f"{X.nbytes:,} bytes of rows, {km.sketch_.total.nbytes:,} bytes of sketch")

# %%
# What the sketch sees of the data is their density, smoothed by the kernel of its frequencies (red), with ripples where
# there are no rows: two hundred frequencies are not infinitely many. The decoder knows what a cluster looks like
# through these frequencies, ripples and all, and finds centres, weights and widths that explain the whole picture.
found = qckm.decode(km.sketch_, n_clusters=6, random_state=0)
fig, axes = plt.subplots(1, 2, figsize=(11, 4.5), layout="constrained")
qckm.plots.density(km.sketch_, axes[0])
axes[0].set_title("what is kept")
qckm.plots.clustering(km.sketch_, found, rows=X[:2000], ax=axes[1])
axes[1].set_title("what is found in it, and some of the rows")
plt.show()

# %%
# The centroids are those of k-means on all rows, nearly.
print(f"SSE over that of KMeans: {km.inertia_ / KMeans(6, n_init=5, random_state=0).fit(X).inertia_:.4f}")

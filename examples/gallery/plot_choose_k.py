"""
How many clusters?
==================

One cloud of points that has the sketch, cut into K clusters. The number of separate groups grows with K until each is
found, and then stays.
"""

# %%
import matplotlib.pyplot as plt
import numpy as np

import qckm
import qckm.plots

rng = np.random.default_rng(1)
centers = 6 * rng.normal(size=(5, 2))
X = centers[rng.integers(5, size=30_000)] + rng.normal(size=(30_000, 2))
sketch = qckm.SketchOperator.draw(2, 80, scale=1.6, law="concentrated-radius", random_state=0).sketch(X)

# %%
# No second pass over the data.
count = qckm.choose_n_clusters(sketch, ks=range(1, 9), random_state=0)
print(f"chosen: {count.n_clusters}")

# %%
fig, axes = plt.subplots(1, 2, figsize=(11, 4.3), layout="constrained")
qckm.plots.selection(count, axes[0])
qckm.plots.clustering(sketch, count.clustering, rows=X[:1500], ax=axes[1])
plt.show()

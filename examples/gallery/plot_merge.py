"""
Three places, one clustering
============================

Berlin, Paris and Rome each see a part of the world. They send sketches, not rows, and the sum knows all clusters. Then
Rome asks to be forgotten.
"""

# %%
import matplotlib.pyplot as plt
import numpy as np

import qckm
import qckm.plots

rng = np.random.default_rng(4)
homes = {"Berlin": [[-4, 3], [0, 3]], "Paris": [[0, 3], [4, 2]], "Rome": [[1, -4]]}
rows = {
    city: np.array(centers)[rng.integers(len(centers), size=4000)] + 0.6 * rng.normal(size=(4000, 2))
    for city, centers in homes.items()
}

# %%
# One operator for all of them: without it, sums would not be sums of the same thing.
operator = qckm.SketchOperator.draw(
    n_features=2, n_frequencies=100, scale=1.0, law="concentrated-radius", random_state=0
)
sketches = {city: operator.sketch(X) for city, X in rows.items()}
everyone = sum(sketches.values())
without_rome = everyone - sketches["Rome"]

# %%
# Left: a clustering of everyone. Right: the same with Rome forgotten, exactly as if it had never sent anything.
fig, axes = plt.subplots(1, 2, figsize=(11, 4.5), layout="constrained", sharex=True, sharey=True)
for ax, sketch, n_clusters, title in ((axes[0], everyone, 4, "everyone"), (axes[1], without_rome, 3, "Rome forgotten")):
    qckm.plots.clustering(sketch, qckm.decode(sketch, n_clusters, random_state=0), ax=ax)
    ax.set_title(f"{title}: {sketch.count} rows")
plt.show()

# %%
print("forgetting is exact:", without_rome == sketches["Berlin"] + sketches["Paris"])

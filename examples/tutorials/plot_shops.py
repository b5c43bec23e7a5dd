"""
Forty shops: merge and forget
=============================

Forty shops hold rows that may not leave. Each sends one small file. The head office merges the files, clusters all rows
without having seen one, and later removes a shop that leaves.

The rows here are the pixels of a photograph that comes with scikit-learn: 68 480 rows of three columns (red, green,
blue; every other pixel in both directions), cut into forty strips. Each strip stands for a shop, and has colours of its
own, as shops have customers of their own.
"""

# %%
# Each shop's rows. In practice these are files in forty places.
import tempfile
from itertools import pairwise
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
from sklearn.cluster import KMeans
from sklearn.datasets import load_sample_image

import qckm

picture = load_sample_image("china.jpg")[::2, ::2] / 255
shops = [strip.reshape(-1, 3) for strip in np.array_split(picture, 40, axis=1)]
print(f"{len(shops)} shops, {sum(map(len, shops)):,} rows")

# %%
# **Once: one operator for all.** The operator says what is measured of a row. All shops must use the same one, because
# only sums of the same measurements can be added. It is drawn from a *pilot*, a few rows that show how large the
# numbers are: here some rows of five shops. `K`, how many clusters will be asked for, sets how much is measured.
K = 5
folder = Path(tempfile.mkdtemp())  # where files go in this tutorial
pilot = np.concatenate([rows[::20] for rows in shops[::8]])
operator = qckm.SketchOperator.from_pilot(pilot, n_clusters=K, n_frequencies=100, random_state=0)
operator.empty().save(folder / "operator.qckm")  # this file goes to every shop; it holds no rows
print(f"{operator.n_frequencies} frequencies, scale {operator.scale:.2f}")

# %%
# **Every night, in every shop:** load the operator, sketch the rows, send the file.
for number, rows in enumerate(shops):
    qckm.load(folder / "operator.qckm").operator.sketch(rows).save(folder / f"shop-{number}.qckm")

# %%
# **At the head office:** merge. The sum is byte-identical to a sketch of all rows in one place.
sketches = [qckm.load(folder / f"shop-{number}.qckm") for number in range(len(shops))]
everyone = sum(sketches)
print("the same as a sketch of all rows:", everyone == operator.sketch(np.concatenate(shops)))
print(f"{everyone.count:,} rows in {everyone.total.nbytes:,} bytes of sums")

# %%
# **Decode.** `converged` is the verdict: whether the centroids explain the sketch. `inertia` is the sum of
# squared distances of all rows, estimated from the sketch, with a standard error.
found = qckm.decode(everyone, n_clusters=K, random_state=0)
print("converged:", found.converged)
print(f"estimated SSE: {found.inertia:.0f} ± {found.inertia_error:.0f}")

# %%
# Here we hold all rows and can check it. Nobody can in practice.
rows = np.concatenate(shops)


def sse(centers):
    squares = ((rows[:, np.newaxis] - centers) ** 2).sum(axis=2)
    return squares.min(axis=1).sum()


best = KMeans(K, n_init=5, random_state=0).fit(rows[::10])
print(f"SSE of all rows: {sse(found.centers):.0f} from the sketch, {sse(best.cluster_centers_):.0f} by k-means of rows")

# %%
# **A shop leaves.** Its sketch is subtracted. The rest is as if it had never sent anything.
without = everyone - sketches[7]
print("as if shop 7 had never been there:", without == sum(sketch for i, sketch in enumerate(sketches) if i != 7))

# %%
# The photograph, and the same with each pixel in the colour of its cluster. Labels need the rows: each shop computes
# them for its own.
labels = np.concatenate([found.predict(part) for part in shops])
widths = [len(part) // picture.shape[0] for part in shops]
places = np.cumsum([0, *(width * picture.shape[0] for width in widths)])
strips = [found.centers[labels[start:end]].reshape(picture.shape[0], -1, 3) for start, end in pairwise(places)]
fig, axes = plt.subplots(1, 2, figsize=(11, 4), layout="constrained")
for ax, image, title in ((axes[0], picture, "all shops' rows"), (axes[1], np.hstack(strips), f"{K} clusters")):
    ax.imshow(np.clip(image, 0, 1))
    ax.set(title=title, xticks=[], yticks=[])
plt.show()

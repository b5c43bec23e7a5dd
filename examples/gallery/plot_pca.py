"""
Principal components from a sketch
==================================

Two directions in 20 columns, from a one-bit sketch of 20 000 rows. A sketch that the library makes knows the
covariances of its columns, and gives them exactly. One made of the bits of sensors does not: how close its directions
are to those of all rows depends on the number of frequencies.
"""

# %%
import warnings

import matplotlib.pyplot as plt
import numpy as np
from scipy.linalg import subspace_angles
from sklearn.decomposition import PCA

import qckm

rng = np.random.default_rng(0)
n, r = 20, 2
axes = np.linalg.qr(rng.normal(size=(n, r)))[0] * [3.0, 2.0]
X = rng.normal(size=(20_000, r)) @ axes.T + 0.5 * rng.normal(size=(20_000, n))
exact = PCA(r).fit(X).components_


def sine(components):
    return np.sin(subspace_angles(components.T, exact.T).max())


# %%
# From the columns' covariances: what is left is the rounding of rows to the operator's steps.
known = qckm.CompressivePCA(r, random_state=0).fit(X)
print(known.source_, sine(known.components_))

# %%
# From bits alone: below about two frequencies for each number of the axes, m = 2·r·n, nothing is found, and
# `converged_` says so.
ratios, found, flagged = [1.2, 1.5, 2, 3, 4, 6], [], []
for ratio in ratios:
    pca = qckm.CompressivePCA(r, n_frequencies=int(ratio * r * n), init="sketch", random_state=0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", qckm.errors.PoorFitWarning)
        operator = pca.fit(X).operator_
        pca.fit_sketch(operator.pool(operator.encode(X)))
    found.append(sine(pca.components_))
    flagged.append(not pca.converged_)

# %%
fig, ax = plt.subplots(figsize=(6.5, 4.2), layout="constrained")
found, flagged, ratios = np.array(found), np.array(flagged), np.array(ratios)
ax.loglog(ratios, found, "-", color="0.7")
ax.loglog(ratios[~flagged], found[~flagged], "o", color="tab:blue", label="reproduces the sketch")
ax.loglog(ratios[flagged], found[flagged], "x", color="tab:red", mew=2, label="flagged")
ax.set(xlabel="frequencies, in r·n", ylabel="sine of the largest angle", xticks=ratios, xticklabels=ratios)
ax.minorticks_off()
ax.legend()
plt.show()

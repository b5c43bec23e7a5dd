"""
Signatures
==========

The function that turns a phase into a number, and what of it the decoder of the paper uses: the first harmonic.
"""

# %%
import matplotlib.pyplot as plt
import numpy as np

import qckm

names = ["exponential", "one-bit", "2-bit", "triangle", "modulo"]
turn = np.linspace(0, 4 * np.pi, 2000)
fig, axes = plt.subplots(1, len(names), figsize=(13, 2.6), layout="constrained", sharey=True)
for ax, name in zip(axes, names, strict=True):
    signature = qckm.signatures.get(name)
    first = signature.amplitude * np.cos(turn + np.angle(signature.harmonics[1]))
    ax.plot(turn / np.pi, signature(turn), lw=1.5)
    ax.plot(turn / np.pi, first, "--", color="0.5", lw=1)
    ax.set(title=f"{name}, 2|F₁| = {signature.amplitude:.2f}", xlabel="phase / π")
plt.show()

# %%
# Does it matter which? Sketches of the same rows with each of them, decoded alike.
rng = np.random.default_rng(0)
centers = 3 * rng.normal(size=(4, 3))
X = centers[rng.integers(4, size=20_000)] + rng.normal(size=(20_000, 3))
for name in names:
    km = qckm.CompressiveKMeans(4, signature=name, random_state=0).fit(X)
    print(f"{name:12} SSE / N = {km.inertia_ / len(X):.4f}")

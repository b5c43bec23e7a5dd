"""
The colours of a picture
========================

273 280 pixels, sixteen colours. Sketched as one bit per measurement, beside k-means on all pixels.
"""

# %%
import matplotlib.pyplot as plt
import numpy as np
from sklearn.cluster import KMeans
from sklearn.datasets import load_sample_image

import qckm

picture = load_sample_image("flower.jpg") / 255.0
pixels = picture.reshape(-1, 3)

# %%
km = qckm.CompressiveKMeans(16, n_frequencies=500, init="sketch", random_state=0).fit(pixels)
peer = KMeans(16, n_init=1, random_state=0).fit(pixels)
print(f"{pixels.astype(np.float32).nbytes:,} bytes of pixels, {km.sketch_.total.nbytes:,} bytes of sketch")
print(f"SSE over that of KMeans: {km.inertia_ / peer.inertia_:.3f}")

# %%
# Pixels are no round Gaussians, and no sixteen of these explain the sketch: the decoder fits densities of more of them,
# and takes the centroids from these. With ``init="auto"``, the default, the estimator would keep the centroids of a
# sample here, as long as the sketch confirms that the sample is like all pixels.
fig, axes = plt.subplots(1, 3, figsize=(13, 3.2), layout="constrained")
views = {
    "as it is": picture,
    "16 colours from the sketch alone": km.cluster_centers_[km.labels_].reshape(picture.shape),
    "16 colours by KMeans": peer.cluster_centers_[peer.labels_].reshape(picture.shape),
}
for ax, (title, view) in zip(axes, views.items(), strict=True):
    ax.imshow(np.clip(view, 0, 1))
    ax.set_title(title)
    ax.axis("off")
plt.show()

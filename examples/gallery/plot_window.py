"""
A sliding window
================

One cluster goes half round another in a day. A sketch an hour is kept; the window of the last two hours is their sum,
and an hour leaves it by subtraction.
"""

# %%
# Rows of an hour. Nobody keeps them.
import matplotlib.pyplot as plt
import numpy as np

import qckm

rng = np.random.default_rng(0)


def place(hour):
    angle = np.pi * hour / 24
    return 5 * np.array([np.cos(angle), np.sin(angle)])


def rows_of(hour):
    centers = np.array([place(hour), [0.0, 0.0]])
    return centers[rng.integers(2, size=5000)] + 0.6 * rng.normal(size=(5000, 2))


# %%
# The operator is drawn once. Its scale is given, because there is no pilot of a day that has not begun.
operator = qckm.SketchOperator.draw(
    n_features=2, n_frequencies=60, scale=1.2, law="concentrated-radius", random_state=0
)
hours = [operator.sketch(rows_of(hour)) for hour in range(24)]

# %%
# Slide: one hour in, one hour out. What is decoded is the window and nothing else.
window = sum(hours[:2])
seen = []
for hour in range(2, 24):
    window = window + hours[hour] - hours[hour - 2]
    if hour % 2:  # decoded every other hour
        continue
    centers = qckm.decode(window, n_clusters=2, random_state=0).centers
    seen.append(centers[np.argmax(np.linalg.norm(centers, axis=1))])
print(f"rows in the last window: {window.count}, as in its two hours: {window == sum(hours[22:])}")

# %%
# The wanderer as it was found, beside where it was in the middle of each window.
fig, ax = plt.subplots(figsize=(5.5, 5), layout="constrained")
truth = np.array([place(hour - 0.5) for hour in range(2, 24)])
ax.plot(*truth.T, "-", color="0.7", lw=6, label="the cluster, mid-window")
ax.plot(*np.array(seen).T, "o", color="tab:red", ms=5, label="found in the window's sketch")
ax.plot(0, 0, "s", color="0.5", label="the cluster that stays")
ax.set(aspect="equal", title="Two hours at a time")
ax.legend(fontsize=8)
plt.show()

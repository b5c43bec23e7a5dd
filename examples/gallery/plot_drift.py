"""
What changed overnight
======================

A sketch an hour is kept, and no row. One night a cluster moves, and rows of a new kind appear. Which hours differ from
the week before, and how?
"""

# %%
# Rows of an hour, as they were all week: four clusters. From two to five in the morning something is different.
import matplotlib.pyplot as plt
import numpy as np

import qckm
import qckm.plots

rng = np.random.default_rng(0)
usual = np.array([[0.0, 0.0], [6.0, 0.0], [0.0, 6.0], [6.0, 6.0]])
odd = np.array([[0.0, 0.0], [6.6, 0.0], [0.0, 6.0], [6.0, 6.0], [11.0, 3.0]])


def rows_of(hour, count=3000):
    centers, shares = (odd, [0.38, 0.3, 0.2, 0.1, 0.02]) if 2 <= hour < 5 else (usual, [0.4, 0.3, 0.2, 0.1])
    return centers[rng.choice(len(shares), count, p=shares)] + rng.normal(size=(count, 2))


# %%
# One operator for all of them; last week is one sketch.
operator = qckm.SketchOperator.draw(n_features=2, n_frequencies=100, scale=1.5, random_state=0)
last_week = operator.sketch(rows_of(12, 100_000))
hours = [operator.sketch(rows_of(hour)) for hour in range(24)]

# %%
# Every hour is compared with last week. p-values are adjusted for how many hours are looked at.
series = qckm.compare_windows(hours, last_week, names=[f"{hour}:00" for hour in range(24)])
print(series)
drifted = np.flatnonzero(series.drifted)
print("hours that differ:", drifted)

# %%
# A sum of the odd hours says what has changed. The clusters are decoded from last week's sketch.
found = qckm.compare(last_week, sum(hours[hour] for hour in drifted), clusters=4)
print(found.summary())

# %%
# Left: the hours. Right: where rows have come and gone; the star is a new cluster.
fig, axes = plt.subplots(1, 2, figsize=(11, 4.3), layout="constrained")
qckm.plots.drift_effects(series, ax=axes[0])
axes[0].set(title="24 hours against last week", xlabel="hour")
qckm.plots.witness(found, ax=axes[1])
axes[1].set_title("What changed in the odd hours")
plt.show()

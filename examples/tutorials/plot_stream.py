"""
A stream whose last days count
==============================

Rows come in all the time. Only the last days count: a new day is added, the oldest is forgotten, and an alarm is raised
when a day is not like the days before it.

The rows are real: accelerometer readings of people who walk (three columns), from the data set "User Identification
From Walking Activity". A "day" is 600 readings of the first ten people, mixed. From day 12 on, the stream comes from
other people.
"""

# %%
# The stream, day by day.
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

import qckm

rng = np.random.default_rng(0)
# The file comes with qckm's checkout, from which qckm was installed; else start this from there.
folder = next((path for path in Path(qckm.__file__).parents if (path / "examples").is_dir()), Path())
with np.load(folder / "examples" / "accelerometer_fleet" / "walking.npz") as file:
    readings, people = file["counts"] * 0.01362, file["people"]  # metres per second squared
usual, others = readings[people < 10], readings[people >= 14]
DAYS, CHANGE = 18, 12


def rows_of(day):
    return rng.choice(others if day >= CHANGE else usual, 600, replace=False)


# %%
# **The operator**, from a pilot of the days before the stream begins.
pilot = rng.choice(usual, 2000, replace=False)
operator = qckm.CompressiveKMeans(n_clusters=5, n_frequencies=150, random_state=0).fit(pilot).operator_

# %%
# **One sketch a day.** Rows are dropped when they are sketched.
days = [operator.sketch(rows_of(day)) for day in range(DAYS)]

# %%
# **A window of five days** slides over the stream. Adding and subtracting is exact: the window always equals the sum of
# its days.
window = sum(days[:5])
for day in range(5, DAYS):
    window = window + days[day] - days[day - 5]
print("rows in the window:", window.count, "- as in its five days:", window == sum(days[-5:]))

# %%
# **Has it changed?** Each day is compared with the first five, by sums alone. p-values are adjusted for the number of
# comparisons, so that of the days called different at most one in twenty is not, on average.
series = qckm.compare_windows(days[5:], sum(days[:5]), names=[f"day {day}" for day in range(5, DAYS)])
print(series.summary())
print("first day that differs:", 5 + int(np.flatnonzero(series.drifted)[0]), "- the stream changed on day", CHANGE)

# %%
# **What does it look like now?** Only the window's sketch is decoded: days that were forgotten have no say in it. The
# pilot's rows are given weights so that they reproduce the window's sketch. That makes decoding fast, and it works
# although the pilot is older than the window; without ``rows=``, the sketch is decoded alone.
before = qckm.decode(sum(days[:5]), n_clusters=5, rows=pilot, random_state=0)
after = qckm.decode(window, n_clusters=5, rows=pilot, random_state=0)
print("converged before and after:", before.converged, after.converged)

# %%
# Left: the verdict on each day. Right: the centroids of the first five days and of the last five.
fig, axes = plt.subplots(1, 2, figsize=(11, 4.2), layout="constrained")
places = np.arange(5, DAYS)
axes[0].semilogy(places, np.maximum(series.adjusted, 1e-16), "o-")
axes[0].axhline(0.05, color="tab:red", lw=1, label="5 %")
axes[0].axvline(CHANGE - 0.5, color="0.6", ls="--", lw=1, label="other people from here on")
axes[0].set(xlabel="day", ylabel="adjusted p-value", title="each day against the first five")
axes[0].legend(fontsize=8)
axes[1].plot(*readings[::20, :2].T, ".", ms=2, color="0.8", label="some readings")
for clusters, colour, label in ((before, "tab:blue", "days 0 to 4"), (after, "tab:red", "the last five days")):
    axes[1].scatter(*clusters.centers[:, :2].T, s=900 * clusters.weights, color=colour, alpha=0.7, label=label)
axes[1].set(xlabel="x, m/s²", ylabel="y, m/s²", title="centroids, by their share of the rows")
axes[1].legend(fontsize=8)
plt.show()

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
from importlib.resources import files

import matplotlib.pyplot as plt
import numpy as np

import qckm
import qckm.plots

rng = np.random.default_rng(0)
with np.load(files("qckm") / "sensor" / "walking.npz") as file:  # some readings come with qckm
    readings, people = file["counts"] * 0.01362, file["people"]  # metres per second squared
usual, others = readings[people < 10], readings[people >= 14]
DAYS, CHANGE = 18, 12


def rows_of(day):
    return rng.choice(others if day >= CHANGE else usual, 600, replace=False)


# %%
# **The operator**, from a pilot of the days before the stream begins.
pilot = rng.choice(usual, 2000, replace=False)
operator = qckm.SketchOperator.from_pilot(pilot, n_clusters=5, n_frequencies=150, random_state=0)

# %%
# **One sketch per day.** Rows are dropped when they are sketched.
days = [operator.sketch(rows_of(day)) for day in range(DAYS)]

# %%
# **A window of five days** slides over the stream. Adding and subtracting is exact: the window always equals the sum of
# its days.
window = sum(days[:5])
for day in range(5, DAYS):
    window = window + days[day] - days[day - 5]
print("rows in the window:", window.count, "- as in its five days:", window == sum(days[-5:]))

# %%
# **Has it changed, and how much?** Each day is compared with the first five, by sums alone. p-values are adjusted for
# the number of comparisons: of the days reported, at most one in twenty is a false alarm, on average. The size is at
# least which share of the day's rows has changed.
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
# Left: how much each day has changed at least. Right: the centroids of the first five days and of the last five.
fig, axes = plt.subplots(1, 2, figsize=(11, 4.2), layout="constrained")
qckm.plots.drift_effects(series, ax=axes[0])
axes[0].axvline(CHANGE - 5.5, color="0.6", ls="--", lw=1, label="other people from here on")
axes[0].set(title="each day against the first five")
axes[0].legend(fontsize=8)
axes[1].plot(*readings[::20, :2].T, ".", ms=2, color="0.8", label="some readings")
for clusters, colour, label in ((before, "tab:blue", "days 0 to 4"), (after, "tab:red", "the last five days")):
    axes[1].scatter(*clusters.centers[:, :2].T, s=900 * clusters.weights, color=colour, alpha=0.7, label=label)
axes[1].set(xlabel="x, m/s²", ylabel="y, m/s²", title="centroids, by their share of the rows")
axes[1].legend(fontsize=8)
plt.show()

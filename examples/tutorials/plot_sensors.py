"""
A fleet of sensors that send bits
=================================

Twenty-two people walk, each with an accelerometer. No reading leaves a device: each adds its readings to a few hundred
counters and sends these. Messages are repeated and lost on the way. What all people do is found from what arrives.

The readings are real ("User Identification From Walking Activity", UCI, CC BY 4.0; one in eight). On a real device the
encoder is the C header that ``operator.export_c`` writes; here Python does the same arithmetic, with the same bits.
``examples/accelerometer_fleet/`` compiles and runs the C.
"""

# %%
# Each device's readings, as counts of its converter.
from importlib.resources import files

import matplotlib.pyplot as plt
import numpy as np
from sklearn.cluster import KMeans

import qckm
from qckm.sensor import Pool, wire

with np.load(files("qckm") / "sensor" / "walking.npz") as file:  # some readings come with qckm
    devices = [file["counts"][file["people"] == person].astype(float) for person in range(22)]
print(f"{len(devices)} devices, {sum(map(len, devices)):,} readings of 3 columns")

# %%
# **Before deployment:** an operator, from a few readings of a test. The law "seeded" lets a device regenerate the
# frequencies from 32 bits, so that they need no memory.
K = 5
pilot = np.concatenate([rows[::64] for rows in devices])
operator = qckm.SketchOperator.from_pilot(pilot, K, n_frequencies=256, law="seeded", random_state=0)
print(f"{operator.n_measurements} one-bit measurements per reading, scale {operator.scale:.0f} counts")

# %%
# **On each device:** add readings to counters, and send them every 512 readings. A message has a number, so that the
# receiver knows which ones it has had.
sent = []
for device, rows in enumerate(devices):
    for sequence, start in enumerate(range(0, len(rows), 512)):
        counters = operator.sketch(rows[start : start + 512])
        sent.append(wire.dumps(wire.counters_message(counters, device=device, sequence=sequence)))
raw = sum(6 * len(rows) for rows in devices)  # three numbers of 16 bits a reading
print(f"{len(sent)} messages, {sum(map(len, sent)):,} bytes; the readings themselves are {raw:,} bytes")

# %%
# **On the way** a tenth of the messages is repeated, a tenth is lost, and the order is anybody's guess.
rng = np.random.default_rng(0)
arrived = [message for message in sent if rng.random() > 0.1]
arrived += [message for message in arrived if rng.random() < 0.1]
rng.shuffle(arrived)

# %%
# **At the receiver** each message is counted once. The pool knows which numbers of a device are missing. A device's
# last message is missed when the next one comes.
pool = Pool(operator)
for message in arrived:
    pool.add(message)
repeated = sum(device.repeated for device in pool.devices.values())
missing = sum(last - first + 1 for device in pool.devices.values() for first, last in device.gaps())
print(f"{pool.sketch.count:,} readings counted; {repeated} repeats dropped; {missing} messages known to be missing")

# %%
# **What do they all do?** The centroids, from the sum. The readings of the test before deployment help the decoder:
# they are given weights so that they reproduce what the fleet has sent.
found = qckm.decode(pool.sketch, K, rows=pilot, random_state=0)
print("converged:", found.converged)

# %%
# With all readings at hand, which the receiver never has, k-means gives nearly the same.
rows = np.concatenate(devices)
best = KMeans(K, n_init=3, random_state=0).fit(rows)
distances = ((rows[:, np.newaxis] - found.centers) ** 2).sum(axis=2).min(axis=1)
print(f"SSE over that of k-means on all readings: {distances.sum() / best.inertia_:.3f}")
fig, ax = plt.subplots(figsize=(6, 5), layout="constrained")
ax.plot(*rows[::10, :2].T, ".", ms=2, color="0.8", label="readings, which nobody sends")
ax.plot(*best.cluster_centers_[:, :2].T, "s", ms=9, mfc="none", color="black", label="k-means of all readings")
ax.plot(*found.centers[:, :2].T, "o", color="tab:red", label="found from the counters")
ax.set(xlabel="x, counts", ylabel="y, counts", title="22 devices, one clustering")
ax.legend(fontsize=8)
plt.show()

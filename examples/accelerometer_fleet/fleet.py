"""22 people walk, each with an accelerometer that sends no sample; what they all do is found from what it sends.

    python examples/accelerometer_fleet/fleet.py            # the rows that are installed with qckm
    python examples/accelerometer_fleet/fleet.py --data walking_accelerometer.npz

Each device is a process: the encoder that `op.export_c` writes, compiled (gcc, or $CC). Its messages are repeated and
shuffled, and then also lost and damaged on the way; `qckm.sensor.Pool` adds up what comes through. The centroids are
compared with those of k-means on all rows.
"""

from __future__ import annotations

import argparse
import os
import struct
import subprocess
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path

import numpy as np
from sklearn.cluster import KMeans
from sklearn.metrics import pairwise_distances_argmin_min

import qckm
from qckm.errors import MessageError
from qckm.sensor import Pool

HERE = Path(__file__).parent
COUNT = 0.01362  # m/s²: what the converter resolves
REACH = 1440  # counts: the sensor's range, ±2 g
N_CLUSTERS = 5
N_FREQUENCIES = 256
PILOT_SHARE = 64  # one row in so many is sent as it is, once, to set the operator up


@dataclass(frozen=True)
class Way:
    """What befalls messages between a device and the collector, as shares of them."""

    name: str
    repeated: float
    lost: float
    damaged: float


WAYS = [Way("repeated, shuffled", 0.1, 0.0, 0.0), Way("and lost, damaged", 0.1, 0.1, 0.03)]


@dataclass(frozen=True)
class Journey:
    """What arrives, and which messages, as (device, sequence), do not or not whole."""

    packets: list[bytes]
    lost: set[tuple[int, int]]
    damaged: set[tuple[int, int]]


def load_rows(path: str | None) -> list[np.ndarray]:
    """Return each person's rows (rows, 3), as counts of the converter."""
    if path is None:
        with np.load(files("qckm") / "sensor" / "walking.npz") as shipped:
            X, people = shipped["counts"], shipped["people"]
    else:
        with np.load(path) as given:
            X, people = np.rint(given["X"] / COUNT).astype(np.int16), given["y"]
    return [X[people == person] for person in np.unique(people)]


def make_operator(people: Sequence[np.ndarray], seed: int = 0) -> qckm.SketchOperator:
    """Draw the fleet's operator from a pilot: a few rows of every device, sent once."""
    pilot = np.concatenate([rows[::PILOT_SHARE] for rows in people]).astype(float)
    how = {"n_frequencies": N_FREQUENCIES, "law": "seeded", "compute_labels": False, "random_state": seed}
    return qckm.CompressiveKMeans(N_CLUSTERS, **how).fit(pilot).operator_


def build_device(op: qckm.SketchOperator, folder: Path) -> Path:
    """Compile the firmware: here, for this machine."""
    op.export_c(folder / "encoder.h", prefix="fleet", regenerate=True)
    steps = int(1 / op.steps[0])
    program = folder / "device"
    words = [os.environ.get("CC", "gcc"), "-std=c99", "-O2", "-Wall", "-Wextra", f"-DSTEPS_A_COUNT={steps}"]
    subprocess.run([*words, f"-I{folder}", str(HERE / "device.c"), "-o", str(program)], check=True)
    return program


def run_devices(program: Path, people: Sequence[np.ndarray], kind: str, rows: int) -> list[list[bytes]]:
    """Let every device see its rows, all at the same time; return the messages of each."""
    running = []
    for number in range(len(people)):
        words = [str(program), str(number), kind, str(rows)]
        running.append(subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE))
    sent = []
    for process, readings in zip(running, people, strict=True):
        output, _ = process.communicate(readings.astype("=i2").tobytes())
        assert process.returncode == 0
        messages, at = [], 0
        while at < len(output):
            (size,) = struct.unpack_from("<H", output, at)
            messages.append(output[at + 2 : at + 2 + size])
            at += 2 + size
        sent.append(messages)
    return sent


def travel(sent: Sequence[Sequence[bytes]], way: Way, rng: np.random.Generator) -> Journey:
    """Lose, damage, repeat and shuffle messages; the last of each device, of no rows, always comes through."""
    packets: list[bytes] = []
    lost, damaged = set(), set()
    for device, messages in enumerate(sent):
        packets.append(messages[-1])
        for sequence, message in enumerate(messages[:-1]):
            packet = bytearray(message)
            if rng.random() < way.lost:
                lost.add((device, sequence))
                continue
            if rng.random() < way.damaged:
                damaged.add((device, sequence))
                packet[rng.integers(len(packet))] ^= 1 << rng.integers(8)
            packets += [bytes(packet)] * (1 + (rng.random() < way.repeated))
    return Journey([packets[i] for i in rng.permutation(len(packets))], lost, damaged)


def collect(op: qckm.SketchOperator, packets: Sequence[bytes]) -> tuple[Pool, int]:
    """Add up what came; return also how many packets were refused."""
    pool, refused = Pool(op), 0
    for packet in packets:
        try:
            pool.add(packet)
        except MessageError:
            refused += 1
    return pool, refused


def verify(pool: Pool, people: Sequence[np.ndarray], rows: int, journey: Journey) -> None:
    """Compare with what really happened: the sum is that of the messages that came whole, each once, bit for bit."""
    gone = journey.lost | journey.damaged
    expected = pool.operator.empty()
    for device, readings in enumerate(people):
        for sequence, start in enumerate(range(0, len(readings), rows)):
            if (device, sequence) not in gone:
                expected += pool.operator.sketch(readings[start : start + rows].astype(float))
    assert pool.sketch == expected
    gaps = {
        (told["device"], first + i)
        for told in pool.report()
        for first, last in told["gaps"]
        for i in range(last - first + 1)
    }
    assert gaps == gone


def sse(X: np.ndarray, centers: np.ndarray) -> float:
    """Return the sum of squared distances to the nearest centroid."""
    return float(pairwise_distances_argmin_min(X, centers, metric="sqeuclidean")[1].sum())


def decode(sketch: qckm.Sketch) -> np.ndarray:
    """Return the centroids (5, 3); bounds are what the converter can tell."""
    bounds = np.full(3, -REACH, float), np.full(3, REACH, float)
    return qckm.decode(sketch, N_CLUSTERS, bounds=bounds, random_state=0).centers


def try_seeds(people: Sequence[np.ndarray], count: int, rows: int, best: float) -> np.ndarray:
    """Return the SSE over that of k-means for operators of other seeds, each with other messages lost or damaged."""
    X, ratios = np.concatenate(people).astype(float), []
    messages = [readings[i : i + rows] for readings in people for i in range(0, len(readings), rows)]
    gone = WAYS[1].lost + (1 - WAYS[1].lost) * WAYS[1].damaged
    for seed in range(1, count + 1):
        came = np.random.default_rng(seed).random(len(messages)) >= gone
        arrived = np.concatenate([message for message, here in zip(messages, came, strict=True) if here])
        ratios.append(sse(X, decode(make_operator(people, seed).sketch(arrived.astype(float)))) / best)
    return np.array(ratios)


def size_of(sent: Sequence[Sequence[bytes]]) -> int:
    """Return the bytes of all messages of all devices."""
    return sum(len(message) for messages in sent for message in messages)


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--data", help="walking_accelerometer.npz (X, y). [default: the rows beside this file]")
    arguments.add_argument("--rows", type=int, default=512, help="rows per message [default: 512]")
    arguments.add_argument("--plot", default="fleet.png", help="where the picture goes [default: fleet.png]")
    arguments.add_argument("--seeds", type=int, default=0, help="try so many other operators and losses, too")
    chosen = arguments.parse_args()
    people = load_rows(chosen.data)
    X = np.concatenate(people).astype(float)
    op = make_operator(people)
    print(f"{len(people)} devices, {len(X):,} rows; m = {op.n_frequencies}, scale {op.scale:.4g} counts")
    with tempfile.TemporaryDirectory() as name:
        program = build_device(op, Path(name))
        sent = {
            f"counters, {chosen.rows} rows": run_devices(program, people, "counters", chosen.rows),
            f"counters, {4 * chosen.rows} rows": run_devices(program, people, "counters", 4 * chosen.rows),
            "bits": run_devices(program, people, "bits", chosen.rows),
        }
    sizes = {"raw int16": 6 * len(X), **{kind: size_of(messages) for kind, messages in sent.items()}}
    for kind, size in sizes.items():
        print(f"{kind:22}{size:12,} bytes{size / sizes['raw int16']:8.2f} of raw")
    best = KMeans(N_CLUSTERS, n_init=10, random_state=0).fit(X)
    whole, messages = op.sketch(X), sent[f"counters, {chosen.rows} rows"]
    assert collect(op, travel(sent["bits"], WAYS[0], np.random.default_rng(2)).packets)[0].sketch == whole
    for way in WAYS:
        journey = travel(messages, way, np.random.default_rng(1))
        pool, refused = collect(op, journey.packets)
        verify(pool, people, chosen.rows, journey)
        found = decode(pool.sketch)
        report = pool.report()
        print(f"{way.name}: {sum(map(len, messages))} messages sent, {len(journey.packets)} packets came")
        print(f"  {sum(told['repeated'] for told in report)} repeats dropped, {refused} packets refused")
        print(f"  {sum(told['missing'] for told in report)} messages reported missing", end="; ")
        print(f"{len(journey.lost)} were lost, {len(journey.damaged)} damaged")
        print(f"  {pool.count:,} of {len(X):,} rows counted, each once; the sum is right to the last bit")
        print(f"  SSE over that of k-means on all rows: {sse(X, found) / best.inertia_:.3f}")
    if chosen.seeds:
        ratios = try_seeds(people, chosen.seeds, chosen.rows, best.inertia_)
        told = f"{np.median(ratios):.3f} in the median, {ratios.max():.3f} at worst"
        print(f"{chosen.seeds} other operators and losses: {told}, {(ratios < 1.1).sum()} below 1.1")
    plot(X, best.cluster_centers_, found, pool, people, sizes, chosen.plot)


def plot(
    X: np.ndarray,
    best: np.ndarray,
    found: np.ndarray,
    pool: Pool,
    people: Sequence[np.ndarray],
    sizes: dict[str, int],
    path: str,
) -> None:
    """Draw the centroids on the rows, what came of each device, and the bytes."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot as plt

    figure, (left, middle, right) = plt.subplots(1, 3, figsize=(13, 4), width_ratios=[1.1, 1.2, 1.0])
    some = np.random.default_rng(0).permutation(len(X))[:6000]
    axes = [0, 2]
    left.plot(*(COUNT * X[some][:, axes].T), ".", color="0.8", markersize=1.5, zorder=0)
    left.plot(*(COUNT * best[:, axes].T), "o", color="tab:blue", fillstyle="none", ms=12, label="k-means, all rows")
    left.plot(*(COUNT * found[:, axes].T), "x", color="tab:red", ms=9, mew=2, label="from the messages that came")
    left.set(xlabel="x, m/s²", ylabel="z, m/s²", title="Centroids")
    left.legend(loc="lower left", fontsize=8)
    numbers = range(len(people))
    rows = np.array([len(readings) for readings in people])
    came = np.array([pool.devices[number].rows for number in numbers])
    middle.bar(numbers, came, color="tab:green", label="counted")
    middle.bar(numbers, rows - came, bottom=came, color="tab:orange", label="lost or damaged, and reported")
    middle.set(xlabel="device", ylabel="rows", title="Rows of each device")
    middle.legend(fontsize=8)
    names = list(sizes)[::-1]
    kilobytes = [sizes[name] / 1e3 for name in names]
    right.barh(names, kilobytes, color=["tab:blue", "tab:green", "tab:green", "0.6"])
    for at, size in enumerate(kilobytes):
        right.text(size, at, f" {size:.0f} kB", va="center", fontsize=9)
    right.set(xlabel="kB sent", title="What was sent", xlim=(0, 1.4 * max(kilobytes)))
    figure.tight_layout()
    figure.savefig(path, dpi=110)
    print(f"written: {path}")


if __name__ == "__main__":
    main()

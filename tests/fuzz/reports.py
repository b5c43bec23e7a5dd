"""Private reports of devices, in streams with damage and forgeries: a pool counts what the slowest reader finds."""

import random
import struct
import zlib
from collections import Counter
from fractions import Fraction
from pathlib import Path

import numpy as np

import qckm
from fuzz.messages import whole_messages
from fuzz.mutations import NUMBERS, mutate_bytes
from qckm.errors import MessageError
from qckm.privacy import LocalPool, LocalReporter
from qckm.privacy.local import ALL, as_report
from qckm.sensor import wire
from qckm.sketch import files

OPERATOR = qckm.SketchOperator.from_ranges([-5, -5], [5, 5], n_clusters=2, n_frequencies=5, octaves=1, random_state=0)
ROWS = np.random.default_rng(0).normal(size=(8, 2))


def _reports(epsilon: float, n_bits: int, first: int) -> list[bytes]:
    """Return reports of eight devices, two of each; their bits are drawn by the operating system, once."""
    coins = random.Random(first)
    found = []
    for device, row in enumerate(ROWS):
        reporter = LocalReporter(OPERATOR, epsilon, n_bits, first + device)
        found += [reporter.report(row, coins.randbytes(8 * n_bits)) for _ in range(2)]
    return found


REPORTS = [
    *_reports(1.0, 1, 0),
    *_reports(1.0, 1, 8),
    *_reports(2.0, 1, 4),
    *_reports(6.0, 3, 20),
    *_reports(1e-6, 64, 0),
]
EXAMPLES = {"all": b"".join(REPORTS), "one": REPORTS[0]}


def make(rng: random.Random) -> bytes:
    """Return reports one after the other, some of them repeated, damaged or forged."""
    return b"".join(_piece(rng) for _ in range(rng.randint(1, 12)))


def _piece(rng: random.Random) -> bytes:
    report, kind = rng.choice(REPORTS), rng.random()
    if kind < 0.5:
        return report
    if kind < 0.6:
        return mutate_bytes(report, rng)
    if kind < 0.65:
        return rng.randbytes(rng.randint(1, 40))
    # A field of the header, the chance, the number of bits or an entry is another, and the CRC is right.
    body = bytearray(report[:-4])
    at = rng.choice((3, 4, 12, 16, 20, 24, 28, *range(wire.HEADER.size, len(body) - 3, 4)))
    number = rng.choice((*NUMBERS, *range(20), ALL // 2 + 1, ALL // 2 + 16, ALL - 1)) % ALL
    struct.pack_into("<B" if at == 3 else "<I", body, at, number % 256 if at == 3 else number)
    return bytes(body) + zlib.crc32(body).to_bytes(4, "little")


def check(data: bytes, folder: Path) -> None:
    """Pool a stream; counts, sums and what was spent are those of whole reports, each once."""
    pool = LocalPool(OPERATOR)
    errors = list(pool.add_stream(data))
    seen, groups, repeated, wrong = {}, {}, 0, 0
    for message in whole_messages(data):
        try:
            report = None if message is None else as_report(message)
        except MessageError:
            report = None
        if report is None or not _is_ours(report):
            wrong += 1
            continue
        setting = report.kept, len(report.entries)
        number = report.device, report.sequence, *setting
        if number not in seen:
            seen[number] = report
            groups.setdefault(setting, []).append(report)
        elif seen[number] == report:
            repeated += 1
        else:
            wrong += 1
    assert (len(errors), pool.repeated) == (wrong, repeated)
    largest = max(map(len, groups.values()), default=0)
    assert (pool.count, pool.left_out) == (largest, len(seen) - largest)
    if not largest:
        raise MessageError("none was counted")
    sketch = pool.sketch
    assert any(_is_sum_of(sketch, *each) for each in groups.items() if len(each[1]) == largest)
    assert files.loads(files.dumps(sketch)).ledger == sketch.ledger


def _is_ours(report) -> bool:
    return report.fingerprint == OPERATOR.short_fingerprint and max(report.entries) < 2 * OPERATOR.n_measurements


def _is_sum_of(sketch: qckm.Sketch, setting: tuple[int, int], reports: list) -> bool:
    """Whether a sketch is that of reports, and its ledger states what the device that reported most has spent."""
    kept, n_bits = setting
    total = Counter()
    for report in reports:
        for entry in report.entries:
            total[entry >> 1] += 1 - 2 * (entry & 1)
    factor = Fraction(OPERATOR.n_measurements, n_bits) * Fraction(ALL, 2 * kept - ALL)
    sums = [round(factor * total[j] + Fraction(1, 2)) for j in range(OPERATOR.n_measurements)]
    most = max(Counter(report.device for report in reports).values())
    near = all(abs(ours - exact) <= 1 for ours, exact in zip(sketch.total.tolist(), sums, strict=True))
    return near and np.isclose(sketch.ledger.epsilon, most * reports[0].epsilon, rtol=1e-9)

"""One private bit a device: randomised response on a measurement chosen at random (local differential privacy).

A device has a row, thus M bits. It chooses s of the measurements at random and sends for each its number and its bit,
kept with the chance q = Q/2³² and turned around otherwise. Q is a whole number, and the wire carries it: a report is
private with s·log(q / (1 − q)) ≤ ε, and the bias, 2q − 1, is a fraction of integers that pooling takes out exactly.
"""

from __future__ import annotations

import math
import os
from collections import Counter
from collections.abc import Iterable, Iterator
from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt

from qckm.errors import MessageError, PrivacyError
from qckm.privacy.report import ALL, Report, as_report, dumps, loads
from qckm.sensor import wire
from qckm.sensor.resync import whole_messages
from qckm.sketch import Sketch, SketchOperator
from qckm.sketch.ledger import Ledger

# The most bits a report: beyond, ε is so large that nothing is private.
_MOST_BITS = 64
_LEAST_EPSILON, _MOST_EPSILON = 1e-6, 20.0 * _MOST_BITS


def choose_bits(epsilon: float) -> int:
    """Choose how many bits a device reports: as many as give the least noise, 1 up to ε ≈ 3.

    The variance of a measurement is in proportion to 1 / (s·tanh²(ε/2s)).

    Examples
    --------
    >>> choose_bits(1.0), choose_bits(2.0), choose_bits(6.0)
    (1, 1, 3)
    """
    return max(range(1, _MOST_BITS + 1), key=lambda s: s * math.tanh(epsilon / (2 * s)) ** 2)


def keep_chance(epsilon: float, n_bits: int) -> int:
    """Return Q, the chance of keeping a bit in 2³²ths, rounded to the safe side.

    Examples
    --------
    >>> keep_chance(1.0, 1) / 2**32 <= math.exp(1) / (1 + math.exp(1))
    True
    """
    chance = 1 / (1 + math.exp(-epsilon / n_bits))
    kept = min(math.floor(ALL * chance), ALL - 1)  # a bit that is always kept would have no ε
    while kept > ALL // 2 and n_bits * math.log(kept / (ALL - kept)) > epsilon:
        kept -= 1
    return kept


class LocalReporter:
    """What a device does: a row in, a few bytes out that say next to nothing of it.

    Parameters
    ----------
    operator : SketchOperator
        One-bit, and public.
    epsilon : float
        What one report spends. A device that reports twice spends twice.
    n_bits : int, optional
        How many bits a report; by default as many as serve best.
    device : int, default 0
        The device's number, which travels with its reports: it is public.

    Examples
    --------
    >>> import numpy as np, qckm
    >>> op = qckm.SketchOperator.from_ranges([-5, -5], [5, 5], n_clusters=2, random_state=0)
    >>> reporter = qckm.privacy.LocalReporter(op, epsilon=1.0, device=7)
    >>> len(reporter.report([1.0, 2.0]))
    48
    """

    def __init__(self, operator: SketchOperator, epsilon: float, n_bits: int | None = None, device: int = 0) -> None:
        if not isinstance(operator, SketchOperator):
            raise PrivacyError(f"Expected a SketchOperator, got {type(operator).__name__}.")
        if not _is_number(epsilon) or not _LEAST_EPSILON <= epsilon <= _MOST_EPSILON:
            raise PrivacyError(f"Expected an epsilon from {_LEAST_EPSILON:g} to {_MOST_EPSILON:g}, got {epsilon!r}.")
        if not _is_whole(device) or not 0 <= device < 1 << 32:
            raise PrivacyError(f"Expected the device to be a whole number from 0 to 2³² − 1, got {device!r}.")
        if n_bits is not None and (not _is_whole(n_bits) or not 1 <= n_bits <= _MOST_BITS):
            raise PrivacyError(f"Expected 1 to {_MOST_BITS} bits a report, got {n_bits!r}.")
        if not operator.signature.is_one_bit:
            raise PrivacyError(f"Only a one-bit signature has bits to report, not {operator.signature.name!r}.")
        self.operator, self.epsilon, self.device = operator, float(epsilon), int(device)
        self.n_bits = choose_bits(self.epsilon) if n_bits is None else int(n_bits)
        self.kept = keep_chance(self.epsilon, self.n_bits)
        if self.kept <= ALL // 2:
            raise PrivacyError(
                f"With ε = {epsilon:g} for {self.n_bits} bits, reports would say nothing: use fewer bits."
            )
        self._sequence = 0

    def report(self, row: npt.ArrayLike, random: bytes | None = None) -> bytes:
        """Return the report of one row (n,): nothing else about it may leave the device.

        `random` is 8 bytes a bit, from the operating system by default; whoever knows them knows the bits.
        """
        entropy = os.urandom(8 * self.n_bits) if random is None else random
        if len(entropy) != 8 * self.n_bits:
            raise PrivacyError(f"Expected {8 * self.n_bits} random bytes, got {len(entropy)}.")
        bits = self.operator.encode(np.asarray(row, np.float64)[np.newaxis])[0]
        words = np.frombuffer(entropy, "<u4")
        entries = []
        for which, coin in words.reshape(-1, 2).tolist():
            index = which * self.operator.n_measurements >> 32
            bit = bits[index >> 3] >> (index & 7) & 1
            entries.append(index << 1 | int(bit) ^ int(coin >= self.kept))
        report = Report(self.operator.short_fingerprint, self.device, self._sequence, self.kept, tuple(entries))
        self._sequence += 1
        return dumps(report)


def _is_whole(value: object) -> bool:
    return isinstance(value, (int, np.integer)) and not isinstance(value, bool)


def _is_number(value: object) -> bool:
    return _is_whole(value) or isinstance(value, (float, np.floating))


class LocalPool:
    """Adds up reports of one operator and one ε. A report is counted once, whole or not at all.

    Parameters
    ----------
    operator : SketchOperator

    Examples
    --------
    >>> import numpy as np, qckm
    >>> op = qckm.SketchOperator.from_ranges([-5], [5], n_clusters=2, random_state=0)
    >>> pool = qckm.privacy.LocalPool(op)
    >>> for device in range(100):
    ...     _ = pool.add(qckm.privacy.LocalReporter(op, 1.0, device=device).report([1.0]))
    >>> pool.count, pool.sketch.private
    (100, True)
    """

    def __init__(self, operator: SketchOperator) -> None:
        if not operator.signature.is_one_bit:
            raise PrivacyError(f"Only a one-bit signature has bits to report, not {operator.signature.name!r}.")
        self.operator = operator
        self.count = 0  # of reports
        self.repeated = 0
        self._setting: tuple[int, int] | None = None  # Q and the bits of a report
        self._total = np.zeros(operator.n_measurements, np.int64)
        self._seen: dict[tuple[int, int], tuple[int, ...]] = {}
        self._by_device: Counter[int] = Counter()

    def add(self, data: bytes) -> bool:
        """Add one report. Return whether it is new; raise `MessageError` for one that cannot be counted."""
        return self._add(loads(data))

    def add_stream(self, data: bytes) -> Iterator[MessageError]:
        """Add all reports of some bytes, one after the other; yield what is wrong, and go on behind it."""
        view, at = memoryview(data), 0
        whole: list[int] | None = None  # where messages start, as soon as there is damage; the nearest last
        while at < len(data):
            try:
                message, size = wire.read(view[at:])
            except MessageError as error:
                if whole is None:
                    whole = whole_messages(data, at + 1).tolist()[::-1]
                while whole and whole[-1] <= at:
                    whole.pop()
                end = whole[-1] if whole else len(data)
                yield MessageError(f"{error} {end - at} bytes from byte {at} on are left out.")
                at = end
                continue
            at += size
            try:
                self._add(as_report(message))
            except MessageError as error:
                yield error

    def _add(self, report: Report) -> bool:
        if report.fingerprint != self.operator.short_fingerprint:
            raise MessageError(
                f"{report.name}: of another operator ({report.fingerprint.hex()}): means something else."
            )
        setting = report.kept, len(report.entries)
        if self._setting is not None and setting != self._setting:
            raise MessageError(
                f"{report.name}: of another ε ({report.epsilon:.6g} in {setting[1]} bit(s)) than those before it "
                f"({Report(b'', 0, 0, *self._setting_example()).epsilon:.6g} in {self._setting[1]}): pool them apart, "
                "and add the sketches."
            )
        if max(report.entries) >> 1 >= self.operator.n_measurements:
            raise MessageError(f"{report.name}: expected measurements below {self.operator.n_measurements}.")
        known = self._seen.get((report.device, report.sequence))
        if known is not None:
            if known == report.entries:
                self.repeated += 1
                return False
            raise MessageError(f"{report.name}: another report of that number is in the sum already. Not counted.")
        self._setting = setting
        self._seen[report.device, report.sequence] = report.entries
        self._by_device[report.device] += 1
        for entry in report.entries:
            self._total[entry >> 1] += 1 - 2 * (entry & 1)
        self.count += 1
        return True

    def _setting_example(self) -> tuple[int, tuple[int, ...]]:
        assert self._setting is not None
        return self._setting[0], (0,) * self._setting[1]

    @property
    def sketch(self) -> Sketch:
        """The private sketch of all rows that were reported."""
        if self._setting is None:
            raise MessageError("Expected reports, got none.")
        most = max(self._by_device.values())
        return debiased(self.operator, self._total, self.count, *self._setting, reports_per_device=most)


def pool_reports(operator: SketchOperator, reports: Iterable[bytes]) -> Sketch:
    """Add up reports to a private sketch; a report that cannot be counted raises a `MessageError`.

    Parameters
    ----------
    operator : SketchOperator
        The one that the devices have.
    reports : iterable of bytes
        As `LocalReporter.report` or a device's C makes them, all of one ε.

    Returns
    -------
    Sketch
        Decoding it needs many devices: 10⁷ for K = n = 10 at ε = 1, 10⁶ for K = 5, n = 2.
    """
    pool = LocalPool(operator)
    for report in reports:
        pool.add(report)
    return pool.sketch


def debiased(
    operator: SketchOperator,
    total: npt.NDArray[np.int64],
    count: int,
    kept: int,
    n_bits: int,
    reports_per_device: int = 1,
) -> Sketch:
    """Return the private sketch of `count` reports, given the sums of their bits as ±1, (M,).

    A report's expectation is s·(2q − 1)/M of the row's contribution, exactly, and the sums are divided by that: as
    fractions, rounded at last to whole numbers, which is nothing beside the noise.
    """
    M = operator.n_measurements
    bias = Fraction(2 * kept - ALL, ALL)
    factor = Fraction(M, n_bits) / bias
    up, down = factor.numerator, factor.denominator
    sums = [(2 * int(value) * up + down) // (2 * down) for value in total]
    # Of one row: M/(s·bias²) for a report, less 1/s, as the bit itself has a square of 1.
    variance = float(factor / bias) - 1 / n_bits
    epsilon = reports_per_device * n_bits * math.log(kept / (ALL - kept))
    ledger = Ledger(
        sum_variance=count * variance,
        count_variance=0.0,
        rho=epsilon**2 / 2,
        epsilon=epsilon,
        delta=1e-6,
        mechanism="randomised-response",
        neighbours="replace",
        rows_per_person=reports_per_device,
        releases=(os.urandom(8).hex(),),
    )
    lower, upper = operator.reach if operator.ranges is None else operator.ranges
    return Sketch(operator, np.array(sums, np.int64), count, 0, (lower.copy(), upper.copy()), ledger=ledger)


__all__: list[Any] = ["LocalPool", "LocalReporter", "choose_bits", "debiased", "keep_chance", "pool_reports"]

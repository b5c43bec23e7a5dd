"""One private bit per device: randomised response on a measurement chosen at random (local differential privacy).

A device has a row, thus M bits. It chooses s of the measurements at random and sends for each its number and its bit,
kept with the chance q = Q/2³² and turned around otherwise. Q is a whole number, and the wire carries it: a report is
private with s·log(q / (1 − q)) ≤ ε, and the bias, 2q − 1, is a fraction of integers that pooling takes out exactly.

A report is a message of a sensor (docs/wire-format.md): kind 4. It carries what pooling needs: who, which report of
theirs, the chance Q that a bit was kept, and s numbers of measurements with a bit each. Header and CRC are those of
every message; rows is 1, and nothing is said of clipping.
"""

from __future__ import annotations

import math
import os
import struct
from collections.abc import Iterable
from fractions import Fraction
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from qckm.errors import MessageError, PrivacyError, RowsError
from qckm.sensor import wire
from qckm.sketch import Sketch, SketchOperator
from qckm.sketch.ledger import Ledger, Spent

ALL = 1 << 32  # chances are in 2³²ths
MOST_BITS = 64  # a report: beyond, ε is so large that nothing is private
# The least chance of keeping a bit: that of ε = 10⁻⁶ in 64 bits. Below, one report would outweigh millions of others.
LEAST_KEPT = ALL // 2 + 16
_CHANCE = struct.Struct("<II")  # Q and s
_LEAST_EPSILON, _MOST_EPSILON = 1e-6, 20.0 * MOST_BITS


class Report(NamedTuple):
    """What a report says: measurement · 2 + bit, for each of its bits."""

    fingerprint: bytes
    device: int
    sequence: int
    kept: int
    entries: tuple[int, ...]

    @property
    def name(self) -> str:
        """How people refer to it."""
        return f"device {self.device}, report {self.sequence}"

    @property
    def epsilon(self) -> float:
        """What it has spent."""
        return epsilon_of_report(self.kept, len(self.entries))


def epsilon_of_report(kept: int, n_bits: int) -> float:
    """Return what a report of so many bits spends, each kept with a chance of kept/2³²."""
    return n_bits * math.log(kept / (ALL - kept))


def dumps(report: Report) -> bytes:
    """Return the bytes of a report."""
    payload = _CHANCE.pack(report.kept, len(report.entries)) + struct.pack(f"<{len(report.entries)}I", *report.entries)
    fields = (report.fingerprint, report.device, report.sequence, 1, 0, payload)
    return wire.dumps(wire.Message(wire.LOCAL, *fields))


def loads(data: bytes) -> Report:
    """Return the report of exactly these bytes; raise `MessageError` for any others."""
    return as_report(wire.loads(data))


def as_report(message: wire.Message) -> Report:
    """Return the report that a message holds."""
    if message.kind != wire.LOCAL:
        raise MessageError(f"{message.name}: expected a private report, got {wire.KINDS[message.kind]}.")
    if len(message.payload) < _CHANCE.size or message.rows != 1 or message.saturated:
        raise MessageError(f"{message.name}: expected one row, nothing of clipping, and a chance.")
    kept, size = _CHANCE.unpack_from(message.payload)
    if len(message.payload) != _CHANCE.size + 4 * size or not 1 <= size <= MOST_BITS or not LEAST_KEPT <= kept < ALL:
        raise MessageError(f"{message.name}: expected 1 to {MOST_BITS} bits, each kept with a chance above a half.")
    entries = struct.unpack_from(f"<{size}I", message.payload, _CHANCE.size)
    return Report(message.fingerprint, message.device, message.sequence, kept, entries)


def choose_bits(epsilon: float) -> int:
    """Choose how many bits a device reports: as many as give the least noise, 1 up to ε ≈ 3.

    The variance of a measurement is in proportion to 1 / (s·tanh²(ε/2s)).

    Examples
    --------
    >>> choose_bits(1.0), choose_bits(2.0), choose_bits(6.0)
    (1, 1, 3)
    """
    return max(range(1, MOST_BITS + 1), key=lambda s: s * math.tanh(epsilon / (2 * s)) ** 2)


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
        How many bits per report; by default as many as serve best.
    device : int, default 0
        The device's number, which travels with its reports: it is public.

    Examples
    --------
    >>> import numpy as np, qckm
    >>> op = qckm.SketchOperator.from_ranges([-5, -5], [5, 5], n_clusters=2, random_state=0, private=True)
    >>> reporter = qckm.privacy.LocalReporter(op, epsilon=1.0, device=7)
    >>> len(reporter.report([1.0, 2.0]))
    48
    """

    def __init__(self, operator: SketchOperator, epsilon: float, n_bits: int | None = None, device: int = 0) -> None:
        require_bits(operator)
        if not is_number(epsilon) or not _LEAST_EPSILON <= epsilon <= _MOST_EPSILON:
            raise PrivacyError(f"Expected an epsilon from {_LEAST_EPSILON:g} to {_MOST_EPSILON:g}, got {epsilon!r}.")
        if not _is_whole(device) or not 0 <= device < 1 << 32:
            raise PrivacyError(f"Expected the device to be a whole number from 0 to 2³² − 1, got {device!r}.")
        if n_bits is not None and (not _is_whole(n_bits) or not 1 <= n_bits <= MOST_BITS):
            raise PrivacyError(f"Expected 1 to {MOST_BITS} bits per report, got {n_bits!r}.")
        self.operator, self.epsilon, self.device = operator, float(epsilon), int(device)
        self.n_bits = choose_bits(self.epsilon) if n_bits is None else int(n_bits)
        self.kept = keep_chance(self.epsilon, self.n_bits)
        self._sequence = 0

    def report(self, row: npt.ArrayLike, random: bytes | None = None) -> bytes:
        """Return the report of one row (n,): nothing else about it may leave the device.

        A device must report whatever its row holds, since its silence would tell of the row. For a row with a value
        that is not finite it therefore reports bits that mean nothing, each 0 or 1 with the same chance.

        `random` is 8 bytes per bit, from the operating system by default; whoever knows them knows the bits.
        """
        entropy = os.urandom(8 * self.n_bits) if random is None else random
        if len(entropy) != 8 * self.n_bits:
            raise PrivacyError(f"Expected {8 * self.n_bits} random bytes, got {len(entropy)}.")
        bits = self._bits(row)
        words = np.frombuffer(entropy, "<u4")
        entries = []
        for which, coin in words.reshape(-1, 2).tolist():
            index = which * self.operator.n_measurements >> 32
            said = coin & 1 if bits is None else int(bits[index >> 3] >> (index & 7) & 1) ^ int(coin >= self.kept)
            entries.append(index << 1 | said)
        report = Report(self.operator.short_fingerprint, self.device, self._sequence, self.kept, tuple(entries))
        self._sequence += 1
        return dumps(report)

    def _bits(self, row: npt.ArrayLike) -> npt.NDArray[np.uint8] | None:
        """Return the bits of a row, or None if it has a value that is no finite number."""
        try:
            values = np.asarray(row, np.float64)
        except (OverflowError, TypeError, ValueError):  # beyond all floats, a missing value of pandas, text, a list
            values = np.full(np.shape(np.asarray(row, object)), math.nan)
        if values.shape != (self.operator.n_features,):
            raise RowsError(f"Expected one row of {self.operator.n_features} numbers, got shape {values.shape}.")
        return self.operator.encode(values[np.newaxis])[0] if np.isfinite(values).all() else None


def require_bits(operator: SketchOperator) -> None:
    """Refuse what has no bits to report."""
    if not isinstance(operator, SketchOperator):
        raise PrivacyError(f"Expected a SketchOperator, got {type(operator).__name__}.")
    if not operator.signature.is_one_bit:
        raise PrivacyError(f"Only a one-bit signature has bits to report, not {operator.signature.name!r}.")


def _is_whole(value: object) -> bool:
    return isinstance(value, (int, np.integer)) and not isinstance(value, bool)


def is_number(value: object) -> bool:
    """Whether a value is a number, of Python or NumPy."""
    return _is_whole(value) or isinstance(value, (float, np.floating))


def debiased(
    operator: SketchOperator,
    total: npt.NDArray[np.int64],
    count: int,
    kept: int,
    n_bits: int,
    reports_per_device: int = 1,
    names: Iterable[str] = (),
) -> Sketch:
    """Return the private sketch of `count` reports, given the sums of their bits as ±1, (M,).

    A report's expectation is s·(2q − 1)/M of the row's contribution, exactly, and the sums are divided by that: as
    fractions, rounded at last to whole numbers, which is nothing beside the noise. `names` are those of the release in
    the ledger; by default a random one.
    """
    bias = Fraction(2 * kept - ALL, ALL)
    factor = Fraction(operator.n_measurements, n_bits) / bias
    up, down = factor.numerator, factor.denominator
    sums = [(2 * int(value) * up + down) // (2 * down) for value in total]
    if max(map(abs, sums), default=0) >= 1 << 63:
        raise MessageError(
            f"The sums of {count} reports, each bit kept with a chance of {kept / ALL:.10f}, do not fit 64 bits."
        )
    # Of one row: M/(s·bias²) for a report, less 1/s, as the bit itself has a square of 1.
    variance = float(factor / bias) - 1 / n_bits
    of_a_bit, n_all = math.log(kept / (ALL - kept)), reports_per_device * n_bits
    ledger = Ledger(
        sum_variance=count * variance,
        count_variance=0.0,
        spent=(Spent(n_all * of_a_bit, n_all * of_a_bit**2 / 2, 0.0),),
        delta=1e-6,
        mechanism="randomised-response",
        neighbours="replace",
        rows_per_person=reports_per_device,
        releases=tuple(names) or (os.urandom(8).hex(),),
    )
    lower, upper = operator.reach if operator.ranges is None else operator.ranges
    return Sketch(operator, np.array(sums, np.int64), count, 0, (lower.copy(), upper.copy()), ledger=ledger)

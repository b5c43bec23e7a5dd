"""Pooling private reports: each counts once, whole or not at all, and one that is forged does not speak for the others.

A report of one bit takes 30 to 65 bytes of memory: its device, its entry, and its place in a table of digests.
"""

from __future__ import annotations

import hashlib
import heapq
import os
import struct
from array import array
from collections.abc import Iterable, Iterator

import numpy as np

from qckm.errors import MessageError, PrivacyError, UncountedWarning, warn
from qckm.privacy.local import (
    Report,
    as_report,
    debiased,
    epsilon_of_report,
    is_number,
    keep_chance,
    loads,
    require_bits,
)
from qckm.sensor.resync import read_stream
from qckm.sketch import Sketch, SketchOperator

# How many of the least digests of its reports a pool is named by: two pools that share a fifth of all their reports
# share one of them, but for a chance of 0.8³² < 10⁻³.
_NAMES = 32


class LocalPool:
    """Adds up reports of one operator and one ε. A report is counted once, whole or not at all.

    Parameters
    ----------
    operator : SketchOperator
    epsilon : float, optional
        What the devices were set to spend on a report: reports of another ε are refused. By default that of most
        reports counts; others are left out.

    Attributes
    ----------
    count : int
        How many reports are in the sketch.
    left_out : int
        How many are of another ε, or another number of bits, than those in the sketch.
    repeated : int
        How many came again.

    Examples
    --------
    >>> import numpy as np, qckm
    >>> op = qckm.SketchOperator.from_ranges([-5], [5], n_clusters=2, random_state=0, private=True)
    >>> pool = qckm.privacy.LocalPool(op)
    >>> for device in range(100):
    ...     _ = pool.add(qckm.privacy.LocalReporter(op, 1.0, device=device).report([1.0]))
    >>> pool.count, pool.sketch.private
    (100, True)
    """

    def __init__(self, operator: SketchOperator, epsilon: float | None = None) -> None:
        require_bits(operator)
        if epsilon is not None and not (is_number(epsilon) and epsilon > 0):
            raise PrivacyError(f"Expected an epsilon > 0, got {epsilon!r}.")
        self.operator, self.epsilon = operator, epsilon
        self.repeated = 0
        self._seen, self._secret = _Seen(), os.urandom(16)  # so that nobody outside can make two numbers collide
        self._reports: dict[tuple[int, int], _Reports] = {}  # by Q and the bits of a report

    def add(self, data: bytes) -> bool:
        """Add one report. Return whether it is new; raise `MessageError` for one that cannot be counted."""
        return self._add(loads(data))

    def add_stream(self, data: bytes) -> Iterator[MessageError]:
        """Add all reports of some bytes, one after the other; yield what is wrong, and go on behind it."""
        for _, found in read_stream(data):
            try:
                if isinstance(found, MessageError):
                    raise found
                self._add(as_report(found))
            except MessageError as error:
                yield error

    def _add(self, report: Report) -> bool:
        if report.fingerprint != self.operator.short_fingerprint:
            raise MessageError(
                f"{report.name}: of another operator ({report.fingerprint.hex()}): means something else."
            )
        n_bits = len(report.entries)
        if self.epsilon is not None and report.kept != keep_chance(self.epsilon, n_bits):
            raise MessageError(
                f"{report.name}: expected reports of ε = {self.epsilon:.6g}, got {report.epsilon:.6g} in {n_bits} "
                "bit(s). A device that sent both has spent both: what two pools spent adds up."
            )
        if max(report.entries) >> 1 >= self.operator.n_measurements:
            raise MessageError(f"{report.name}: expected measurements below {self.operator.n_measurements}.")
        entries = struct.pack(f"<{n_bits}I", *report.entries)
        # Numbers count within an ε: a forged report of another one does not take the place of a device's own.
        number = struct.pack("<IIII", report.device, report.sequence, report.kept, n_bits)
        digest = _digest(report.fingerprint + number + entries) or 1
        known = self._seen.put(_digest(number, self._secret), digest)
        if known == digest:
            self.repeated += 1
            return False
        if known:
            raise MessageError(f"{report.name}: another report of that number is in the sum already. Not counted.")
        self._reports.setdefault((report.kept, n_bits), _Reports()).add(report.device, entries, digest)
        return True

    def _counted(self) -> tuple[int, int] | None:
        """Return Q and the bits of the reports that count: those of most, and of as many those of the least ε."""
        return max(self._reports, key=lambda each: (self._reports[each].count, -epsilon_of_report(*each)), default=None)

    @property
    def count(self) -> int:
        """How many reports are in the sketch."""
        return max((reports.count for reports in self._reports.values()), default=0)

    @property
    def left_out(self) -> int:
        """How many reports are of another ε, or another number of bits, than those in the sketch."""
        return sum(reports.count for reports in self._reports.values()) - self.count

    @property
    def sketch(self) -> Sketch:
        """The private sketch of all rows that were reported."""
        counted = self._counted()
        if counted is None:
            raise MessageError("Expected reports, got none.")
        reports = self._reports[counted]
        entries = np.frombuffer(reports.entries, "<u4")
        M = self.operator.n_measurements
        total = np.bincount(entries >> 1, minlength=M) - 2 * np.bincount(entries[entries & 1 == 1] >> 1, minlength=M)
        _, times = np.unique(np.frombuffer(reports.devices, np.uint32), return_counts=True)
        names = [f"{digest:016x}" for digest in reports.least()]
        return debiased(self.operator, total, reports.count, *counted, int(times.max()), names)


def pool_reports(operator: SketchOperator, reports: Iterable[bytes], epsilon: float | None = None) -> Sketch:
    """Add up reports to a private sketch; warn of those that cannot be counted, and leave them out.

    Parameters
    ----------
    operator : SketchOperator
        The one that the devices have.
    reports : iterable of bytes
        As `LocalReporter.report` or a device's C makes them.
    epsilon : float, optional
        What the devices were set to spend on a report. By default, reports of the ε that most have are counted.

    Returns
    -------
    Sketch
        Decoding it needs many devices: 10⁷ for K = n = 10 at ε = 1, 10⁶ for K = 5, n = 2.
    """
    pool = LocalPool(operator, epsilon)
    refused, why = 0, ""
    for report in reports:
        try:
            pool.add(report)
        except MessageError as error:
            refused, why = refused + 1, why or str(error)
    if not pool.count:
        raise MessageError(f"Expected private reports of this operator, got none ({refused} refused). {why}")
    if refused or pool.left_out:
        words = f"{refused} were refused, the first because: {why}" if refused else "none was refused."
        warn(
            f"{pool.count} reports were counted, {pool.left_out} are of another ε than these, {words}", UncountedWarning
        )
    return pool.sketch


def _digest(data: bytes, key: bytes = b"") -> int:
    return int.from_bytes(hashlib.blake2b(data, digest_size=8, key=key).digest())


class _Reports:
    """Reports of one Q and one number of bits."""

    def __init__(self) -> None:
        self.count = 0
        self.devices = array("I")
        self.entries = bytearray()
        self._least: list[int] = []  # digests, negative: the greatest of the least is the first of the heap

    def add(self, device: int, entries: bytes, digest: int) -> None:
        self.count += 1
        self.devices.append(device)
        self.entries += entries
        if len(self._least) < _NAMES:
            heapq.heappush(self._least, -digest)
        elif digest < -self._least[0]:
            heapq.heapreplace(self._least, -digest)

    def least(self) -> list[int]:
        return sorted(-digest for digest in self._least)


class _Seen:
    """A table of numbers of 64 bits and a digest of each: 16 bytes per place, up to three in four of them taken."""

    def __init__(self) -> None:
        self._size = 0
        self._keys, self._digests = array("Q", bytes(8 << 10)), array("Q", bytes(8 << 10))

    def put(self, key: int, digest: int) -> int:
        """Enter a key with its digest, which is not 0; return the digest that it has already, or 0."""
        place = self._place(key)
        known = self._digests[place]
        if not known:
            self._keys[place], self._digests[place] = key, digest
            self._size += 1
            if 4 * self._size > 3 * len(self._keys):
                self._grow()
        return known

    def _place(self, key: int) -> int:
        """Return where a key is, or the empty place where it belongs."""
        keys, digests, last = self._keys, self._digests, len(self._keys) - 1
        place = hash(key.to_bytes(8)) & last  # of bytes: nobody outside knows which keys collide
        while digests[place] and keys[place] != key:
            place = place + 1 & last
        return place

    def _grow(self) -> None:
        keys, digests = self._keys, self._digests
        self._keys, self._digests = (array("Q", bytes(16 * len(keys))) for _ in range(2))
        for key, digest in zip(keys, digests, strict=True):
            if digest:
                place = self._place(key)
                self._keys[place], self._digests[place] = key, digest

"""Sums nobody sees in part: each participant adds masks that cancel in the total, and only there.

Every two participants agree on a key (X25519), from which both derive the same stream of numbers modulo 2⁶⁴ (HKDF,
ChaCha20). One adds it to its sums, the other subtracts it. A server that adds what all of them send gets the total and
nothing else. Sums, count and notes all ride in the vector. If one of them drops out, the round is lost: its masks
remain in the total, which then says nothing.

Who is trusted with what, and what this is not (Prio), is in docs/guide/privacy.md.
"""

from __future__ import annotations

import hashlib
import json
import struct
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from qckm.errors import MessageError, MissingExtraError, PrivacyError, SketchError
from qckm.sketch import Sketch, SketchOperator
from qckm.sketch.bounds import unknown
from qckm.sketch.ledger import Ledger

_MAGIC = b"\x89QMask\r\n"
_PREAMBLE = struct.Struct("<8sII")  # magic, length of the header, length of the vector
_KEY_BYTES, _HEADER_LIMIT, _MOST_PARTICIPANTS = 32, 1 << 22, 10_000
_COUNTERS = 3  # count, saturated, skipped: behind the sums


class _Library(NamedTuple):
    """What is used of `cryptography`."""

    private_key: Any
    public_key: Any
    hkdf: Any
    sha256: Any
    cipher: Any
    chacha20: Any


@dataclass(frozen=True)
class MaskedSketch:
    """What one participant sends: a vector that looks random, and what must be the same in a round.

    Parameters
    ----------
    round : str
        The round's name.
    fingerprint : str
        The operator's.
    keys : tuple of bytes
        The public keys of all participants, sorted.
    sender : bytes
        The public key of whoever has sent it.
    vector : ndarray of uint64, shape (M + 3,)
    ledger : Ledger or None
        Of a private sketch; it is public.
    """

    round: str
    fingerprint: str
    keys: tuple[bytes, ...]
    sender: bytes
    vector: npt.NDArray[np.uint64]
    ledger: Ledger | None = None

    def to_bytes(self) -> bytes:
        """Return it as bytes, with a checksum against damage; whoever may forge it is told in the docs."""
        header = {
            "fingerprint": self.fingerprint,
            "keys": [key.hex() for key in self.keys],
            "ledger": None if self.ledger is None else self.ledger.as_facts(),
            "round": self.round,
            "sender": self.sender.hex(),
        }
        text = json.dumps(header, sort_keys=True, separators=(",", ":")).encode("ascii")
        body = _PREAMBLE.pack(_MAGIC, len(text), self.vector.size) + text + self.vector.astype("<u8").tobytes()
        return body + hashlib.sha256(body).digest()

    @classmethod
    def from_bytes(cls, data: bytes) -> MaskedSketch:
        """Return what these bytes hold; raise `MessageError` for anything else."""
        try:
            magic, length, size = _PREAMBLE.unpack_from(data)
            start = _PREAMBLE.size + length
            if magic != _MAGIC or length > _HEADER_LIMIT or len(data) != start + 8 * size + 32:
                raise ValueError("another size or another start")
            if hashlib.sha256(data[:-32]).digest() != data[-32:]:
                raise ValueError("the checksum does not match")
            header = json.loads(data[_PREAMBLE.size : start].decode("ascii"))
            return cls(
                str(header["round"]),
                str(header["fingerprint"]),
                tuple(bytes.fromhex(key) for key in header["keys"]),
                bytes.fromhex(header["sender"]),
                np.frombuffer(data, "<u8", size, start).astype(np.uint64),
                None if header["ledger"] is None else Ledger.from_facts(header["ledger"]),
            )
        except (struct.error, ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
            raise MessageError(f"Expected a masked sketch, got something else, or a damaged one: {error}.") from error


class Masker:
    """One participant: a key of its own, and what it sends in each round.

    Parameters
    ----------
    operator : SketchOperator
        The one that all participants share.

    Examples
    --------
    >>> import numpy as np, qckm
    >>> op = qckm.SketchOperator.from_ranges([-5], [5], n_clusters=2, random_state=0)
    >>> branches = [qckm.privacy.Masker(op) for _ in range(3)]
    >>> keys = [branch.public_key for branch in branches]  # to be exchanged so that nobody can swap them
    >>> rows = np.random.default_rng(0).normal(size=(3, 100, 1))
    >>> sent = [branch.mask(op.sketch(X), "monday", keys) for branch, X in zip(branches, rows)]
    >>> qckm.privacy.unmask(op, sent) == op.sketch(np.concatenate(rows))
    True
    """

    def __init__(self, operator: SketchOperator) -> None:
        self.operator = operator
        self._key = _library().private_key.generate()
        self.public_key: bytes = self._key.public_key().public_bytes_raw()
        self._rounds: set[str] = set()

    def mask(self, sketch: Sketch, round: str, keys: Sequence[bytes]) -> MaskedSketch:
        """Return the sketch under masks that cancel in the sum over all participants, whose public keys are given.

        A round's name may be used once: of two sketches under the same masks, the difference would be seen.
        """
        everyone = _as_keys(keys)
        if sketch.operator != self.operator:
            raise PrivacyError("Expected a sketch of the operator that the participants share.")
        if not sketch.exact:
            raise PrivacyError("Real-valued weights cannot be masked: only integers add up modulo 2⁶⁴.")
        if self.public_key not in everyone:
            raise PrivacyError("Expected the participant's own key among the keys.")
        if round in self._rounds:
            raise PrivacyError(f"The round {round!r} was used already: masks are for one sketch only.")
        self._rounds.add(round)
        counters = [int(sketch.count), int(sketch.saturated), int(sketch.skipped)]
        vector = np.concatenate([sketch.total, np.array(counters, np.int64)]).view(np.uint64).copy()
        context = _context(round, self.operator.fingerprint, everyone)
        with np.errstate(over="ignore"):
            for other in everyone:
                if other != self.public_key:
                    stream = self._stream(other, context, vector.size)
                    vector = vector + stream if self.public_key < other else vector - stream
        return MaskedSketch(round, self.operator.fingerprint, everyone, self.public_key, vector, sketch.ledger)

    def _stream(self, other: bytes, context: bytes, size: int) -> npt.NDArray[np.uint64]:
        """Return the numbers that this participant and another have in common in a round."""
        library = _library()
        try:
            shared = self._key.exchange(library.public_key.from_public_bytes(other))
        except ValueError as error:  # a point of low order, with which nothing is secret
            raise PrivacyError(f"The key {other.hex()[:16]}… is none that a secret can be agreed on with.") from error
        key = library.hkdf(algorithm=library.sha256(), length=32, salt=None, info=context).derive(shared)
        # The key is for this stream alone, so that the nonce may be 0.
        stream = library.cipher(library.chacha20(key, bytes(16)), mode=None).encryptor().update(bytes(8 * size))
        return np.frombuffer(stream, "<u8").astype(np.uint64)


def unmask(operator: SketchOperator, masked: Iterable[MaskedSketch]) -> Sketch:
    """Add up what all participants of a round have sent: the masks cancel, and the total is left.

    A participant that is missing, or there twice, refuses the round: without it, the masks do not cancel.
    """
    parts = list(masked)
    if not parts:
        raise MessageError("Expected masked sketches, got none.")
    first = parts[0]
    everyone = _as_keys(first.keys)
    for part in parts:
        if (part.round, part.fingerprint, part.keys) != (first.round, operator.fingerprint, everyone):
            raise MessageError("Expected masked sketches of one round, one operator and the same participants.")
        if part.vector.shape != (operator.n_measurements + _COUNTERS,):
            raise MessageError(f"Expected {operator.n_measurements + _COUNTERS} numbers, got {part.vector.shape}.")
    senders = sorted(part.sender for part in parts)
    if senders != list(everyone):
        raise MessageError(
            f"Expected one masked sketch of each of the {len(everyone)} participants, got {len(set(senders))} of them "
            f"in {len(senders)}: a round without somebody says nothing. Start another, without whoever dropped out."
        )
    with np.errstate(over="ignore"):
        vectors = np.stack([part.vector for part in parts])
        total: npt.NDArray[np.int64] = np.add.reduce(vectors, axis=0).view(np.int64)
    count, saturated, skipped = (int(number) for number in total[-_COUNTERS:])
    ledgers = [part.ledger for part in parts]
    if any(ledger is None for ledger in ledgers) != all(ledger is None for ledger in ledgers):
        raise MessageError("Expected all sketches of a round to be private, or none.")
    merged: Ledger | None = None
    for ledger in ledgers:
        merged = ledger if merged is None or ledger is None else merged.merged(ledger)
    try:
        if count == 0 and merged is None:
            return operator.empty()
        public = operator.reach if operator.ranges is None else operator.ranges
        bounds = unknown(operator.n_features) if merged is None else (public[0].copy(), public[1].copy())
        sums = total[:-_COUNTERS].copy()
        sketch = Sketch(operator, sums, count, saturated, bounds, skipped, ledger=merged)
        sketch.require_consistent()
    except SketchError as error:
        raise MessageError("The masks do not cancel: a participant has sent something else than it should.") from error
    return sketch


def _as_keys(keys: Sequence[bytes]) -> tuple[bytes, ...]:
    everyone = tuple(sorted(keys))
    if not 2 <= len(everyone) <= _MOST_PARTICIPANTS or len(set(everyone)) < len(everyone):
        raise PrivacyError(f"Expected 2 to {_MOST_PARTICIPANTS} different public keys, got {len(everyone)}.")
    if not all(isinstance(key, bytes) and len(key) == _KEY_BYTES for key in everyone):
        raise PrivacyError(f"Expected public keys of {_KEY_BYTES} bytes.")
    return everyone


def _context(round: str, fingerprint: str, keys: tuple[bytes, ...]) -> bytes:
    """Return what the masks depend on beside the key: they are different in every round, and for every set of keys."""
    return (
        b"qckm mask 1 "
        + hashlib.sha256(json.dumps([round, fingerprint, [key.hex() for key in keys]]).encode("ascii")).digest()
    )


def _library() -> _Library:
    try:
        from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey, X25519PublicKey
        from cryptography.hazmat.primitives.ciphers import Cipher
        from cryptography.hazmat.primitives.ciphers.algorithms import ChaCha20
        from cryptography.hazmat.primitives.hashes import SHA256
        from cryptography.hazmat.primitives.kdf.hkdf import HKDF
    except ImportError as error:
        raise MissingExtraError(
            'Masks are made with cryptography, which is not installed: pip install "qckm[privacy]".'
        ) from error
    return _Library(X25519PrivateKey, X25519PublicKey, HKDF, SHA256, Cipher, ChaCha20)

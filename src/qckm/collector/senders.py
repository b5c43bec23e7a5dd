"""Who may do what: bearer tokens, of which only hashes are stored, and devices with their MAC keys."""

from __future__ import annotations

import hashlib
import hmac
import json
import secrets
import uuid
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatchcase

from qckm.collector import schema
from qckm.collector.database import Database
from qckm.collector.refusals import Reason, Refused
from qckm.collector.windows import require_name
from qckm.errors import CollectorError
from qckm.sensor.signed import KEY_BYTES

# send: parts whose names match; relay: messages of devices, which are signed on their own; read: whatever comes out;
# admin: withdraw, release.
RIGHTS = ("send", "relay", "read", "admin")
_PREFIX = "qckm"
_STAMP = "directory"
_MOST_DEVICES = 1 << 32


@dataclass(frozen=True)
class Token:
    """What the holder of a token may do."""

    id: str
    name: str
    hash: bytes
    rights: frozenset[str]
    parts: tuple[str, ...]

    def require(self, right: str) -> None:
        """Refuse what the holder may not do."""
        if right not in self.rights:
            raise Refused(Reason.NO_RIGHT, f"The token {self.name!r} has no right to {right}.")

    def require_part(self, part: str) -> None:
        """Refuse a part that the holder may not send."""
        self.require("send")
        if not any(fnmatchcase(part, pattern) for pattern in self.parts):
            raise Refused(
                Reason.NO_RIGHT, f"The token {self.name!r} may send {', '.join(self.parts)}, but not {part!r:.80}."
            )


@dataclass(frozen=True)
class Device:
    """A device that may send."""

    number: int
    name: str
    key: bytes = field(repr=False)


@dataclass(frozen=True)
class Directory:
    """All who may send, as of some moment."""

    stamp: str = ""
    tokens: Mapping[str, Token] = field(default_factory=dict, repr=False)
    devices: Mapping[int, Device] = field(default_factory=dict, repr=False)

    @classmethod
    def load(cls, db: Database) -> Directory:
        """Read it from the store, within a transaction."""
        tokens = db.rows("SELECT id, name, hash, rights, parts FROM tokens WHERE revoked IS NULL")
        devices = db.rows("SELECT number, name, key FROM devices WHERE revoked IS NULL")
        return cls(
            stamp_of(db),
            {
                id: Token(id, name, bytes(hashed), frozenset(json.loads(rights)), tuple(json.loads(parts)))
                for id, name, hashed, rights, parts in tokens
            },
            {number: Device(number, name, bytes(key)) for number, name, key in devices},
        )

    def token_of(self, secret: str | None) -> Token:
        """Return whom a secret belongs to; no more is said of one that belongs to nobody."""
        if secret is None:
            raise Refused(Reason.NO_TOKEN, "Expected a token: Authorization: Bearer qckm_….")
        id = secret.split("_")[1] if secret.count("_") >= 2 else ""
        token = self.tokens.get(id)
        expected = token.hash if token else bytes(32)  # an unknown one takes as long as a wrong one
        if not hmac.compare_digest(hash_of(secret), expected) or token is None:
            raise Refused(Reason.WRONG_TOKEN, "The token is not known, or was revoked.")
        return token


def stamp_of(db: Database) -> str:
    """Return what changes whenever a token or a device is made or revoked."""
    return schema.meta(db, _STAMP) or ""


def _changed(db: Database) -> None:
    schema.set_meta(db, _STAMP, uuid.uuid4().hex)


def hash_of(secret: str) -> bytes:
    """Return what is stored of a token: as it has 160 random bits, no salt is needed, and nothing slow."""
    return hashlib.sha256(secret.encode()).digest()


def create_token(db: Database, name: str, rights: Iterable[str], parts: Sequence[str], now: int) -> str:
    """Make a token; return its secret, which is not kept."""
    rights = sorted(set(rights))
    if not rights or not set(rights) <= set(RIGHTS):
        raise CollectorError(f"Expected rights among {', '.join(RIGHTS)}, got {', '.join(rights) or 'none'}.")
    if ("send" in rights) != bool(parts):
        raise CollectorError("Expected the right to send together with the parts that may be sent, such as 'berlin/*'.")
    id = secrets.token_hex(4)
    secret = f"{_PREFIX}_{id}_{secrets.token_hex(20)}"
    with db.writing():
        db.execute(
            "INSERT INTO tokens (id, name, hash, rights, parts, created) VALUES (?, ?, ?, ?, ?, ?)",
            (id, require_name(name), hash_of(secret), json.dumps(rights), json.dumps(list(parts)), now),
        )
        _changed(db)
    return secret


def first_token(db: Database, now: int) -> str | None:
    """Make a token with all rights, if there is none yet; return its secret."""
    if db.one("SELECT 1 FROM tokens") is not None:
        return None
    return create_token(db, "first", RIGHTS, ["*"], now)


def revoke_token(db: Database, id: str, now: int) -> None:
    """Take a token back, by its id or its name."""
    with db.writing():
        done = db.execute("UPDATE tokens SET revoked = ? WHERE (id = ? OR name = ?) AND revoked IS NULL", (now, id, id))
        _changed(db)
    if not done:
        raise CollectorError(f"Expected the id or the name of a token, got {id!r:.80}: see `qckm collect token list`.")


def create_devices(
    db: Database, names: Sequence[str], first: int | None, keys: Sequence[bytes] | None, now: int
) -> list[Device]:
    """Register devices under consecutive numbers; keys are drawn where none are given."""
    with db.writing():
        if first is None:
            first = int(db.value("SELECT coalesce(max(number), -1) FROM devices")) + 1
        if first + len(names) > _MOST_DEVICES:
            raise CollectorError(f"Expected device numbers below 2³², got {first + len(names) - 1}.")
        keys = [secrets.token_bytes(KEY_BYTES) for _ in names] if keys is None else keys
        if any(len(key) != KEY_BYTES for key in keys):
            raise CollectorError(f"Expected keys of {KEY_BYTES} bytes, {2 * KEY_BYTES} hexadecimal digits.")
        made = [Device(first + i, require_name(name), keys[i]) for i, name in enumerate(names)]
        known = {each for row in db.rows("SELECT number, name FROM devices") for each in row}
        for each in (each for device in made for each in (device.number, device.name)):
            if each in known:
                raise CollectorError(f"Expected a new device, got {each}, which there is already.")
            known.add(each)
        db.many(
            "INSERT INTO devices (number, name, key, created) VALUES (?, ?, ?, ?)",
            [(device.number, device.name, device.key, now) for device in made],
        )
        _changed(db)
    return made


def revoke_device(db: Database, number: int, now: int) -> None:
    """Take no more messages of a device; what it sent stays."""
    with db.writing():
        done = db.execute("UPDATE devices SET revoked = ? WHERE number = ? AND revoked IS NULL", (now, number))
        _changed(db)
    if not done:
        raise CollectorError(f"Expected the number of a device, got {number}: see `qckm collect device list`.")

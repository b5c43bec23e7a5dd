"""The tables of a store, in SQL that SQLite and PostgreSQL share, and what is true of the store as a whole."""

from __future__ import annotations

import contextlib
import os
import sqlite3
import uuid
from pathlib import Path
from typing import Final

from qckm.collector.database import Database, is_missing
from qckm.collector.settings import Settings
from qckm.errors import CollectorError
from qckm.sketch import SketchOperator, files

VERSION: Final = 1

# Names, in an order in which rows may be copied, with their columns. Times are seconds since 1970.
TABLES: Final[dict[str, str]] = {
    "meta": "name TEXT PRIMARY KEY, value BLOB NOT NULL",
    "tokens": """
        id TEXT PRIMARY KEY, name TEXT NOT NULL, hash BLOB NOT NULL, rights TEXT NOT NULL, parts TEXT NOT NULL,
        created BIGINT NOT NULL, revoked BIGINT""",
    "devices": """
        number BIGINT PRIMARY KEY, name TEXT NOT NULL UNIQUE, key BLOB NOT NULL, created BIGINT NOT NULL,
        revoked BIGINT, last_seen BIGINT, messages BIGINT NOT NULL DEFAULT 0, rows BIGINT NOT NULL DEFAULT 0,
        saturated BIGINT NOT NULL DEFAULT 0, repeated BIGINT NOT NULL DEFAULT 0, reports BIGINT NOT NULL DEFAULT 0,
        wrong_clock BIGINT NOT NULL DEFAULT 0""",
    "boots": """
        device BIGINT NOT NULL, boot BIGINT NOT NULL, top BIGINT NOT NULL, messages BIGINT NOT NULL,
        floor BIGINT NOT NULL, PRIMARY KEY (device, boot)""",
    "seen": """
        device BIGINT NOT NULL, boot BIGINT NOT NULL, block BIGINT NOT NULL, marks BLOB NOT NULL,
        PRIMARY KEY (device, boot, block)""",
    "parts": """
        name TEXT PRIMARY KEY, grp TEXT NOT NULL, start BIGINT NOT NULL, span BIGINT NOT NULL, state TEXT NOT NULL,
        digest BLOB NOT NULL, rows BIGINT NOT NULL, sender TEXT NOT NULL, received BIGINT NOT NULL, sketch BLOB""",
    "named": "id BLOB PRIMARY KEY, part TEXT NOT NULL",
    "part_sums": """
        grp TEXT NOT NULL, start BIGINT NOT NULL, span BIGINT NOT NULL, rows BIGINT NOT NULL, sketch BLOB NOT NULL,
        PRIMARY KEY (grp, start, span)""",
    "device_sums": """
        grp TEXT NOT NULL, start BIGINT NOT NULL, span BIGINT NOT NULL, rows BIGINT NOT NULL,
        saturated BIGINT NOT NULL, total BLOB NOT NULL, PRIMARY KEY (grp, start, span)""",
    "report_sums": """
        grp TEXT NOT NULL, start BIGINT NOT NULL, span BIGINT NOT NULL, kept BIGINT NOT NULL, bits BIGINT NOT NULL,
        reports BIGINT NOT NULL, total BLOB NOT NULL, PRIMARY KEY (grp, start, span, kept, bits)""",
    "withdrawals": """
        id TEXT PRIMARY KEY, at BIGINT NOT NULL, what TEXT NOT NULL, rows BIGINT NOT NULL, sender TEXT NOT NULL""",
    "refusals": """
        sender TEXT NOT NULL, reason TEXT NOT NULL, times BIGINT NOT NULL, last BIGINT NOT NULL, words TEXT NOT NULL,
        PRIMARY KEY (sender, reason)""",
    "models": "key TEXT PRIMARY KEY, created BIGINT NOT NULL, model BLOB NOT NULL",
    "drifts": """
        grp TEXT NOT NULL, start BIGINT NOT NULL, span BIGINT NOT NULL, created BIGINT NOT NULL,
        drifted INTEGER NOT NULL, result TEXT NOT NULL, PRIMARY KEY (grp, start, span)""",
    "releases": "id TEXT PRIMARY KEY, at BIGINT NOT NULL, asked TEXT NOT NULL, ledger TEXT NOT NULL",
    "jobs": "name TEXT PRIMARY KEY, due BIGINT NOT NULL",
}
INDEXES: Final = (
    "CREATE INDEX IF NOT EXISTS parts_by_window ON parts (grp, start, span)",
    "CREATE INDEX IF NOT EXISTS named_by_part ON named (part)",
)
# Of the settings, those that everything in the store depends on.
_FIXED: Final = ("group_depth", "window")


def prepare(db: Database, operator: SketchOperator | None, settings: Settings) -> SketchOperator:
    """Make the tables if they are not there; return the store's operator, which is that of its first start.

    Without an operator, nothing is made: an empty store would be taken for one that is to be looked after.
    """
    if operator is None and is_missing(db.address):
        raise _no_operator()
    with db.writing():
        for name, columns in TABLES.items():
            db.execute(f"CREATE TABLE IF NOT EXISTS {name} ({columns})")
        for sql in INDEXES:
            db.execute(sql)
        if operator is not None:
            # Only the first of them is kept, whoever else starts at the same time.
            first = {"version": str(VERSION), "store": uuid.uuid4().hex}
            first |= {name: str(getattr(settings, name)) for name in _FIXED}
            values = [(name, value.encode()) for name, value in first.items()]
            values.append(("operator", files.dumps(operator.empty())))
            db.many("INSERT INTO meta (name, value) VALUES (?, ?) ON CONFLICT (name) DO NOTHING", values)
        kept = load_operator(db)
    if operator is not None and operator.fingerprint != kept.fingerprint:
        raise CollectorError(
            f"Expected the operator that the store was made with, {kept.fingerprint[:16]}, got "
            f"{operator.fingerprint[:16]}: sketches of two operators do not add up. Use another store for it."
        )
    for name in _FIXED:
        is_now, was = str(getattr(settings, name)), meta(db, name)
        if is_now != was:
            raise CollectorError(
                f"Expected {name} {was}, as the store was made with, got {is_now}: its windows and groups depend on it."
            )
    return kept


def load_operator(db: Database) -> SketchOperator:
    """Return the operator of a store."""
    version = meta(db, "version")
    if version is None:
        raise _no_operator()
    if version != str(VERSION):
        raise CollectorError(f"Expected a store of version {VERSION}, got {version}: a newer qckm may read it.")
    return files.loads(bytes(db.value("SELECT value FROM meta WHERE name = 'operator'"))).operator


def _no_operator() -> CollectorError:
    return CollectorError("Expected an operator at the first start: qckm collect --operator fleet.qckm.")


def meta(db: Database, name: str) -> str | None:
    """Return a fact of the store, if it is there."""
    found = db.value("SELECT value FROM meta WHERE name = ?", (name,))
    return None if found is None else bytes(found).decode()


def set_meta(db: Database, name: str, value: str) -> None:
    """Keep a fact of the store, within a transaction."""
    db.execute(
        "INSERT INTO meta (name, value) VALUES (?, ?) ON CONFLICT (name) DO UPDATE SET value = excluded.value",
        (name, value.encode()),
    )


_ROWS = 500  # that are copied at a time


def back_up(db: Database, path: str) -> int:
    """Write a store, which may be in use, to one file; return how many rows of tables it has."""
    if os.path.exists(path):
        raise CollectorError(f"Expected a new file, got {path}, which there is already.")
    beside = f"{path}.partial.sqlite"
    Path(beside).unlink(missing_ok=True)
    target = Database(beside)
    try:
        copied = copy_store(db, target)
        target.close()
        with contextlib.closing(sqlite3.connect(beside)) as whole:  # one file: nothing stays in a log beside it
            whole.execute("PRAGMA journal_mode=DELETE")
        with open(beside, "rb+") as file:
            os.fsync(file.fileno())
        os.replace(beside, path)
    finally:
        target.close()
        for ending in ("", "-wal", "-shm"):
            Path(beside + ending).unlink(missing_ok=True)
    return copied


def copy_store(source: Database, target: Database) -> int:
    """Copy all tables, as of one moment, to a store that has none of them: a store that grows moves so."""
    copied = 0
    with source.reading(), target.writing():
        for name, columns in TABLES.items():
            target.execute(f"CREATE TABLE IF NOT EXISTS {name} ({columns})")
            if target.one(f"SELECT 1 FROM {name}") is not None:
                raise CollectorError("Expected an empty store to copy to: it has rows already.")
            # Without the key, which is the last of them.
            names = [words.split()[0] for words in columns.split("PRIMARY KEY (")[0].split(",") if words.strip()]
            insert = f"INSERT INTO {name} ({', '.join(names)}) VALUES ({', '.join('?' * len(names))})"
            for rows in source.stream(f"SELECT {', '.join(names)} FROM {name}", _ROWS):
                target.many(insert, rows)
                copied += len(rows)
        for sql in INDEXES:
            target.execute(sql)
    return copied

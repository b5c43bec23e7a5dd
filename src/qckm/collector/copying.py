"""A whole store to another one, as of one moment: a backup is a store in one file, and a store that grows moves so."""

from __future__ import annotations

import os
import sqlite3
from pathlib import Path

from qckm.collector import schema
from qckm.collector.database import Database
from qckm.errors import CollectorError

_ROWS = 500  # at a time


def back_up(db: Database, path: str) -> int:
    """Write a store, which may be in use, to one file; return how many rows of tables it has."""
    if os.path.exists(path):
        raise CollectorError(f"Expected a new file, got {path}, which there is already.")
    beside = f"{path}.partial.sqlite"
    Path(beside).unlink(missing_ok=True)
    target = Database(beside)
    try:
        copied = copy_store(db, target)
        with target.reading():
            pass
    finally:
        target.close()
    with sqlite3.connect(beside) as whole:  # one file: nothing stays in a log beside it
        whole.execute("PRAGMA journal_mode=DELETE")
    whole.close()
    descriptor = os.open(beside, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
    os.replace(beside, path)
    return copied


def copy_store(source: Database, target: Database) -> int:
    """Copy all tables to a store that has none of them."""
    copied = 0
    with source.reading(), target.writing():
        for name, columns in schema.TABLES.items():
            target.execute(f"CREATE TABLE IF NOT EXISTS {name} ({columns})")
            if target.one(f"SELECT 1 FROM {name}") is not None:
                raise CollectorError("Expected an empty store to copy to: it has rows already.")
            names = [word.split()[0] for word in _columns(columns)]
            insert = f"INSERT INTO {name} ({', '.join(names)}) VALUES ({', '.join('?' * len(names))})"
            rows = source.rows(f"SELECT {', '.join(names)} FROM {name}")
            for at in range(0, len(rows), _ROWS):
                target.many(insert, rows[at : at + _ROWS])
            copied += len(rows)
        for sql in schema.INDEXES:
            target.execute(sql)
    return copied


def _columns(text: str) -> list[str]:
    """Return the columns of a table's definition, without its key."""
    plain = text.split("PRIMARY KEY (")[0]
    return [word.strip() for word in plain.split(",") if word.strip()]

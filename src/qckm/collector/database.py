"""SQLite or PostgreSQL behind the same few verbs. SQL is written once, in what both understand; `?` stands for values.

A connection belongs to one thread. Whatever goes wrong with the database, as opposed to what is asked of it, becomes
`Unavailable`, after which the connection is made anew.
"""

from __future__ import annotations

import contextlib
import os
import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

from qckm.collector.refusals import Unavailable
from qckm.common.text import public_cause, without_secrets
from qckm.errors import CollectorError, MissingExtraError

Row = tuple[Any, ...]


class Database:
    """One connection to a store, which is a folder, a file or `postgresql://…`."""

    def __init__(self, address: str) -> None:
        self.address = address
        self.is_postgresql = _is_postgresql(address)
        # Appended to a SELECT whose rows are to be changed: SQLite has one writer at a time anyway.
        self.for_update = " FOR UPDATE" if self.is_postgresql else ""
        self._connection: Any = None
        self._within = False  # a transaction

    def __enter__(self) -> Database:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the connection; the next statement opens another one."""
        if self._connection is not None:
            with contextlib.suppress(Exception):
                self._connection.close()
        self._connection = None

    def writing(self) -> AbstractContextManager[Database]:
        """Commit what is done within, or nothing of it."""
        return self._transaction("BEGIN" if self.is_postgresql else "BEGIN IMMEDIATE")

    def reading(self) -> AbstractContextManager[Database]:
        """See one state of the whole store within, whatever others write meanwhile."""
        return self._transaction("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY" if self.is_postgresql else "BEGIN")

    @contextlib.contextmanager
    def nested(self) -> Iterator[Database]:
        """Do what is within, or nothing of it, as a part of a transaction that goes on."""
        self._run("SAVEPOINT nested")
        try:
            yield self
        except Exception:
            self._run("ROLLBACK TO SAVEPOINT nested")
            self._run("RELEASE SAVEPOINT nested")
            raise
        self._run("RELEASE SAVEPOINT nested")

    @contextlib.contextmanager
    def _transaction(self, begin: str) -> Iterator[Database]:
        self._run(begin)
        self._within = True
        try:
            yield self
            self._run("COMMIT")
        except BaseException:
            with contextlib.suppress(Exception):
                self._run("ROLLBACK")
            raise
        finally:
            self._within = False

    def lock(self, *tables: str) -> None:
        """Let nobody else change some tables before the transaction ends: rows that appear meanwhile are not seen."""
        if self.is_postgresql:
            self._run(f"LOCK TABLE {', '.join(tables)} IN SHARE ROW EXCLUSIVE MODE")

    def stream(self, sql: str, most: int, values: Sequence[Any] = ()) -> Iterator[list[Row]]:
        """Yield what a query gives in pieces, within a transaction: it may be more than fits in memory."""
        with self._errors():
            cursor = self._open().cursor("stream") if self.is_postgresql else self._open().cursor()
            cursor.execute(self._dialect(sql), values)
            while piece := cursor.fetchmany(most):
                yield piece
            cursor.close()

    def rows(self, sql: str, values: Sequence[Any] = ()) -> list[Row]:
        """Return what a query gives."""
        found: list[Row] = self._run(sql, values).fetchall()
        return found

    def one(self, sql: str, values: Sequence[Any] = ()) -> Row | None:
        """Return the first row that a query gives."""
        found: Row | None = self._run(sql, values).fetchone()
        return found

    def value(self, sql: str, values: Sequence[Any] = ()) -> Any:
        """Return the first value of the first row that a query gives, if there is one."""
        found = self.one(sql, values)
        return None if found is None else found[0]

    def dicts(self, table: str, columns: Sequence[str], rest: str, values: Sequence[Any] = ()) -> list[dict[str, Any]]:
        """Return some columns of a table by their names; the rest of the query says which rows."""
        rows = self.rows(f"SELECT {', '.join(columns)} FROM {table} {rest}", values)
        return [dict(zip(columns, row, strict=True)) for row in rows]

    def execute(self, sql: str, values: Sequence[Any] = ()) -> int:
        """Change something; return how many rows were changed."""
        return int(self._run(sql, values).rowcount)

    def many(self, sql: str, values: Sequence[Sequence[Any]]) -> None:
        """Change something once for each of the values."""
        if values:
            with self._errors():
                self._open().cursor().executemany(self._dialect(sql), values)

    def _run(self, sql: str, values: Sequence[Any] = ()) -> Any:
        with self._errors():
            cursor = self._open().cursor()
            cursor.execute(self._dialect(sql), values)
        return cursor

    def _dialect(self, sql: str) -> str:
        return sql.replace("?", "%s").replace("BLOB", "BYTEA") if self.is_postgresql else sql

    def _open(self) -> Any:
        if self._connection is None:
            if self._within:
                raise Unavailable("The connection was lost within a transaction.")  # the rest of it must not be done
            connect = _connect_postgresql if self.is_postgresql else _connect_sqlite
            self._connection = connect(self.address)
        return self._connection

    @contextlib.contextmanager
    def _errors(self) -> Iterator[None]:
        try:
            yield
        except sqlite3.Error as error:
            self.close()
            raise Unavailable(f"{self.address}: {error}") from error
        except Exception as error:
            # psycopg need not be installed to find out that the error is none of its own.
            if type(error).__module__.split(".")[0] != "psycopg":
                raise
            self.close()
            words = without_secrets(str(error).splitlines()[0] if str(error) else repr(error), self.address)
            raise Unavailable(f"PostgreSQL: {words}") from public_cause(error, self.address)


def _is_postgresql(address: str) -> bool:
    return address.startswith(("postgresql://", "postgres://"))


def _sqlite_path(address: str) -> Path:
    path = Path(address)
    return path if path.suffix == ".sqlite" else path / "collector.sqlite"


def is_missing(address: str) -> bool:
    """Whether nobody has made a store there, as far as can be told without making it."""
    return not _is_postgresql(address) and not _sqlite_path(address).exists()


def require_store(address: str) -> None:
    """Refuse a store that nobody has made: a typing error would make an empty one."""
    if is_missing(address):
        raise CollectorError(
            f"Expected a store, found none at {address}: start `qckm collect` there first, or name it with --store."
        )


def _connect_sqlite(address: str) -> sqlite3.Connection:
    path = _sqlite_path(address)
    if not path.parent.is_dir():
        os.makedirs(path.parent, mode=0o700)
    if not path.exists():
        os.close(os.open(path, os.O_CREAT | os.O_RDWR, 0o600))  # it holds keys
    connection = sqlite3.connect(path, timeout=30, isolation_level=None, check_same_thread=False)
    connection.execute("PRAGMA journal_mode=WAL")
    # A commit is on the disk before it is answered, also where the power fails.
    connection.execute("PRAGMA synchronous=FULL")
    connection.execute("PRAGMA foreign_keys=ON")
    return connection


def _connect_postgresql(address: str) -> Any:
    try:
        import psycopg
    except ImportError as error:
        raise MissingExtraError('PostgreSQL needs psycopg: pip install "qckm[collect]".') from error
    connection = psycopg.connect(address, autocommit=True, connect_timeout=10)
    # Whatever the server's default is, an answer waits for the disk.
    connection.execute("SET synchronous_commit TO on")
    connection.execute("SET lock_timeout TO '20s'")
    return connection

"""Polling an outbox table in SQLite: one writer at a time, so AUTOINCREMENT numbers are in the order of commits.

An older copy of the file, or a table that was dropped and created again, counts from an earlier number. Marks tell
it (see `marks`): a row for each position, and an index without entries that carries the identity of the table, because
it is dropped with it.
"""

from __future__ import annotations

import sqlite3
import uuid
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

from tidelog.spark.databases.options import split_table
from tidelog.spark.databases.store import DatabaseProblem, database_errors
from tidelog.spark.outbox.marks import (
    MARKS_KEPT,
    MARKS_TABLE,
    OWNERS_TABLE,
    explain_unproved,
    not_the_owner,
    remedy,
)
from tidelog.spark.outbox.tables import Offset, OutboxSettings, PositionLost, Row, check_columns

SEQUENCE = "sequence"
BUSY_TIMEOUT_SECONDS = 30.0
BEFORE_ALL = -(2**63)

_TABLE = """CREATE TABLE IF NOT EXISTS {table} (
    sequence INTEGER PRIMARY KEY AUTOINCREMENT,
    id TEXT NOT NULL UNIQUE,
    aggregatetype TEXT NOT NULL,
    aggregateid TEXT NOT NULL,
    type TEXT NOT NULL,
    payload TEXT
)"""
_FULL = 2
_IDENTITY = "tidelog_outbox_identity_"
_BESIDE = (
    f"CREATE TABLE IF NOT EXISTS {MARKS_TABLE} (number INTEGER PRIMARY KEY AUTOINCREMENT, token TEXT NOT NULL UNIQUE,"
    " reader TEXT NOT NULL)",
    f"CREATE TABLE IF NOT EXISTS {OWNERS_TABLE} (source TEXT PRIMARY KEY, reader TEXT NOT NULL)",
)


class SqliteOutbox:
    def __init__(self, settings: OutboxSettings) -> None:
        self._settings = settings
        self._path = Path(settings.url.location).absolute()
        self._name = split_table(settings.table)[-1]
        self._table = _quoted(self._name)

    def create(self) -> None:
        with self._transaction(writes=True) as connection:
            connection.execute(_TABLE.format(table=self._table))
            self._ensure(connection)

    def check(self) -> None:
        table = self._settings.table
        with self._transaction(writes=True) as connection:
            columns = connection.execute(f"PRAGMA table_info({self._table})").fetchall()
            made = connection.execute(
                "SELECT sql FROM sqlite_master WHERE type = 'table' AND name = ?", (self._name,)
            ).fetchone()
            if made is None:
                raise DatabaseProblem(f"there is no table {table}; create it with --create-table")
            present = [row[1] for row in columns]
            check_columns(table, present, self._settings.columns)
            # Without AUTOINCREMENT the number of a deleted row is given again, and its event would be passed over.
            if SEQUENCE not in present or "AUTOINCREMENT" not in made[0].upper():
                raise DatabaseProblem(
                    f"table {table} needs a column {SEQUENCE} INTEGER PRIMARY KEY AUTOINCREMENT, which gives the "
                    "order of its rows. SQLite cannot add one: create a new table with --create-table and copy the rows"
                )
            self._ensure(connection)

    def initial(self) -> Offset:
        return {"after": BEFORE_ALL}

    def target(self) -> int:
        with self._transaction() as connection:
            row = connection.execute(f"SELECT max({SEQUENCE}) FROM {self._table}").fetchone()
            return BEFORE_ALL if row[0] is None else int(row[0])

    def latest(self, start: Offset, limit: int | None, target: int | None) -> Offset:
        with self._transaction() as connection:
            # Who only looks does not keep writers waiting.
            if self._last(connection, start, limit, target) is None:
                return start
        with self._transaction(writes=True) as connection:
            last = self._last(connection, start, limit, target)
            if last is None:
                return start
            identity = self._ensure(connection)
            reader = start.get("reader")
            end: Offset = {"after": last, "mark": str(uuid.uuid4()), "reader": reader or self._settings.reader}
            connection.execute(f"INSERT INTO {MARKS_TABLE} (token, reader) VALUES (?, ?)", (end["mark"], end["reader"]))
            self._prune(connection, start)
            self._take_ownership(connection, reader, end["reader"])
            return {**end, "table": identity}

    def routes(self, start: Offset, end: Offset) -> list[Any]:
        with self._transaction() as connection:
            found = connection.execute(
                f"SELECT DISTINCT {_quoted(self._settings.route_by)} FROM {self._table} WHERE {SEQUENCE} > ?"
                f" AND {SEQUENCE} <= ?",
                (start["after"], end["after"]),
            )
            return [row[0] for row in found]

    def rows(self, start: Offset, end: Offset) -> Iterator[Row]:
        columns = self._settings.columns
        with closing(self._connect()) as connection:
            self._verify(connection, end)
            found = connection.execute(
                f"SELECT {', '.join(map(_quoted, columns))} FROM {self._table} WHERE {SEQUENCE} > ? AND {SEQUENCE} <= ?"
                f" ORDER BY {SEQUENCE}",
                (start["after"], end["after"]),
            )
            for row in found:
                yield dict(zip(columns, row, strict=True))

    def relayed(self, end: Offset) -> None:
        if not self._settings.delete_relayed:
            return
        with self._transaction(writes=True) as connection:
            self._verify(connection, end)
            if "mark" not in end:
                return
            self._check_owner(connection, end["reader"])
            self._claim(connection, end["reader"])
            connection.execute(f"DELETE FROM {self._table} WHERE {SEQUENCE} <= ?", (end["after"],))

    def _last(self, connection: sqlite3.Connection, start: Offset, limit: int | None, target: int | None) -> int | None:
        """The number of the last row of a batch; None if there is none."""
        self._verify(connection, start)
        self._check_owner(connection, start.get("reader"))
        row = connection.execute(
            f"SELECT max({SEQUENCE}) FROM (SELECT {SEQUENCE} FROM {self._table} WHERE {SEQUENCE} > ?"
            f" AND ({SEQUENCE} <= ? OR ? IS NULL) ORDER BY {SEQUENCE} LIMIT ?)",
            (start["after"], target, target, -1 if limit is None else max(limit, 1)),
        ).fetchone()
        return None if row[0] is None else int(row[0])

    def _verify(self, connection: sqlite3.Connection, offset: Offset) -> None:
        """The file has the mark of the position, so it has everything that was committed before it."""
        table = self._settings.table
        if "mark" not in offset:
            if int(offset["after"]) > 0:
                raise PositionLost(explain_unproved(table))
            return
        known = (
            self._exists(connection, MARKS_TABLE)
            and connection.execute(
                f"SELECT 1 FROM {MARKS_TABLE} WHERE token = ? AND reader = ?", (offset["mark"], offset["reader"])
            ).fetchone()
        )
        if not known:
            raise PositionLost(
                f"{self._path} is an older copy of the database, or another one: it lacks what was committed when the "
                f"checkpoint was written. {remedy(table)}"
            )
        if self._identity(connection) != offset["table"]:
            raise PositionLost(
                f"table {table} was dropped and recreated since the checkpoint was written. {remedy(table)}"
            )

    def _ensure(self, connection: sqlite3.Connection) -> str:
        """The tables beside the outbox, and the identity of the table: the name of an index that has no entries."""
        for statement in _BESIDE:
            connection.execute(statement)
        identity = self._identity(connection)
        if identity is None:
            identity = f"{_IDENTITY}{uuid.uuid4().hex}"
            connection.execute(
                f"CREATE INDEX {_quoted(identity)} ON {self._table} ({SEQUENCE}) WHERE {SEQUENCE} IS NULL"
            )
        return identity

    def _identity(self, connection: sqlite3.Connection) -> str | None:
        row = connection.execute(
            "SELECT name FROM sqlite_master WHERE type = 'index' AND tbl_name = ? AND substr(name, 1, ?) = ?",
            (self._name, len(_IDENTITY), _IDENTITY),
        ).fetchone()
        return None if row is None else str(row[0])

    def _prune(self, connection: sqlite3.Connection, start: Offset) -> None:
        """Marks before the one that the reader comes from, but for the last ones; those after it may be in use."""
        connection.execute(
            f"DELETE FROM {MARKS_TABLE} WHERE reader = ?1 AND number < (SELECT number FROM {MARKS_TABLE} WHERE reader ="
            f" ?1 AND number <= (SELECT number FROM {MARKS_TABLE} WHERE token = ?2) ORDER BY number DESC LIMIT 1"
            " OFFSET ?3)",
            (start.get("reader"), start.get("mark"), MARKS_KEPT),
        )

    def _check_owner(self, connection: sqlite3.Connection, reader: int | str | None) -> None:
        if reader is None or not self._exists(connection, OWNERS_TABLE):
            return
        row = connection.execute(f"SELECT reader FROM {OWNERS_TABLE} WHERE source = ?", (self._name,)).fetchone()
        if row is not None and row[0] != reader:
            raise PositionLost(not_the_owner(self._settings.table))

    def _take_ownership(self, connection: sqlite3.Connection, before: int | str | None, reader: int | str) -> None:
        """A checkpoint that begins is the one that counts: whoever deleted until now is stopped."""
        if self._settings.delete_relayed:
            self._claim(connection, reader)
        elif before is None:
            connection.execute(f"DELETE FROM {OWNERS_TABLE} WHERE source = ?", (self._name,))

    def _claim(self, connection: sqlite3.Connection, reader: int | str) -> None:
        connection.execute(
            f"INSERT OR REPLACE INTO {OWNERS_TABLE} (source, reader) VALUES (?, ?)", (self._name, reader)
        )

    def _exists(self, connection: sqlite3.Connection, table: str) -> bool:
        query = "SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = ?"
        return connection.execute(query, (table,)).fetchone() is not None

    @contextmanager
    def _transaction(self, *, writes: bool = False) -> Iterator[sqlite3.Connection]:
        """Committed durably at its end, with everything that was committed before it."""
        errors = database_errors(f"{self._path} cannot be used as an outbox")
        with errors, closing(self._connect()) as connection, connection:
            connection.execute("BEGIN IMMEDIATE" if writes else "BEGIN")
            yield connection

    def _connect(self) -> sqlite3.Connection:
        if not self._path.parent.is_dir():
            raise DatabaseProblem(f"the directory of the database does not exist: {self._path.parent}")
        try:
            connection = sqlite3.connect(self._path, timeout=BUSY_TIMEOUT_SECONDS, isolation_level=None)
            # At least FULL: with NORMAL a power cut takes back what was committed to a write-ahead log.
            if connection.execute("PRAGMA synchronous").fetchone()[0] < _FULL:
                connection.execute(f"PRAGMA synchronous = {_FULL}")
        except sqlite3.OperationalError as error:
            raise DatabaseProblem(f"cannot open {self._path}: {error}") from error
        return connection


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'

"""Reading an outbox table, in PostgreSQL or SQLite: where it ends now, and the rows between two positions.

Positions are dictionaries of numbers, as Spark keeps them in its checkpoint. In PostgreSQL they are those of `windows`.
SQLite has one writer at a time, so that numbers of AUTOINCREMENT become visible in their order, and the last one read
says everything.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from tidelog.spark.databases.options import DatabaseUrl, Engine, split_table
from tidelog.spark.databases.store import DatabaseProblem
from tidelog.spark.outbox.windows import START, Slice, end_of, open_window, position_from, slice_between

Offset = dict[str, int]
Row = Mapping[str, Any]

SEQUENCE = "sequence"
TRANSACTION = "transaction_id"
CONNECT_TIMEOUT_SECONDS = 10
BUSY_TIMEOUT_SECONDS = 30.0
ROWS_PER_ROUND_TRIP = 5_000

POSTGRESQL_TABLE = """CREATE TABLE IF NOT EXISTS {table} (
    id uuid PRIMARY KEY DEFAULT gen_random_uuid(),
    aggregatetype varchar(255) NOT NULL,
    aggregateid varchar(255) NOT NULL,
    type varchar(255) NOT NULL,
    payload jsonb,
    transaction_id xid8 NOT NULL DEFAULT pg_current_xact_id(),
    sequence bigint GENERATED ALWAYS AS IDENTITY
)"""
POSTGRESQL_INDEX = "CREATE INDEX IF NOT EXISTS {index} ON {table} (transaction_id, sequence)"
SQLITE_TABLE = """CREATE TABLE IF NOT EXISTS {table} (
    sequence INTEGER PRIMARY KEY AUTOINCREMENT,
    id TEXT NOT NULL UNIQUE,
    aggregatetype TEXT NOT NULL,
    aggregateid TEXT NOT NULL,
    type TEXT NOT NULL,
    payload TEXT
)"""


@dataclass(frozen=True, slots=True, kw_only=True)
class OutboxSettings:
    url: DatabaseUrl
    table: str
    columns: tuple[str, ...]
    route_by: str


class OutboxTable(Protocol):
    def create(self) -> None:
        """Make the table with Debezium's columns and those that reading needs, if it is not there."""

    def check(self) -> None:
        """Raises DatabaseProblem if the table lacks a column, with the statement that adds it."""

    def initial(self) -> Offset: ...

    def target(self) -> int:
        """A bound for `latest`: nothing that comes later than this call lies below it."""

    def latest(self, start: Offset, limit: int | None, target: int | None) -> Offset:
        """How far one batch may read: at most `limit` rows, and nothing behind `target`."""

    def routes(self, start: Offset, end: Offset) -> list[Any]:
        """The different values by which the rows of a batch are routed."""

    def rows(self, start: Offset, end: Offset) -> Iterator[Row]: ...

    def delete_before(self, end: Offset) -> None:
        """Remove rows that a committed batch has read."""


def open_outbox(settings: OutboxSettings) -> OutboxTable:
    match settings.url.engine:
        case Engine.POSTGRESQL:
            return PostgresqlOutbox(settings)
        case Engine.SQLITE:
            return SqliteOutbox(settings)


class PostgresqlOutbox:
    def __init__(self, settings: OutboxSettings) -> None:
        from psycopg import sql

        self._settings = settings
        self._sql = sql
        self._table = sql.Identifier(*split_table(settings.table))

    def create(self) -> None:
        sql = self._sql
        index = sql.Identifier(f"{split_table(self._settings.table)[-1]}_by_transaction"[:63])
        with self._connect() as connection:
            connection.execute(sql.SQL(POSTGRESQL_TABLE).format(table=self._table))
            connection.execute(sql.SQL(POSTGRESQL_INDEX).format(table=self._table, index=index))

    def check(self) -> None:
        import psycopg

        table = self._settings.table
        with self._connect() as connection:
            try:
                cursor = connection.execute(self._sql.SQL("SELECT * FROM {} LIMIT 0").format(self._table))
            except psycopg.errors.UndefinedTable as error:
                raise DatabaseProblem(f"there is no table {table}; create it with --create-table") from error
            types = {column.name: column.type_code for column in cursor.description or ()}
            expected = connection.execute("SELECT 'xid8'::regtype::oid").fetchone()
        _check_present(table, types, self._settings.columns)
        if TRANSACTION not in types or expected is None or types[TRANSACTION] != expected[0]:
            raise DatabaseProblem(
                f"table {table} has no column {TRANSACTION} of type xid8, which tells which rows are complete: ALTER "
                f"TABLE {table} ADD COLUMN {TRANSACTION} xid8 NOT NULL DEFAULT pg_current_xact_id()"
            )
        if SEQUENCE not in types:
            raise DatabaseProblem(
                f"table {table} has no column {SEQUENCE}, which tells the order of its rows: ALTER TABLE {table} ADD "
                f"COLUMN {SEQUENCE} bigint GENERATED ALWAYS AS IDENTITY"
            )

    def initial(self) -> Offset:
        return START.as_dict()

    def target(self) -> int:
        with self._connect() as connection:
            return self._oldest_running(connection)

    def latest(self, start: Offset, limit: int | None, target: int | None) -> Offset:
        with self._connect() as connection:
            window = open_window(position_from(start), self._oldest_running(connection) if target is None else target)
            if window.low == window.high:
                return start
            condition, values = self._condition(window)
            query = self._sql.SQL("SELECT {} FROM {} WHERE {} ORDER BY {} LIMIT 2 OFFSET {}").format(
                self._sql.Identifier(SEQUENCE),
                self._table,
                condition,
                self._sql.Identifier(SEQUENCE),
                self._sql.Literal(0 if limit is None else max(limit, 1) - 1),
            )
            found = connection.execute(query, values).fetchall()
        if limit is None:
            # An empty window needs no batch: the next one begins where it began.
            return end_of(window, None).as_dict() if found else start
        if len(found) == 2:
            return end_of(window, found[0][0]).as_dict()
        return end_of(window, None).as_dict() if found or self._any(window) else start

    def routes(self, start: Offset, end: Offset) -> list[Any]:
        window = slice_between(position_from(start), position_from(end))
        if window is None:
            return []
        condition, values = self._condition(window)
        query = self._sql.SQL("SELECT DISTINCT {} FROM {} WHERE {}").format(
            self._sql.Identifier(self._settings.route_by), self._table, condition
        )
        with self._connect() as connection:
            return [row[0] for row in connection.execute(query, values).fetchall()]

    def rows(self, start: Offset, end: Offset) -> Iterator[Row]:
        window = slice_between(position_from(start), position_from(end))
        if window is None:
            return
        from psycopg.types.string import TextLoader

        condition, values = self._condition(window)
        query = self._sql.SQL("SELECT {} FROM {} WHERE {} ORDER BY {}").format(
            self._sql.SQL(", ").join(map(self._sql.Identifier, self._settings.columns)),
            self._table,
            condition,
            self._sql.Identifier(SEQUENCE),
        )
        with self._connect() as connection, connection.cursor(name="tidelog_outbox") as cursor:
            # Payloads are passed on as they are written, not parsed and written anew.
            for kind in ("json", "jsonb"):
                cursor.adapters.register_loader(kind, TextLoader)
            cursor.itersize = ROWS_PER_ROUND_TRIP
            cursor.execute(query, values)
            for row in cursor:
                yield dict(zip(self._settings.columns, row, strict=True))

    def delete_before(self, end: Offset) -> None:
        with self._connect() as connection:
            statement = self._sql.SQL("DELETE FROM {} WHERE {} < %s::text::xid8").format(
                self._table, self._sql.Identifier(TRANSACTION)
            )
            connection.execute(statement, (str(position_from(end).low),))

    def _any(self, window: Slice) -> bool:
        condition, values = self._condition(window)
        query = self._sql.SQL("SELECT 1 FROM {} WHERE {} LIMIT 1").format(self._table, condition)
        with self._connect() as connection:
            return connection.execute(query, values).fetchone() is not None

    def _oldest_running(self, connection: Any) -> int:
        row = connection.execute("SELECT pg_snapshot_xmin(pg_current_snapshot())::text").fetchone()
        return int(row[0])

    def _condition(self, window: Slice) -> tuple[Any, dict[str, Any]]:
        text = (
            "{transaction} >= %(low)s::text::xid8 AND {transaction} < %(high)s::text::xid8 AND {sequence} > %(after)s"
        )
        if window.up_to is not None:
            text += " AND {sequence} <= %(up_to)s"
        condition = self._sql.SQL(text).format(
            transaction=self._sql.Identifier(TRANSACTION), sequence=self._sql.Identifier(SEQUENCE)
        )
        values = {"low": str(window.low), "high": str(window.high), "after": window.after, "up_to": window.up_to}
        return condition, values

    def _connect(self) -> Any:
        import psycopg

        try:
            return psycopg.connect(
                self._settings.url.location, application_name="tidelog outbox", connect_timeout=CONNECT_TIMEOUT_SECONDS
            )
        except psycopg.OperationalError as error:
            raise DatabaseProblem(f"cannot connect to PostgreSQL: {' '.join(str(error).split())}") from error


class SqliteOutbox:
    def __init__(self, settings: OutboxSettings) -> None:
        self._settings = settings
        self._path = Path(settings.url.location).absolute()
        self._table = _quoted(split_table(settings.table)[-1])

    def create(self) -> None:
        with closing(self._connect()) as connection, connection:
            connection.execute(SQLITE_TABLE.format(table=self._table))

    def check(self) -> None:
        table = self._settings.table
        with closing(self._connect()) as connection:
            columns = connection.execute(f"PRAGMA table_info({self._table})").fetchall()
            made = connection.execute(
                "SELECT sql FROM sqlite_master WHERE type = 'table' AND name = ?", (split_table(table)[-1],)
            ).fetchone()
        if made is None:
            raise DatabaseProblem(f"there is no table {table}; create it with --create-table")
        present = [row[1] for row in columns]
        _check_present(table, present, self._settings.columns)
        # Without AUTOINCREMENT the number of a deleted row is given again, and its event would be passed over.
        if SEQUENCE not in present or "AUTOINCREMENT" not in made[0].upper():
            raise DatabaseProblem(
                f"table {table} needs a column {SEQUENCE} INTEGER PRIMARY KEY AUTOINCREMENT, which tells the order of "
                "its rows. SQLite cannot add one: make a new table with --create-table and copy the rows"
            )

    def initial(self) -> Offset:
        return {"after": 0}

    def target(self) -> int:
        with closing(self._connect()) as connection:
            row = connection.execute(f"SELECT coalesce(max({SEQUENCE}), 0) FROM {self._table}").fetchone()
            return int(row[0])

    def latest(self, start: Offset, limit: int | None, target: int | None) -> Offset:
        with closing(self._connect()) as connection:
            row = connection.execute(
                f"SELECT max({SEQUENCE}) FROM (SELECT {SEQUENCE} FROM {self._table} WHERE {SEQUENCE} > ?"
                f" AND ({SEQUENCE} <= ? OR ? IS NULL) ORDER BY {SEQUENCE} LIMIT ?)",
                (start["after"], target, target, -1 if limit is None else max(limit, 1)),
            ).fetchone()
        return start if row[0] is None else {"after": int(row[0])}

    def routes(self, start: Offset, end: Offset) -> list[Any]:
        with closing(self._connect()) as connection:
            found = connection.execute(
                f"SELECT DISTINCT {_quoted(self._settings.route_by)} FROM {self._table} WHERE {SEQUENCE} > ?"
                f" AND {SEQUENCE} <= ?",
                (start["after"], end["after"]),
            )
            return [row[0] for row in found]

    def rows(self, start: Offset, end: Offset) -> Iterator[Row]:
        columns = self._settings.columns
        with closing(self._connect()) as connection:
            found = connection.execute(
                f"SELECT {', '.join(map(_quoted, columns))} FROM {self._table} WHERE {SEQUENCE} > ? AND {SEQUENCE} <= ?"
                f" ORDER BY {SEQUENCE}",
                (start["after"], end["after"]),
            )
            for row in found:
                yield dict(zip(columns, row, strict=True))

    def delete_before(self, end: Offset) -> None:
        with closing(self._connect()) as connection, connection:
            connection.execute(f"DELETE FROM {self._table} WHERE {SEQUENCE} <= ?", (end["after"],))

    def _connect(self) -> sqlite3.Connection:
        if not self._path.parent.is_dir():
            raise DatabaseProblem(f"the directory of the database does not exist: {self._path.parent}")
        try:
            return sqlite3.connect(self._path, timeout=BUSY_TIMEOUT_SECONDS)
        except sqlite3.OperationalError as error:
            raise DatabaseProblem(f"cannot open {self._path}: {error}") from error


def _check_present(table: str, present: Sequence[str] | Mapping[str, Any], wanted: Sequence[str]) -> None:
    missing = [name for name in wanted if name not in present]
    if missing:
        raise DatabaseProblem(
            f"table {table} has no column {', '.join(missing)}; it has {', '.join(sorted(present))}. Add it, or name "
            "another one with the options of the outbox event router (table.field.event.*, route.by.field)"
        )


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'

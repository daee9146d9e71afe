"""The database sink on PostgreSQL: tasks COPY into staging tables of their own, the driver moves the rows.

Staging tables are unlogged: they need no write-ahead log because a lost one is only a batch to be run again. A crash
of the server empties them, so the rows are counted before they are moved.
"""

from __future__ import annotations

import hashlib
import re
import uuid
from collections.abc import Iterator, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import psycopg

from tidelog.spark.databases.options import (
    DELETE,
    EVENT,
    OFFSET,
    ORIGIN,
    PARTITION,
    TOPIC,
    DatabaseSinkOptions,
    Mode,
    table_columns,
)
from tidelog.spark.databases.postgresql_tables import PostgresqlTables
from tidelog.spark.databases.progress import PipelineBatch, ProgressVerdict
from tidelog.spark.databases.store import Column, DatabaseProblem, SpanCounter, StagedRows, StoredState
from tidelog.spark.databases.tables import MESSAGE_LOG, quoted, quoted_list
from tidelog.spark.sink.crash_points import crash_point

if TYPE_CHECKING:
    import pyarrow as pa

Connection = psycopg.Connection[tuple[Any, ...]]

CONNECT_TIMEOUT_SECONDS = 10
# A commit whose answer got lost is looked up and, if it did not happen, repeated.
APPLY_ATTEMPTS = 3
# A driver that hangs in the middle of its transaction, or whose machine is gone, is thrown out by the server; one that
# is at work is waited for.
IDLE_TRANSACTION_MS = 60_000
LOCK_TIMEOUT_MS = 600_000
_LEFTOVER_LOCK_TIMEOUT_MS = 200
# All rows of a batch, while it is written.
_BATCH_ROWS = "tidelog_batch_rows"
_ROWS = f"pg_temp.{_BATCH_ROWS}"
_STAGING_PREFIX = "tidelog_staging"

_BESIDE = {TOPIC: "text", PARTITION: "integer", OFFSET: "bigint", EVENT: "text", DELETE: "boolean"}


class PostgresqlDatabase:
    def __init__(self, options: DatabaseSinkOptions) -> None:
        self._options = options
        self._tables = PostgresqlTables(options)
        digest = hashlib.sha256(options.pipeline.encode()).hexdigest()[:8]
        self._staging_prefix = f"{_STAGING_PREFIX}_{digest}"

    # -- at the start of a pipeline ------------------------------------------------------------------------------

    def prepare(self, columns: Sequence[Column], *, evolve: bool = False) -> None:
        with self._connect() as connection:
            self._lock(connection)
            self._tables.prepare(connection, columns, evolve=evolve)
        self._drop_leftovers(up_to=None)

    def stored_state(self) -> StoredState:
        with self._connect() as connection:
            return self._tables.read_state(connection)

    # -- in tasks ------------------------------------------------------------------------------------------------

    def stage(self, batches: Iterator[pa.RecordBatch], names: Sequence[str], batch: int) -> StagedRows:
        name = f"{self._staging_prefix}_{batch}_{uuid.uuid4().hex[:16]}"
        counter = SpanCounter()
        fields = [f"NULL::{_BESIDE[one]} AS {quoted(one)}" if one in _BESIDE else quoted(one) for one in names]
        staging = self._tables.own(name)
        with self._connect() as connection, connection.cursor() as cursor:
            cursor.execute(
                f"CREATE UNLOGGED TABLE {staging} AS SELECT {', '.join(fields)} FROM {self._tables.users} WITH NO DATA"
            )
            with cursor.copy(f"COPY {staging} FROM STDIN (FORMAT csv)") as copy:
                for rows in counter.watch(batches):
                    copy.write(_csv(rows))
        return StagedRows(location=name, rows=counter.rows, spans=counter.spans, digest=counter.digest)

    # -- in the driver -------------------------------------------------------------------------------------------

    def apply(self, staged: Sequence[StagedRows], names: Sequence[str], coming: PipelineBatch) -> ProgressVerdict:
        for attempt in range(1, APPLY_ATTEMPTS + 1):
            try:
                verdict = self._apply_once(staged, names, coming)
                break
            except (psycopg.OperationalError, psycopg.errors.IdleInTransactionSessionTimeout):
                # The connection broke. Whether the commit happened is decided by reading the batch number again.
                if attempt == APPLY_ATTEMPTS:
                    raise
        self._drop_leftovers(up_to=coming.batch)
        return verdict

    def discard(self, staged: Sequence[StagedRows]) -> None:
        with suppress(psycopg.Error), self._connect() as connection:
            self._drop(connection, staged)

    def _drop(self, connection: Connection, staged: Sequence[StagedRows]) -> None:
        for part in staged:
            connection.execute(f"DROP TABLE IF EXISTS {self._tables.own(part.location)}")

    def _apply_once(self, staged: Sequence[StagedRows], names: Sequence[str], coming: PipelineBatch) -> ProgressVerdict:
        with self._connect() as connection:
            self._lock(connection)
            verdict = self._tables.write(connection, staged, coming, lambda: self._move(connection, staged, names))
            self._drop(connection, staged)
            crash_point("database-before-commit", coming.batch)
        crash_point("database-after-commit", coming.batch)
        return verdict

    def _move(self, connection: Connection, staged: Sequence[StagedRows], names: Sequence[str]) -> None:
        self._check_counts(connection, staged)
        columns = table_columns(tuple(names), self._options.keys)
        staging = [self._tables.own(part.location) for part in staged if part.rows]
        if not staging:
            return
        insert = f"INSERT INTO {self._tables.users} ({quoted_list(columns)}) SELECT {quoted_list(columns)} FROM"
        if self._options.mode is Mode.APPEND and EVENT not in names:
            for source in staging:
                connection.execute(f"{insert} {source}")
            return
        everything = " UNION ALL ".join(f"SELECT * FROM {source}" for source in staging)
        connection.execute(f"CREATE TEMPORARY TABLE {_BATCH_ROWS} ON COMMIT DROP AS {everything}")
        if EVENT in names:
            self._drop_known_events(connection)
        if self._options.mode is Mode.UPSERT:
            self._upsert(connection, columns, deletes=DELETE in names)
        else:
            connection.execute(f"{insert} {_ROWS} ORDER BY {quoted_list(ORIGIN)}")

    def _check_counts(self, connection: Connection, staged: Sequence[StagedRows]) -> None:
        for part in staged:
            row = connection.execute(f"SELECT count(*) FROM {self._tables.own(part.location)}").fetchone()
            found = row and row[0]
            if found != part.rows:
                raise DatabaseProblem(
                    f"staging table {part.location} holds {found} rows instead of {part.rows}: the server was "
                    "restarted in between. Nothing was written; start the pipeline again and the batch is repeated"
                )

    def _drop_known_events(self, connection: Connection) -> None:
        """Each event id once: not if the log has it, and only its first row of this batch. Rows without id stay."""
        log, event, consumer = self._tables.own(MESSAGE_LOG), quoted(EVENT), (self._options.pipeline,)
        connection.execute(
            f"DELETE FROM {_ROWS} AS one"
            f" WHERE EXISTS (SELECT 1 FROM {log} WHERE consumer = %s AND event_id = one.{event})",
            consumer,
        )
        connection.execute(
            f"DELETE FROM {_ROWS} WHERE ctid IN (SELECT ctid FROM (SELECT ctid, row_number() OVER (PARTITION BY"
            f" {event} ORDER BY {quoted_list(ORIGIN)}) AS number FROM {_ROWS} WHERE {event} IS NOT NULL) AS numbered"
            " WHERE number > 1)"
        )
        connection.execute(
            f"INSERT INTO {log} (consumer, event_id) SELECT %s, {event} FROM {_ROWS} WHERE {event} IS NOT NULL",
            consumer,
        )

    def _upsert(self, connection: Connection, columns: tuple[str, ...], *, deletes: bool) -> None:
        """Of several rows with the same key the last one of the topic counts.

        The user's table has another name in the statements: its own may be `last` or `excluded`.
        """
        table, delete = self._tables.users, quoted(DELETE)
        keys, listed = quoted_list(self._options.keys), quoted_list(columns)
        order = ", ".join(f"{quoted(one)} DESC" for one in (OFFSET, PARTITION))
        last = f"(SELECT DISTINCT ON ({keys}) * FROM {_ROWS} ORDER BY {keys}, {order}) AS last"
        if deletes:
            same_key = " AND ".join(f"present.{quoted(key)} = last.{quoted(key)}" for key in self._options.keys)
            connection.execute(f"DELETE FROM {table} AS present USING {last} WHERE last.{delete} AND {same_key}")
        changes = [f"{quoted(one)} = EXCLUDED.{quoted(one)}" for one in columns if one not in self._options.keys]
        action = f"UPDATE SET {', '.join(changes)}" if changes else "NOTHING"
        connection.execute(
            f"INSERT INTO {table} AS present ({listed}) SELECT {listed} FROM {last}"
            f" WHERE {delete if deletes else 'false'} IS NOT TRUE ON CONFLICT ({keys}) DO {action}"
        )

    # -- connections and names -----------------------------------------------------------------------------------

    def _connect(self) -> Connection:
        try:
            return psycopg.connect(
                self._options.url.location,
                application_name=f"tidelog {self._options.pipeline}"[:63],
                connect_timeout=CONNECT_TIMEOUT_SECONDS,
            )
        except psycopg.OperationalError as error:
            raise DatabaseProblem(f"cannot connect to PostgreSQL: {' '.join(str(error).split())}") from error

    def _lock(self, connection: Connection) -> None:
        """One writer for each pipeline until the transaction ends: a driver that is thought dead may not be."""
        connection.execute(f"SET LOCAL idle_in_transaction_session_timeout = {IDLE_TRANSACTION_MS}")
        connection.execute(f"SET LOCAL lock_timeout = {LOCK_TIMEOUT_MS}")
        key = f"tidelog {self._options.pipeline}"
        try:
            connection.execute("SELECT pg_advisory_xact_lock(hashtextextended(%s, 0))", (key,))
        except psycopg.errors.LockNotAvailable as error:
            raise DatabaseProblem(
                f"another driver of pipeline {self._options.pipeline!r} has been writing for "
                f"{LOCK_TIMEOUT_MS // 1000} s. Stop it, or wait until its batch is complete"
            ) from error

    def _drop_leftovers(self, *, up_to: int | None) -> None:
        """Tables of attempts that lost or died. A zombie may be writing to one: then it stays for the next time."""
        with suppress(psycopg.Error), self._connect() as connection:
            connection.autocommit = True
            schema = "%s" if self._tables.schema else "ANY (current_schemas(false))"
            found = connection.execute(
                f"SELECT tablename FROM pg_tables WHERE starts_with(tablename, %s) AND schemaname = {schema}",
                (f"{self._staging_prefix}_", *self._tables.schema),
            ).fetchall()
            connection.execute(f"SET lock_timeout = {_LEFTOVER_LOCK_TIMEOUT_MS}")
            for (name,) in found:
                number = re.fullmatch(rf"{self._staging_prefix}_(\d+)_\w+", name)
                if number and (up_to is None or int(number[1]) <= up_to):
                    connection.execute(f"DROP TABLE IF EXISTS {self._tables.own(name)}")


def _csv(batch: pa.RecordBatch) -> bytes:
    """Rows as COPY takes them. Strings are quoted and nulls are not, so that an empty string is not a null."""
    import pyarrow as pa
    import pyarrow.csv

    columns = [
        pa.array([None if value is None else f"\\x{value.hex()}" for value in column.to_pylist()], pa.string())
        if pa.types.is_binary(column.type) or pa.types.is_large_binary(column.type)
        else column
        for column in batch.columns
    ]
    out = pa.BufferOutputStream()
    rows = pa.RecordBatch.from_arrays(columns, names=batch.schema.names)
    pyarrow.csv.write_csv(rows, out, pyarrow.csv.WriteOptions(include_header=False))
    data: bytes = out.getvalue().to_pybytes()
    return data

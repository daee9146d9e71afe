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
from typing import TYPE_CHECKING

import psycopg
from psycopg import sql

from tidelog.spark.databases.options import (
    DELETE,
    EVENT,
    OFFSET,
    PARTITION,
    TOPIC,
    DatabaseSinkOptions,
    Mode,
    table_columns,
)
from tidelog.spark.databases.postgresql_tables import Connection, PostgresqlTables, one_value
from tidelog.spark.databases.progress import PipelineBatch, ProgressVerdict, check_spans, decide
from tidelog.spark.databases.store import Column, DatabaseProblem, SpanCounter, StagedRows, StoredState, all_spans
from tidelog.spark.sink.crash_points import crash_point

if TYPE_CHECKING:
    import pyarrow as pa

CONNECT_TIMEOUT_SECONDS = 10
# A commit whose answer got lost is looked up and, if it did not happen, repeated.
APPLY_ATTEMPTS = 3
# A driver that hangs in the middle of its transaction, or whose machine is gone, is thrown out by the server; one that
# is at work is waited for.
IDLE_TRANSACTION_MS = 60_000
LOCK_TIMEOUT_MS = 600_000
_LEFTOVER_LOCK_TIMEOUT_MS = 200
_BATCH_ROWS = "tidelog_batch_rows"
_STAGING_PREFIX = "tidelog_staging"

_BESIDE_TYPES = {TOPIC: "text", PARTITION: "integer", OFFSET: "bigint", EVENT: "text", DELETE: "boolean"}


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
        fields = sql.SQL(", ").join(
            sql.SQL("NULL::{} AS {}").format(sql.SQL(_BESIDE_TYPES[one]), sql.Identifier(one))
            if one in _BESIDE_TYPES
            else sql.Identifier(one)
            for one in names
        )
        staging = self._tables.own_name(name)
        create = sql.SQL("CREATE UNLOGGED TABLE {} AS SELECT {} FROM {} WITH NO DATA")
        with self._connect() as connection, connection.cursor() as cursor:
            cursor.execute(create.format(staging, fields, self._tables.users))
            with cursor.copy(sql.SQL("COPY {} FROM STDIN (FORMAT csv)").format(staging)) as copy:
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
            for part in staged:
                connection.execute(sql.SQL("DROP TABLE IF EXISTS {}").format(self._tables.own_name(part.location)))

    def _apply_once(self, staged: Sequence[StagedRows], names: Sequence[str], coming: PipelineBatch) -> ProgressVerdict:
        with self._connect() as connection:
            self._lock(connection)
            state = self._tables.read_state(connection)
            verdict = decide(state.progress, coming)
            if verdict is ProgressVerdict.APPLY:
                spans = all_spans(staged)
                check_spans(coming.pipeline, spans, state.next_offsets)
                self._check_counts(connection, staged)
                crash_point("database-before-rows", coming.batch)
                self._move(connection, staged, tuple(names))
                crash_point("database-after-rows", coming.batch)
                self._tables.note(connection, coming)
                for span in spans:
                    self._tables.note_offset(connection, coming.pipeline, span.topic, span.partition, span.last + 1)
            for part in staged:
                connection.execute(sql.SQL("DROP TABLE IF EXISTS {}").format(self._tables.own_name(part.location)))
            crash_point("database-before-commit", coming.batch)
        crash_point("database-after-commit", coming.batch)
        return verdict

    def _check_counts(self, connection: Connection, staged: Sequence[StagedRows]) -> None:
        for part in staged:
            count = sql.SQL("SELECT count(*) FROM {}").format(self._tables.own_name(part.location))
            found = one_value(connection.execute(count))
            if found != part.rows:
                raise DatabaseProblem(
                    f"staging table {part.location} holds {found} rows instead of {part.rows}: the server was "
                    "restarted in between. Nothing was written; start the pipeline again and the batch is repeated"
                )

    def _move(self, connection: Connection, staged: Sequence[StagedRows], names: tuple[str, ...]) -> None:
        columns = table_columns(names, self._options.keys)
        listed = sql.SQL(", ").join(map(sql.Identifier, columns))
        staging = [self._tables.own_name(part.location) for part in staged if part.rows]
        if not staging:
            return
        if self._options.mode is Mode.APPEND and EVENT not in names:
            for source in staging:
                insert = sql.SQL("INSERT INTO {} ({}) SELECT {} FROM {}")
                connection.execute(insert.format(self._tables.users, listed, listed, source))
            return
        everything = sql.SQL(" UNION ALL ").join(sql.SQL("SELECT * FROM {}").format(one) for one in staging)
        create = sql.SQL("CREATE TEMPORARY TABLE {} ON COMMIT DROP AS {}")
        rows = sql.Identifier("pg_temp", _BATCH_ROWS)
        connection.execute(create.format(sql.Identifier(_BATCH_ROWS), everything))
        if EVENT in names:
            self._drop_known_events(connection, rows)
        if self._options.mode is Mode.UPSERT:
            self._upsert(connection, rows, columns, deletes=DELETE in names)
        else:
            order = sql.SQL(", ").join(map(sql.Identifier, (TOPIC, PARTITION, OFFSET)))
            insert = sql.SQL("INSERT INTO {} ({}) SELECT {} FROM {} ORDER BY {}")
            connection.execute(insert.format(self._tables.users, listed, listed, rows, order))

    def _drop_known_events(self, connection: Connection, rows: sql.Composable) -> None:
        """Each event id once: not if the log has it, and only its first row of this batch. Rows without id stay."""
        names = {
            "rows": rows,
            "log": self._tables.own_name("tidelog_message_log"),
            "event": sql.Identifier(EVENT),
            "order": sql.SQL(", ").join(map(sql.Identifier, (TOPIC, PARTITION, OFFSET))),
        }
        values = {"consumer": self._options.pipeline}
        connection.execute(
            sql.SQL(
                "DELETE FROM {rows} AS one WHERE EXISTS (SELECT 1 FROM {log} WHERE consumer = %(consumer)s"
                " AND event_id = one.{event})"
            ).format(**names),
            values,
        )
        connection.execute(
            sql.SQL(
                "DELETE FROM {rows} WHERE ctid IN (SELECT ctid FROM (SELECT ctid, row_number() OVER (PARTITION BY"
                " {event} ORDER BY {order}) AS number FROM {rows} WHERE {event} IS NOT NULL) AS numbered"
                " WHERE number > 1)"
            ).format(**names)
        )
        connection.execute(
            sql.SQL(
                "INSERT INTO {log} (consumer, event_id) SELECT %(consumer)s, {event} FROM {rows}"
                " WHERE {event} IS NOT NULL"
            ).format(**names),
            values,
        )

    def _upsert(self, connection: Connection, rows: sql.Composable, columns: tuple[str, ...], *, deletes: bool) -> None:
        """Of several rows with the same key the last one of the topic counts."""
        keys = sql.SQL(", ").join(map(sql.Identifier, self._options.keys))
        others = [name for name in columns if name not in self._options.keys]
        action = (
            sql.SQL("UPDATE SET {}").format(
                sql.SQL(", ").join(sql.SQL("{0} = EXCLUDED.{0}").format(sql.Identifier(name)) for name in others)
            )
            if others
            else sql.SQL("NOTHING")
        )
        names = {
            "table": self._tables.users,
            "rows": rows,
            "columns": sql.SQL(", ").join(map(sql.Identifier, columns)),
            "keys": keys,
            "order": sql.SQL(", ").join(sql.SQL("{} DESC").format(sql.Identifier(one)) for one in (OFFSET, PARTITION)),
            "delete": sql.Identifier(DELETE) if deletes else sql.SQL("false"),
            "same_key": sql.SQL(" AND ").join(
                sql.SQL("{0}.{2} = {1}.{2}").format(self._tables.users, sql.Identifier("gone"), sql.Identifier(key))
                for key in self._options.keys
            ),
            "action": action,
        }
        last = "(SELECT DISTINCT ON ({keys}) * FROM {rows} ORDER BY {keys}, {order})"
        if deletes:
            connection.execute(
                sql.SQL(f"DELETE FROM {{table}} USING {last} AS gone WHERE gone.{{delete}} AND {{same_key}}").format(
                    **names
                )
            )
        connection.execute(
            sql.SQL(
                f"INSERT INTO {{table}} ({{columns}}) SELECT {{columns}} FROM {last} AS last"
                " WHERE {delete} IS NOT TRUE ON CONFLICT ({keys}) DO {action}"
            ).format(**names)
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
            schema = (
                sql.Literal(self._tables.schema[0]) if self._tables.schema else sql.SQL("ANY (current_schemas(false))")
            )
            found = connection.execute(
                sql.SQL("SELECT tablename FROM pg_tables WHERE schemaname = {} AND starts_with(tablename, %s)").format(
                    schema
                ),
                (f"{self._staging_prefix}_",),
            ).fetchall()
            connection.execute(f"SET lock_timeout = {_LEFTOVER_LOCK_TIMEOUT_MS}")
            for (name,) in found:
                number = re.fullmatch(rf"{self._staging_prefix}_(\d+)_\w+", name)
                if number and (up_to is None or int(number[1]) <= up_to):
                    connection.execute(sql.SQL("DROP TABLE IF EXISTS {}").format(self._tables.own_name(name)))


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

"""The database sink on SQLite: tasks put rows into files beside the database, the driver inserts them.

SQLite has one writer at a time, so that staging tables would only make tasks wait for each other. A database in a file
is on one machine anyway, and so are the tasks.
"""

from __future__ import annotations

import datetime
import decimal
import hashlib
import re
import sqlite3
import uuid
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from itertools import groupby
from operator import itemgetter
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tidelog.spark.databases.evolution import plan_columns, sqlite_holds
from tidelog.spark.databases.options import DELETE, EVENT, ORIGIN, DatabaseSinkOptions, Mode, split_table, table_columns
from tidelog.spark.databases.progress import PipelineBatch, ProgressVerdict, check_spans, decide
from tidelog.spark.databases.store import (
    IDENTITY_COLUMNS,
    Column,
    DatabaseProblem,
    SpanCounter,
    StagedRows,
    StoredState,
    all_spans,
    noted_values,
    read_progress,
)
from tidelog.spark.sink.crash_points import crash_point

if TYPE_CHECKING:
    import pyarrow as pa

BUSY_TIMEOUT_SECONDS = 30.0

_TYPES = {
    "bigint": "INTEGER",
    "int": "INTEGER",
    "smallint": "INTEGER",
    "tinyint": "INTEGER",
    "boolean": "INTEGER",
    "double": "REAL",
    "float": "REAL",
    "binary": "BLOB",
}

_OWN_TABLES = (
    "CREATE TABLE IF NOT EXISTS tidelog_progress (pipeline TEXT PRIMARY KEY, query_id TEXT NOT NULL, batch INTEGER NOT"
    " NULL, rows INTEGER NOT NULL, written_at TEXT NOT NULL DEFAULT CURRENT_TIMESTAMP)",
    "CREATE TABLE IF NOT EXISTS tidelog_offsets (pipeline TEXT, topic TEXT, partition INTEGER, next_offset INTEGER NOT"
    " NULL, PRIMARY KEY (pipeline, topic, partition))",
    "CREATE TABLE IF NOT EXISTS tidelog_message_log (consumer TEXT, event_id TEXT, received_at TEXT NOT NULL DEFAULT"
    " CURRENT_TIMESTAMP, PRIMARY KEY (consumer, event_id))",
)


class SqliteDatabase:
    def __init__(self, options: DatabaseSinkOptions) -> None:
        self._options = options
        self._path = Path(options.url.location).absolute()
        if len(split_table(options.table)) > 1:
            raise DatabaseProblem(f"{options.table!r}: SQLite has no schemas, so name only the table")
        self._table = _quoted(split_table(options.table)[0])
        digest = hashlib.sha256(options.pipeline.encode()).hexdigest()[:8]
        self._staging = self._path.with_name(f"{self._path.name}-tidelog-{digest}")

    # -- at the start of a pipeline ------------------------------------------------------------------------------

    def prepare(self, columns: Sequence[Column], *, evolve: bool = False) -> None:
        if not self._path.parent.is_dir():
            raise DatabaseProblem(f"the directory of the database does not exist: {self._path.parent}")
        with self._transaction() as connection:
            for statement in _OWN_TABLES:
                connection.execute(statement)
            present = {row[1] for row in connection.execute("PRAGMA table_info(tidelog_progress)")}
            for column in IDENTITY_COLUMNS:
                if column.split()[0] not in present:
                    connection.execute(f"ALTER TABLE tidelog_progress ADD COLUMN {column}")
            fields = [f"{_quoted(column.name)} {sqlite_type(column.type)}" for column in columns]
            if self._options.keys:
                fields.append(f"PRIMARY KEY ({', '.join(map(_quoted, self._options.keys))})")
            connection.execute(f"CREATE TABLE IF NOT EXISTS {self._table} ({', '.join(fields)})")
            self._fit_columns(connection, columns, evolve=evolve)
            self._check_keys(connection)
        self._staging.mkdir(exist_ok=True)
        self._remove_leftovers(up_to=None)

    def stored_state(self) -> StoredState:
        if not self._path.exists():
            return StoredState()
        with self._transaction() as connection:
            known = connection.execute("SELECT 1 FROM sqlite_master WHERE name = 'tidelog_progress'").fetchone()
            return self._read_state(connection) if known else StoredState()

    # -- in tasks ------------------------------------------------------------------------------------------------

    def stage(self, batches: Iterator[pa.RecordBatch], names: Sequence[str], batch: int) -> StagedRows:
        import pyarrow as pa

        del names
        counter = SpanCounter()
        path = self._staging / f"{batch}-{uuid.uuid4().hex[:16]}.arrow"
        writer: pa.RecordBatchFileWriter | None = None
        for rows in counter.watch(batches):
            if writer is None:
                self._staging.mkdir(exist_ok=True)
                writer = pa.ipc.new_file(str(path), rows.schema)
            writer.write_batch(rows)
        if writer is None:
            return StagedRows(location="", rows=0, spans=())
        writer.close()
        return StagedRows(location=str(path), rows=counter.rows, spans=counter.spans, digest=counter.digest)

    # -- in the driver -------------------------------------------------------------------------------------------

    def apply(self, staged: Sequence[StagedRows], names: Sequence[str], coming: PipelineBatch) -> ProgressVerdict:
        # Read before the transaction begins: others wait while it lasts.
        rows = _read_rows(staged)
        with self._transaction() as connection:
            state = self._read_state(connection)
            verdict = decide(state.progress, coming)
            if verdict is ProgressVerdict.APPLY:
                spans = all_spans(staged)
                check_spans(coming.pipeline, spans, state.next_offsets)
                crash_point("database-before-rows", coming.batch)
                if rows is not None:
                    self._insert(connection, rows, tuple(names))
                crash_point("database-after-rows", coming.batch)
                _note(connection, coming)
                connection.executemany(
                    "INSERT INTO tidelog_offsets (pipeline, topic, partition, next_offset) VALUES (?, ?, ?, ?)"
                    " ON CONFLICT (pipeline, topic, partition) DO UPDATE SET next_offset = excluded.next_offset",
                    [(coming.pipeline, span.topic, span.partition, span.last + 1) for span in spans],
                )
            crash_point("database-before-commit", coming.batch)
        crash_point("database-after-commit", coming.batch)
        self._remove_leftovers(up_to=coming.batch)
        return verdict

    def discard(self, staged: Sequence[StagedRows]) -> None:
        for part in staged:
            if part.location:
                Path(part.location).unlink(missing_ok=True)

    def _insert(self, connection: sqlite3.Connection, rows: pa.Table, names: tuple[str, ...]) -> None:
        columns = table_columns(names, self._options.keys)
        values = list(zip(*(_converted(rows, name) for name in columns), strict=True))
        if EVENT in names:
            fresh = self._fresh(connection, rows.column(EVENT).to_pylist())
            values = [row for row, new in zip(values, fresh, strict=True) if new]
            rows = rows.filter(fresh)
        insert = f"INSERT INTO {self._table} ({_list(columns)}) VALUES ({', '.join('?' * len(columns))})"
        if self._options.mode is Mode.APPEND:
            connection.executemany(insert, values)
            return
        keys = self._options.keys
        others = [name for name in columns if name not in keys]
        action = f"UPDATE SET {', '.join(f'{_quoted(one)} = excluded.{_quoted(one)}' for one in others)}"
        insert += f" ON CONFLICT ({_list(keys)}) DO {action if others else 'NOTHING'}"
        remove = f"DELETE FROM {self._table} WHERE {' AND '.join(f'{_quoted(key)} = ?' for key in keys)}"
        indexes = [columns.index(key) for key in keys]
        flags = rows.column(DELETE).to_pylist() if DELETE in names else [False] * len(values)
        # In the order of the topic, so that the last row of a key is the one that stays.
        for deletes, run in groupby(zip(map(bool, flags), values, strict=True), key=itemgetter(0)):
            if deletes:
                connection.executemany(remove, [[row[index] for index in indexes] for _, row in run])
            else:
                connection.executemany(insert, [row for _, row in run])

    def _fresh(self, connection: sqlite3.Connection, events: Sequence[str | None]) -> list[bool]:
        """Which of these events the log did not know; it knows them all afterwards."""
        note = "INSERT OR IGNORE INTO tidelog_message_log (consumer, event_id) VALUES (?, ?)"
        consumer = self._options.pipeline
        return [event is None or connection.execute(note, (consumer, event)).rowcount == 1 for event in events]

    # -- checks, files and connections ---------------------------------------------------------------------------

    def _read_state(self, connection: sqlite3.Connection) -> StoredState:
        pipeline = (self._options.pipeline,)
        # All columns: a table that an earlier version has made has fewer of them.
        cursor = connection.execute("SELECT * FROM tidelog_progress WHERE pipeline = ?", pipeline)
        row = cursor.fetchone()
        names = [column[0] for column in cursor.description]
        offsets = connection.execute(
            "SELECT topic, partition, next_offset FROM tidelog_offsets WHERE pipeline = ?", pipeline
        ).fetchall()
        return StoredState(
            progress=None if row is None else read_progress(dict(zip(names, row, strict=True))),
            next_offsets={(topic, partition): offset for topic, partition, offset in offsets},
        )

    def _fit_columns(self, connection: sqlite3.Connection, columns: Sequence[Column], *, evolve: bool) -> None:
        present = {row[1]: row[2] for row in connection.execute(f"PRAGMA table_info({self._table})")}
        additions = plan_columns(
            self._options.table, present, columns, evolve=evolve, sql_type=sqlite_type, holds=sqlite_holds
        )
        for column in additions:
            connection.execute(f"ALTER TABLE {self._table} ADD COLUMN {_quoted(column.name)} {column.type}")

    def _check_keys(self, connection: sqlite3.Connection) -> None:
        keys = set(self._options.keys)
        if not keys:
            return
        unique = [{row[1] for row in connection.execute(f"PRAGMA table_info({self._table})") if row[5]}]
        for _, name, is_unique, *_ in connection.execute(f"PRAGMA index_list({self._table})").fetchall():
            if is_unique:
                unique.append({row[2] for row in connection.execute(f"PRAGMA index_info({_quoted(name)})")})
        if keys not in unique:
            listed = ", ".join(self._options.keys)
            raise DatabaseProblem(
                f"upsert needs a unique index on ({listed}) of table {self._options.table}, and there is none. "
                f"Create one: CREATE UNIQUE INDEX {self._options.table}_key ON {self._options.table} ({listed})"
            )

    @contextmanager
    def _transaction(self) -> Iterator[sqlite3.Connection]:
        """The lock of the writer is taken at once: what is read is still true when rows are written."""
        try:
            connection = sqlite3.connect(self._path, timeout=BUSY_TIMEOUT_SECONDS, isolation_level=None)
        except sqlite3.OperationalError as error:
            raise DatabaseProblem(f"cannot open {self._path}: {error}") from error
        with closing(connection):
            connection.execute("PRAGMA synchronous = FULL")
            connection.execute("BEGIN IMMEDIATE")
            try:
                yield connection
                connection.execute("COMMIT")
            except BaseException:
                with suppress(sqlite3.Error):
                    connection.execute("ROLLBACK")
                raise

    def _remove_leftovers(self, *, up_to: int | None) -> None:
        for path in self._staging.glob("*.arrow"):
            number = re.fullmatch(r"(\d+)-\w+", path.stem)
            if number and (up_to is None or int(number[1]) <= up_to):
                path.unlink(missing_ok=True)


def sqlite_type(spark_type: str) -> str:
    """The column type for a new table. Decimals, times and JSON are text, which loses nothing."""
    return _TYPES.get(spark_type, "TEXT")


def _read_rows(staged: Sequence[StagedRows]) -> pa.Table | None:
    """All rows of a batch, in the order of the topic."""
    import pyarrow as pa

    tables = []
    for part in staged:
        if part.rows:
            with pa.memory_map(part.location) as source:
                # A copy: the file is removed while the rows may still be referred to.
                tables.append(pa.ipc.open_file(source).read_all())
    if not tables:
        return None
    rows = pa.concat_tables(tables)
    if all(name in rows.schema.names for name in ORIGIN):
        rows = rows.sort_by([(name, "ascending") for name in ORIGIN])
    return rows


def _note(connection: sqlite3.Connection, coming: PipelineBatch) -> None:
    connection.execute(
        "INSERT INTO tidelog_progress (pipeline, query_id, batch, rows, batch_rows, content, reads_start, reads_end,"
        " reads_until, run, starting) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (pipeline)"
        " DO UPDATE SET query_id = excluded.query_id, batch = excluded.batch, rows = rows + excluded.rows,"
        " batch_rows = excluded.batch_rows, content = excluded.content, reads_start = excluded.reads_start,"
        " reads_end = excluded.reads_end, reads_until = excluded.reads_until, run = excluded.run,"
        " starting = excluded.starting, written_at = CURRENT_TIMESTAMP",
        noted_values(coming),
    )


def _converted(rows: pa.Table, name: str) -> list[Any]:
    """Values that SQLite has a type for."""
    values = rows.column(name).to_pylist()
    convert = next((_CONVERSIONS[type(one)] for one in values if type(one) in _CONVERSIONS), None)
    return values if convert is None else [None if one is None else convert(one) for one in values]


def _as_iso(moment: datetime.datetime) -> str:
    return moment.isoformat(sep=" ", timespec="microseconds")


_CONVERSIONS: dict[type, Callable[[Any], Any]] = {
    datetime.datetime: _as_iso,
    datetime.date: datetime.date.isoformat,
    decimal.Decimal: str,
}


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def _list(names: Sequence[str]) -> str:
    return ", ".join(map(_quoted, names))

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

from tidelog.spark.databases.evolution import sqlite_holds
from tidelog.spark.databases.message_log import Connection
from tidelog.spark.databases.options import DELETE, EVENT, ORIGIN, DatabaseSinkOptions, Mode, table_columns
from tidelog.spark.databases.progress import PipelineBatch, ProgressVerdict
from tidelog.spark.databases.store import Column, DatabaseProblem, SpanCounter, StagedRows, StoredState
from tidelog.spark.databases.tables import SinkTables, quoted, quoted_list
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


def _sqlite_type(spark_type: str) -> str:
    """The column type for a new table. Decimals, times and JSON are text, which loses nothing."""
    return _TYPES.get(spark_type, "TEXT")


class SqliteTables(SinkTables):
    mark = "?"
    moment_type = "text"
    add_column = "ADD COLUMN"
    sql_type = staticmethod(_sqlite_type)
    holds = staticmethod(sqlite_holds)

    def column_types(self, connection: Connection, table: str) -> dict[str, str]:
        return {row[1]: row[2] for row in connection.execute(f"PRAGMA table_info({table})")}

    def unique_columns(self, connection: Connection) -> list[set[str]]:
        unique = [{row[1] for row in connection.execute(f"PRAGMA table_info({self.users})") if row[5]}]
        for _, name, is_unique, *_ in connection.execute(f"PRAGMA index_list({self.users})").fetchall():
            if is_unique:
                unique.append({row[2] for row in connection.execute(f"PRAGMA index_info({quoted(name)})")})
        return unique


class SqliteDatabase:
    def __init__(self, options: DatabaseSinkOptions) -> None:
        self._options = options
        self._path = Path(options.url.location).absolute()
        self._tables = SqliteTables(options)
        if self._tables.schema:
            raise DatabaseProblem(f"{options.table!r}: SQLite has no schemas, so name only the table")
        digest = hashlib.sha256(options.pipeline.encode()).hexdigest()[:8]
        self._staging = self._path.with_name(f"{self._path.name}-tidelog-{digest}")

    # -- at the start of a pipeline ------------------------------------------------------------------------------

    def prepare(self, columns: Sequence[Column], *, evolve: bool = False) -> None:
        if not self._path.parent.is_dir():
            raise DatabaseProblem(f"the directory of the database does not exist: {self._path.parent}")
        with self._transaction() as connection:
            self._tables.prepare(connection, columns, evolve=evolve)
        self._staging.mkdir(exist_ok=True)
        self._remove_leftovers(up_to=None)

    def stored_state(self) -> StoredState:
        if not self._path.exists():
            return StoredState()
        with self._transaction() as connection:
            return self._tables.read_state(connection)

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
            verdict = self._tables.write(
                connection, staged, coming, lambda: self._insert(connection, rows, tuple(names))
            )
            crash_point("database-before-commit", coming.batch)
        crash_point("database-after-commit", coming.batch)
        self._remove_leftovers(up_to=coming.batch)
        return verdict

    def discard(self, staged: Sequence[StagedRows]) -> None:
        for part in staged:
            if part.location:
                Path(part.location).unlink(missing_ok=True)

    def _insert(self, connection: sqlite3.Connection, rows: pa.Table | None, names: tuple[str, ...]) -> None:
        if rows is None:
            return
        columns = table_columns(names, self._options.keys)
        values = list(zip(*(_converted(rows, name) for name in columns), strict=True))
        if EVENT in names:
            fresh = self._fresh(connection, rows.column(EVENT).to_pylist())
            values = [row for row, new in zip(values, fresh, strict=True) if new]
            rows = rows.filter(fresh)
        insert = f"INSERT INTO {self._tables.users} ({quoted_list(columns)}) VALUES ({', '.join('?' * len(columns))})"
        if self._options.mode is Mode.APPEND:
            connection.executemany(insert, values)
            return
        keys = self._options.keys
        others = [name for name in columns if name not in keys]
        action = f"UPDATE SET {', '.join(f'{quoted(one)} = excluded.{quoted(one)}' for one in others)}"
        insert += f" ON CONFLICT ({quoted_list(keys)}) DO {action if others else 'NOTHING'}"
        remove = f"DELETE FROM {self._tables.users} WHERE {' AND '.join(f'{quoted(key)} = ?' for key in keys)}"
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

    # -- files and connections -----------------------------------------------------------------------------------

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


def _converted(rows: pa.Table, name: str) -> list[Any]:
    """Values that SQLite has a type for."""
    values = rows.column(name).to_pylist()
    convert = next((_CONVERSIONS[type(one)] for one in values if type(one) in _CONVERSIONS), None)
    return values if convert is None else [None if one is None else convert(one) for one in values]


_CONVERSIONS: dict[type, Callable[[Any], Any]] = {
    datetime.datetime: lambda moment: moment.isoformat(sep=" ", timespec="microseconds"),
    datetime.date: datetime.date.isoformat,
    decimal.Decimal: str,
}

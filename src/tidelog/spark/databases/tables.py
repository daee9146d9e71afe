"""The tables of the database sink: those that remember, and that of the user. In SQL that both databases understand.

Where they differ is in `PostgresqlTables` and `SqliteTables`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, ClassVar

from tidelog.spark.databases.evolution import plan_columns
from tidelog.spark.databases.message_log import CREATE_LOG, Connection
from tidelog.spark.databases.options import DatabaseSinkOptions, split_table
from tidelog.spark.databases.progress import PipelineBatch, Progress, ProgressVerdict, check_spans, decide, merge_spans
from tidelog.spark.databases.store import Column, DatabaseProblem, StagedRows, StoredState
from tidelog.spark.sink.batch_identity import Reads
from tidelog.spark.sink.crash_points import crash_point

PROGRESS = "tidelog_progress"
OFFSETS = "tidelog_offsets"
MESSAGE_LOG = "tidelog_message_log"

# What a batch was. Earlier versions have created tables without these columns.
_IDENTITY_COLUMNS = {
    "batch_rows": "bigint",
    "content": "text",
    "reads_start": "text",
    "reads_end": "text",
    "reads_until": "text",
    "run": "text",
    "starting": "text",
}


class SinkTables(ABC):
    """`users` is the table that rows go to; `own` gives the names of ours, in the same schema. All are quoted."""

    # What stands for a value in a statement.
    mark: ClassVar[str]
    moment_type: ClassVar[str]
    add_column: ClassVar[str]
    # The type of a new column for values of a type of Spark's.
    sql_type: ClassVar[staticmethod[[str], str]]
    # Whether each value of the second type is the same one in a column of the first.
    holds: ClassVar[staticmethod[[str, str], bool]]

    def __init__(self, options: DatabaseSinkOptions) -> None:
        self._options = options
        *self.schema, self._name = split_table(options.table)
        self.users = self.own(self._name)

    def own(self, name: str) -> str:
        return ".".join(map(quoted, (*self.schema, name)))

    @abstractmethod
    def column_types(self, connection: Connection, table: str) -> dict[str, str]:
        """Of each column of a table; empty if there is no such table."""

    @abstractmethod
    def unique_columns(self, connection: Connection) -> list[set[str]]:
        """The columns of each unique index on the user's table."""

    # -- at the start of a pipeline ------------------------------------------------------------------------------

    def prepare(self, connection: Connection, columns: Sequence[Column], *, evolve: bool) -> None:
        """Create what is missing, and check what is there."""
        self._create_own(connection)
        keys = self._options.keys
        fields = [f"{quoted(column.name)} {self.sql_type(column.type)}" for column in columns]
        if keys:
            fields.append(f"PRIMARY KEY ({quoted_list(keys)})")
        connection.execute(f"CREATE TABLE IF NOT EXISTS {self.users} ({', '.join(fields)})")
        present = self.column_types(connection, self.users)
        additions = plan_columns(
            self._options.table, present, columns, evolve=evolve, sql_type=self.sql_type, holds=self.holds
        )
        for name, kind in additions.items():
            connection.execute(f"ALTER TABLE {self.users} {self.add_column} {quoted(name)} {kind}")
        if keys and set(keys) not in self.unique_columns(connection):
            listed, table = ", ".join(keys), self._options.table
            raise DatabaseProblem(
                f"upsert needs a unique index on ({listed}) of table {table}, and there is none. "
                f"Create one: CREATE UNIQUE INDEX {self._name}_key ON {table} ({listed})"
            )

    def _create_own(self, connection: Connection) -> None:
        progress = self.own(PROGRESS)
        connection.execute(
            f"CREATE TABLE IF NOT EXISTS {progress} (pipeline text PRIMARY KEY, query_id text NOT NULL, batch bigint"
            f" NOT NULL, rows bigint NOT NULL, written_at {self.moment_type} NOT NULL DEFAULT CURRENT_TIMESTAMP)"
        )
        present = self.column_types(connection, progress)
        for name, kind in _IDENTITY_COLUMNS.items():
            if name not in present:
                connection.execute(f"ALTER TABLE {progress} {self.add_column} {name} {kind}")
        connection.execute(
            f"CREATE TABLE IF NOT EXISTS {self.own(OFFSETS)} (pipeline text, topic text, partition integer,"
            " next_offset bigint NOT NULL, PRIMARY KEY (pipeline, topic, partition))"
        )
        connection.execute(CREATE_LOG.format(table=self.own(MESSAGE_LOG), moment=self.moment_type))

    # -- in the transaction that writes the rows -----------------------------------------------------------------

    def read_state(self, connection: Connection) -> StoredState:
        if not self.column_types(connection, self.own(PROGRESS)):
            return StoredState()
        pipeline = (self._options.pipeline,)
        # All columns: a table that an earlier version has created has fewer of them.
        cursor = connection.execute(f"SELECT * FROM {self.own(PROGRESS)} WHERE pipeline = {self.mark}", pipeline)
        row = cursor.fetchone()
        names = [column[0] for column in cursor.description]
        offsets = connection.execute(
            f"SELECT topic, partition, next_offset FROM {self.own(OFFSETS)} WHERE pipeline = {self.mark}", pipeline
        )
        return StoredState(
            progress=None if row is None else _read_progress(dict(zip(names, row, strict=True))),
            next_offsets={(topic, partition): offset for topic, partition, offset in offsets.fetchall()},
        )

    def write(
        self, connection: Connection, staged: Iterable[StagedRows], coming: PipelineBatch, insert: Callable[[], None]
    ) -> ProgressVerdict:
        """Let `insert` write the rows and note the batch, unless it is there already."""
        state = self.read_state(connection)
        verdict = decide(state.progress, coming)
        if verdict is ProgressVerdict.APPLY:
            spans = merge_spans(span for part in staged for span in part.spans)
            check_spans(coming.pipeline, spans, state.next_offsets)
            crash_point("database-before-rows", coming.batch)
            insert()
            crash_point("database-after-rows", coming.batch)
            self._note(connection, coming)
            for span in spans:
                connection.execute(
                    f"INSERT INTO {self.own(OFFSETS)} (pipeline, topic, partition, next_offset)"
                    f" VALUES ({self._marks(4)}) ON CONFLICT (pipeline, topic, partition)"
                    " DO UPDATE SET next_offset = excluded.next_offset",
                    (coming.pipeline, span.topic, span.partition, span.last + 1),
                )
        return verdict

    def _note(self, connection: Connection, coming: PipelineBatch) -> None:
        one, reads = coming.identity, coming.identity.reads
        values = {
            "pipeline": coming.pipeline,
            "query_id": coming.query_id,
            "batch": one.batch,
            "rows": one.rows,
            "batch_rows": one.rows,
            "content": one.content,
            "reads_start": reads and reads.start,
            "reads_end": reads and reads.end,
            "reads_until": reads and reads.until,
            "run": one.run,
            "starting": coming.starting,
        }
        changes = [f"{name} = excluded.{name}" for name in values if name not in ("pipeline", "rows")]
        connection.execute(
            f"INSERT INTO {self.own(PROGRESS)} AS known ({', '.join(values)}) VALUES ({self._marks(len(values))})"
            " ON CONFLICT (pipeline) DO UPDATE SET rows = known.rows + excluded.rows, written_at = CURRENT_TIMESTAMP,"
            f" {', '.join(changes)}",
            tuple(values.values()),
        )

    def _marks(self, count: int) -> str:
        return ", ".join([self.mark] * count)


def quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def quoted_list(names: Iterable[str]) -> str:
    return ", ".join(map(quoted, names))


def _read_progress(row: Mapping[str, Any]) -> Progress:
    """From the columns of `tidelog_progress` that are there."""
    start, end = row.get("reads_start"), row.get("reads_end")
    reads = None if start is None or end is None else Reads(start=start, end=end, until=row.get("reads_until") or "")
    return Progress(
        query_id=row["query_id"],
        batch=row["batch"],
        rows=row.get("batch_rows") or 0,
        content=row.get("content"),
        reads=reads,
        run=row.get("run") or "",
        starting=row.get("starting"),
    )

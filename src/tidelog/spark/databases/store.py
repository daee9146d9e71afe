"""What a database must be able to do for the sink, and which one an address leads to."""

from __future__ import annotations

import sqlite3
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol

from tidelog.records.columns import column_digest
from tidelog.records.content_digest import ContentDigest
from tidelog.spark.databases.options import OFFSET, ORIGIN, PARTITION, TOPIC, DatabaseSinkOptions, Engine
from tidelog.spark.databases.progress import PipelineBatch, Progress, ProgressVerdict, Span, merge_spans

if TYPE_CHECKING:
    import pyarrow as pa


class DatabaseProblem(Exception):
    """The database cannot do what is asked of it; the message says why and what to do."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Column:
    """A column of the table, with Spark's type as text (`bigint`, `decimal(10,2)`, `array<string>`)."""

    name: str
    type: str


@dataclass(frozen=True, slots=True, kw_only=True)
class StagedRows:
    """What one task has put aside: where (a table or a file), and what is in it."""

    location: str
    rows: int
    spans: tuple[Span, ...]
    digest: ContentDigest = field(default_factory=ContentDigest)


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredState:
    """What the database knows of a pipeline. `next_offsets` is by (topic, partition)."""

    progress: Progress | None = None
    next_offsets: Mapping[tuple[str, int], int] = field(default_factory=dict)


@contextmanager
def database_errors(what: str) -> Iterator[None]:
    """Tell what a database refuses as a DatabaseProblem, for the moments in which somebody is watching."""
    errors: tuple[type[Exception], ...] = (sqlite3.Error,)
    # Without psycopg nobody can have got an error from it.
    if psycopg := sys.modules.get("psycopg"):
        errors = (*errors, psycopg.Error)
    try:
        yield
    except errors as error:
        raise DatabaseProblem(f"{what}: {' '.join(str(error).split())}") from error


class Database(Protocol):
    """One table of one database, seen by the sink."""

    def prepare(self, columns: Sequence[Column], *, evolve: bool = False) -> None:
        """Make the tables that are missing, check those that are there, remove what earlier runs left behind.

        With `evolve` the table gets the columns that it does not have; they may be null.
        """

    def stored_state(self) -> StoredState: ...

    def stage(self, batches: Iterator[pa.RecordBatch], names: Sequence[str], batch: int) -> StagedRows:
        """In a task: put rows aside where `apply` finds them. Nobody else sees them; a second attempt does no harm."""

    def apply(self, staged: Sequence[StagedRows], names: Sequence[str], coming: PipelineBatch) -> ProgressVerdict:
        """In the driver: move the rows into the table and note the batch, in one transaction."""

    def discard(self, staged: Sequence[StagedRows]) -> None:
        """Remove what was put aside; best effort, leftovers are removed later."""


def open_database(options: DatabaseSinkOptions) -> Database:
    match options.url.engine:
        case Engine.POSTGRESQL:
            try:
                from tidelog.spark.databases.postgresql import PostgresqlDatabase
            except ModuleNotFoundError as error:
                raise DatabaseProblem(
                    f"PostgreSQL needs psycopg, which is not installed ({error}); install it with: pip install "
                    '"tidelog[postgres]"'
                ) from error
            return PostgresqlDatabase(options)
        case Engine.SQLITE:
            from tidelog.spark.databases.sqlite import SqliteDatabase

            return SqliteDatabase(options)


@dataclass(slots=True)
class SpanCounter:
    """Passes batches on and learns which rows are in them, and which offsets of which partitions."""

    rows: int = 0
    digest: ContentDigest = field(default_factory=ContentDigest)
    spans: tuple[Span, ...] = ()

    def watch(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        import pyarrow as pa

        for batch in batches:
            self.rows += batch.num_rows
            self.digest += rows_digest(batch)
            if all(name in batch.schema.names for name in ORIGIN):
                origin = pa.Table.from_batches([batch.select(list(ORIGIN))])
                found = origin.group_by([TOPIC, PARTITION]).aggregate([(OFFSET, "min"), (OFFSET, "max")])
                spans = [
                    Span(row[TOPIC], row[PARTITION], row[f"{OFFSET}_min"], row[f"{OFFSET}_max"])
                    for row in found.to_pylist()
                ]
                self.spans = merge_spans([*self.spans, *spans])
            yield batch


def rows_digest(batch: pa.RecordBatch) -> ContentDigest:
    """Of all columns, whatever their types are: most can be written as text."""
    from tidelog.spark.sink.encode_columns import binary_column

    return column_digest([binary_column(_as_text(column)) for column in batch.columns], batch.num_rows)


def _as_text(column: pa.Array) -> pa.Array:
    import pyarrow as pa

    if pa.types.is_binary(column.type) or pa.types.is_large_binary(column.type):
        return column
    try:
        return column.cast(pa.string())
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
        return pa.array([None if value is None else repr(value) for value in column.to_pylist()], pa.string())

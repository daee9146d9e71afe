"""An outbox, wherever it is: where it ends now, and the rows between two positions.

Positions are dictionaries, as Spark keeps them in its checkpoint. Each one but the first carries a mark (see `marks`).
`postgresql_table` and `sqlite_table` ask the table, `postgresql_log` reads the write-ahead log.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from tidelog.spark.databases.options import DatabaseUrl, Engine
from tidelog.spark.databases.store import DatabaseProblem
from tidelog.spark.outbox.log_changes import OnUpdate

Offset = dict[str, int | str]
Row = Mapping[str, Any]


class PositionLost(DatabaseProblem):
    """The position of the checkpoint does not belong to this database, or cannot be proved to."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LogSettings:
    """For reading the write-ahead log instead of the table."""

    slot: str
    publication: str
    on_update: OnUpdate = OnUpdate.WARN


@dataclass(frozen=True, slots=True, kw_only=True)
class OutboxSettings:
    """`columns` are those that routing wants, `event_id` is one of them.

    `reader` is who reads, for a checkpoint that does not say so yet.
    """

    url: DatabaseUrl
    table: str
    columns: tuple[str, ...]
    route_by: str
    event_id: str = "id"
    delete_relayed: bool = False
    log: LogSettings | None = None
    reader: str = field(default_factory=lambda: str(uuid.uuid4()))


class OutboxTable(Protocol):
    def create(self) -> None:
        """Make the table with Debezium's columns and those that reading needs, if it is not there."""

    def check(self) -> None:
        """Raises DatabaseProblem if the table lacks something, with the statement that adds it."""

    def initial(self) -> Offset: ...

    def target(self) -> int:
        """A bound for `latest`: nothing that comes later than this call lies below it."""

    def latest(self, start: Offset, limit: int | None, target: int | None) -> Offset:
        """How far one batch may read: at most `limit` rows, and nothing behind `target`.

        Raises PositionLost if the database has lost what was read before `start`.
        """

    def routes(self, start: Offset, end: Offset) -> list[Any]:
        """The different values by which the rows of a batch are routed."""

    def rows(self, start: Offset, end: Offset) -> Iterator[Row]:
        """The same rows whenever it is asked, or PositionLost."""

    def relayed(self, end: Offset) -> None:
        """A batch that ends here is committed: rows, or log, that are read no more can go."""


def open_outbox(settings: OutboxSettings) -> OutboxTable:
    # Imported when needed: psycopg is an extra.
    match settings.url.engine:
        case Engine.POSTGRESQL if settings.log is not None:
            from tidelog.spark.outbox.postgresql_log import PostgresqlLog

            return PostgresqlLog(settings, settings.log)
        case Engine.POSTGRESQL:
            from tidelog.spark.outbox.postgresql_table import PostgresqlOutbox

            return PostgresqlOutbox(settings)
        case Engine.SQLITE:
            from tidelog.spark.outbox.sqlite_table import SqliteOutbox

            return SqliteOutbox(settings)


def check_columns(table: str, present: Sequence[str] | Mapping[str, Any], wanted: Sequence[str]) -> None:
    missing = [name for name in wanted if name not in present]
    if missing:
        raise DatabaseProblem(
            f"table {table} has no column {', '.join(missing)}; it has {', '.join(sorted(present))}. Add it, or name "
            "another one with the options of the outbox event router (table.field.event.*, route.by.field)"
        )

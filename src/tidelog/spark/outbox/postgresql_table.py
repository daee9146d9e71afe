"""Polling an outbox table in PostgreSQL: windows of transaction ids below a bound that no crash takes back."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict
from typing import Any

from tidelog.spark.databases.options import split_table
from tidelog.spark.databases.store import DatabaseProblem
from tidelog.spark.outbox.log_positions import is_log_position
from tidelog.spark.outbox.marks import Mark, explain_unproved, mark_from, not_the_owner, remedy
from tidelog.spark.outbox.postgresql_connection import once, patiently
from tidelog.spark.outbox.postgresql_marks import PostgresqlMarks
from tidelog.spark.outbox.tables import Offset, OutboxSettings, PositionLost, Row, check_columns
from tidelog.spark.outbox.windows import (
    START,
    Position,
    Slice,
    end_of,
    open_window,
    position_from,
    slice_between,
)

SEQUENCE = "sequence"
TRANSACTION = "transaction_id"
CURRENT_TRANSACTION = "pg_current_xact_id()"
ROWS_PER_ROUND_TRIP = 5_000

_TABLE = """CREATE TABLE IF NOT EXISTS {table} (
    id uuid PRIMARY KEY DEFAULT gen_random_uuid(),
    aggregatetype varchar(255) NOT NULL,
    aggregateid varchar(255) NOT NULL,
    type varchar(255) NOT NULL,
    payload jsonb,
    transaction_id xid8 NOT NULL DEFAULT pg_current_xact_id(),
    sequence bigint GENERATED ALWAYS AS IDENTITY
)"""
_INDEX = "CREATE INDEX IF NOT EXISTS {index} ON {table} (transaction_id, sequence)"


class PostgresqlOutbox:
    def __init__(self, settings: OutboxSettings) -> None:
        from psycopg import sql

        self._settings = settings
        self._url = settings.url.location
        self._sql = sql
        self._table = sql.Identifier(*split_table(settings.table))
        self._names = {
            "table": self._table,
            "transaction": sql.Identifier(TRANSACTION),
            "sequence": sql.Identifier(SEQUENCE),
        }

    def create(self) -> None:
        index = self._sql.Identifier(f"{split_table(self._settings.table)[-1]}_by_transaction"[:63])
        with once(self._url) as connection:
            connection.execute(self._statement(_TABLE))
            connection.execute(self._statement(_INDEX, index=index))
            self._marks(connection).ensure()

    def check(self) -> None:
        with once(self._url) as connection:
            marks = self._marks(connection)
            columns = marks.columns()
            check_columns(self._settings.table, columns, self._settings.columns)
            self._check_transaction(columns.get(TRANSACTION))
            self._check_sequence(columns.get(SEQUENCE))
            marks.check_table(deletes=self._settings.delete_relayed)
            marks.ensure()
            marks.here()
            self._check_ids(connection)

    def initial(self) -> Offset:
        return asdict(START)

    def target(self) -> int:
        return patiently(self._url, _oldest_running)

    def latest(self, start: Offset, limit: int | None, target: int | None) -> Offset:
        return patiently(self._url, lambda connection: self._latest(connection, start, limit, target))

    def routes(self, start: Offset, end: Offset) -> list[Any]:
        self._proved(end)
        window = slice_between(position_from(start), position_from(end))
        if window is None:
            return []
        condition, values = self._condition(window)
        query = self._statement(
            "SELECT DISTINCT {route_by} FROM {table} WHERE {condition}",
            route_by=self._sql.Identifier(self._settings.route_by),
            condition=condition,
        )
        return patiently(self._url, lambda connection: [row[0] for row in connection.execute(query, values)])

    def rows(self, start: Offset, end: Offset) -> Iterator[Row]:
        self._proved(end)
        window = slice_between(position_from(start), position_from(end))
        if window is None:
            return
        condition, values = self._condition(window)
        query = self._statement(
            "SELECT {columns} FROM {table} WHERE {condition} ORDER BY {sequence}",
            columns=self._sql.SQL(", ").join(map(self._sql.Identifier, self._settings.columns)),
            condition=condition,
        )
        patiently(self._url, lambda connection: self._verify(connection, end))
        with once(self._url) as connection:
            # On this very connection: what is read is of the history that has the mark.
            self._verify(connection, end)
            with connection.cursor(name="tidelog_outbox") as cursor:
                pass_on_json(cursor)
                cursor.itersize = ROWS_PER_ROUND_TRIP
                cursor.execute(query, values)
                for row in cursor:
                    yield dict(zip(self._settings.columns, row, strict=True))

    def relayed(self, end: Offset) -> None:
        if self._settings.delete_relayed:
            patiently(self._url, lambda connection: self._delete(connection, end))

    def _latest(self, connection: Any, start: Offset, limit: int | None, target: int | None) -> Offset:
        mark = self._proved(start)
        position = position_from(start)
        marks = self._marks(connection)
        here = marks.here() if mark is None else marks.verify(mark, remedy(self._settings.table))
        self._check_owner(marks, mark)
        if position.inside_window:
            # Its rows are fixed, and its mark proves them. If somebody deleted the rest, the batch is empty.
            end = self._cut(connection, open_window(position, position.high), limit)
            carried = {} if mark is None else mark.as_dict()
            return {**asdict(end or Position(low=position.high, high=position.high)), **carried}
        if self._cut(connection, open_window(position, _bound(_oldest_running(connection), target)), None) is None:
            # Nothing to read: no id is spent, and nothing written.
            return start
        marks.ensure()
        self._check_ids(connection)
        made, oldest = marks.write(self._settings.reader if mark is None else mark.reader, after=mark, here=here)
        self._take_ownership(marks, mark, made)
        end = self._cut(connection, open_window(position, _bound(oldest, target)), limit)
        if end is None:
            connection.rollback()
            return start
        # The position counts only if the mark is on disk.
        connection.commit()
        return {**asdict(end), **made.as_dict()}

    def _cut(self, connection: Any, window: Slice, limit: int | None) -> Position | None:
        """Where a batch ends that begins with the window; None if the window has no rows."""
        if window.low == window.high:
            return None
        condition, values = self._condition(window)
        last = 0 if limit is None else max(limit, 1) - 1
        numbers = self._numbers(connection, condition, values, last)
        if limit is not None and len(numbers) == 2:
            # Rows with the same number stay together: the next batch begins behind the number.
            return end_of(window, numbers[0])
        return end_of(window, None) if numbers or self._numbers(connection, condition, values, 0) else None

    def _numbers(self, connection: Any, condition: Any, values: dict[str, Any], place: int) -> list[int]:
        """The sequence number of the row at a place of the window, and of the one behind it, where there are any."""
        query = self._statement(
            "SELECT {sequence} FROM {table} WHERE {condition} ORDER BY {sequence} LIMIT 2 OFFSET {place}",
            condition=condition,
            place=self._sql.Literal(place),
        )
        return [int(row[0]) for row in connection.execute(query, values)]

    def _delete(self, connection: Any, end: Offset) -> None:
        mark = self._proved(end)
        if mark is None:
            return
        marks = self._marks(connection)
        marks.verify(mark, remedy(self._settings.table))
        marks.ensure()
        owner = marks.owner(marks.table_source, hold=True)
        if owner is None:
            marks.claim(marks.table_source, mark.reader)
        elif owner != mark.reader:
            raise PositionLost(not_the_owner(self._settings.table))
        statement = self._statement(
            "DELETE FROM {table} WHERE {transaction} < %(low)s::text::xid8"
            " OR ({transaction} < %(high)s::text::xid8 AND {sequence} <= %(after)s)"
        )
        position = position_from(end)
        values = {"low": str(position.low), "high": str(position.high), "after": position.after}
        connection.execute(statement, values)

    def _verify(self, connection: Any, end: Offset) -> None:
        mark = self._proved(end)
        if mark is not None:
            self._marks(connection).verify(mark, remedy(self._settings.table))

    def _proved(self, offset: Offset) -> Mark | None:
        if is_log_position(offset):
            raise PositionLost(
                'the checkpoint was written with mode = "log", whose positions mean nothing for mode = "poll". Use '
                "another checkpoint: every row that is in the table is relayed"
            )
        mark = mark_from(offset)
        if mark is None and position_from(offset) != START:
            raise PositionLost(explain_unproved(self._settings.table))
        return mark

    def _check_owner(self, marks: PostgresqlMarks, mark: Mark | None) -> None:
        """A reader that goes on must still be the one that may delete, if there is one."""
        if mark is not None and marks.owner(marks.table_source) not in (None, mark.reader):
            raise PositionLost(not_the_owner(self._settings.table))

    def _take_ownership(self, marks: PostgresqlMarks, before: Mark | None, made: Mark) -> None:
        """A checkpoint that begins is the one that counts: whoever deleted until now is stopped."""
        if self._settings.delete_relayed:
            marks.claim(marks.table_source, made.reader)
        elif before is None:
            marks.release(marks.table_source)

    def _check_transaction(self, column: tuple[str, bool, str | None] | None) -> None:
        table = self._settings.table
        if column is None or column[0] != "xid8":
            raise DatabaseProblem(
                f"table {table} has no column {TRANSACTION} of type xid8, which shows which rows are complete: ALTER "
                f"TABLE {table} ADD COLUMN {TRANSACTION} xid8 NOT NULL DEFAULT {CURRENT_TRANSACTION}"
            )
        if not column[1] or column[2] != CURRENT_TRANSACTION:
            raise DatabaseProblem(
                f"column {TRANSACTION} of table {table} may hold something other than the id of the transaction that "
                f"writes the row, and such rows would be missed: ALTER TABLE {table} ALTER COLUMN {TRANSACTION} SET "
                f"NOT NULL, ALTER COLUMN {TRANSACTION} SET DEFAULT {CURRENT_TRANSACTION}"
            )

    def _check_sequence(self, column: tuple[str, bool, str | None] | None) -> None:
        table = self._settings.table
        if column is None:
            raise DatabaseProblem(
                f"table {table} has no column {SEQUENCE}, which gives the order of its rows: ALTER TABLE {table} ADD "
                f"COLUMN {SEQUENCE} bigint GENERATED ALWAYS AS IDENTITY"
            )
        if not column[1]:
            raise DatabaseProblem(
                f"column {SEQUENCE} of table {table} can be empty, and such rows would be missed: ALTER TABLE "
                f"{table} ALTER COLUMN {SEQUENCE} SET NOT NULL"
            )

    def _check_ids(self, connection: Any) -> None:
        """Rows that were loaded from a dump of another server may have ids that are not given out here yet."""
        query = self._statement(
            "SELECT {transaction}::text, pg_snapshot_xmax(pg_current_snapshot())::text FROM {table} WHERE {transaction}"
            " >= pg_snapshot_xmax(pg_current_snapshot()) LIMIT 1"
        )
        row = connection.execute(query).fetchone()
        if row is not None:
            table = self._settings.table
            raise DatabaseProblem(
                f"table {table} has a row of transaction {row[0]}, but this server has only given out ids below "
                f"{row[1]}: it was loaded from another one. To relay such rows as new ones: UPDATE {table} SET "
                f"{TRANSACTION} = DEFAULT WHERE {TRANSACTION} >= '{row[1]}'::xid8"
            )

    def _condition(self, window: Slice) -> tuple[Any, dict[str, Any]]:
        text = (
            "{transaction} >= %(low)s::text::xid8 AND {transaction} < %(high)s::text::xid8 AND {sequence} > %(after)s"
        )
        if window.up_to is not None:
            text += " AND {sequence} <= %(up_to)s"
        values = {"low": str(window.low), "high": str(window.high), "after": window.after, "up_to": window.up_to}
        return self._statement(text), values

    def _statement(self, text: str, **parts: Any) -> Any:
        """With the names of the table and of its columns for `{table}`, `{transaction}` and `{sequence}`."""
        return self._sql.SQL(text).format(**self._names, **parts)

    def _marks(self, connection: Any) -> PostgresqlMarks:
        return PostgresqlMarks(connection, self._settings.table)


def _oldest_running(connection: Any) -> int:
    row = connection.execute("SELECT pg_snapshot_xmin(pg_current_snapshot())::text").fetchone()
    return int(row[0])


def _bound(oldest_running: int, target: int | None) -> int:
    return oldest_running if target is None else min(oldest_running, target)


def pass_on_json(context: Any) -> None:
    """Payloads are passed on as they are written, not parsed and written again."""
    from psycopg.types.string import TextLoader

    for kind in ("json", "jsonb"):
        context.adapters.register_loader(kind, TextLoader)

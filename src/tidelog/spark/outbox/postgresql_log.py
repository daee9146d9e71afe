"""An outbox that is read from PostgreSQL's write-ahead log, through a replication slot.

Changes are looked at (`pg_logical_slot_peek_binary_changes`), never taken: a batch can be read as often as it is run.
The slot is moved on when Spark has committed a batch. Only log that is on disk is decoded, so what is read cannot be
taken back by a crash; that it was not taken back by a restore or a fail-over is proved by a mark (see `marks`), which
is written behind what a position covers.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from tidelog.spark.databases.options import split_table
from tidelog.spark.databases.store import DatabaseProblem
from tidelog.spark.outbox.log_changes import ChangeReader, OutboxEvent
from tidelog.spark.outbox.log_positions import (
    IDLE_BYTES,
    Found,
    LogPosition,
    SlotState,
    is_log_position,
    is_new,
    is_within,
    log_position_from,
    remedy,
    slot_problem,
    take,
)
from tidelog.spark.outbox.marks import Mark, mark_from
from tidelog.spark.outbox.pgoutput import Begin, Commit, Field, Missing, Relation
from tidelog.spark.outbox.postgresql_connection import once, patiently
from tidelog.spark.outbox.postgresql_marks import PostgresqlMarks
from tidelog.spark.outbox.postgresql_slot import MOST_CHANGES, PostgresqlSlot
from tidelog.spark.outbox.postgresql_table import PostgresqlOutbox, pass_on_json
from tidelog.spark.outbox.tables import LogSettings, Offset, OutboxSettings, PositionLost, Row, check_columns

MESSAGES_PER_ROUND_TRIP = 1_000
ROWS_LOOKED_AT = 10_000


class PostgresqlLog:
    def __init__(self, settings: OutboxSettings, log: LogSettings) -> None:
        self._settings = settings
        self._log = log
        self._url = settings.url.location
        self._source = f"slot:{log.slot}"
        self._remedy = remedy(log.slot, settings.table)
        # What the last plan has found, so that the log is not decoded once more for it.
        self._planned: tuple[Offset, Offset, list[Any]] | None = None

    def create(self) -> None:
        """The table, the publication, and the slot: in this order, because a slot sees what was there before it."""
        with once(self._url) as connection:
            self._slot(connection).check_level()
            if not self._slot(connection).has_table():
                PostgresqlOutbox(self._settings).create()
        with once(self._url) as connection:
            self._marks(connection).ensure()
            self._slot(connection).create_publication()
        with once(self._url) as connection:
            slot = self._slot(connection)
            if slot.state() is not None:
                return
            slot.create()
            connection.commit()
            try:
                self._refuse_earlier_rows(connection)
            except BaseException:
                connection.rollback()
                slot.drop()
                connection.commit()
                raise

    def check(self) -> None:
        with once(self._url) as connection:
            slot = self._slot(connection)
            slot.check_level()
            marks = self._marks(connection)
            check_columns(self._settings.table, marks.columns(), self._settings.columns)
            marks.ensure()
            marks.here()
            slot.publication()
            if slot.state() is None:
                raise DatabaseProblem(
                    f"there is no replication slot {self._log.slot}: start once with --create-table, or SELECT "
                    f"pg_create_logical_replication_slot('{self._log.slot}', 'pgoutput'). Only events that are "
                    "committed later are relayed"
                )

    def initial(self) -> Offset:
        return patiently(self._url, self._initial)

    def target(self) -> int:
        return patiently(self._url, _inserted)

    def latest(self, start: Offset, limit: int | None, target: int | None) -> Offset:
        end, routes = patiently(self._url, lambda connection: self._latest(connection, start, limit, target))
        self._planned = (start, end, routes)
        return end

    def routes(self, start: Offset, end: Offset) -> list[Any]:
        if self._planned is not None and self._planned[:2] == (start, end):
            return self._planned[2]
        return list(dict.fromkeys(row[self._settings.route_by] for row in self.rows(start, end)))

    def rows(self, start: Offset, end: Offset) -> Iterator[Row]:
        if start == end:
            return
        first, last = self._position(start), self._position(end)
        patiently(self._url, lambda connection: self._verify(connection, first, mark_from(end)))
        with once(self._url) as connection:
            self._verify(connection, first, mark_from(end))
            wanted = False
            load = _ChangeLoader(connection, self._settings.table, self._settings.columns)
            for message in self._changes(connection, _Look(up_to=last.lsn), check=first):
                if isinstance(message, Begin):
                    wanted = is_new(first, message.final_lsn) and is_within(last.lsn, message.final_lsn)
                elif isinstance(message, OutboxEvent) and wanted:
                    yield load.row(message)

    def relayed(self, end: Offset) -> None:
        patiently(self._url, lambda connection: self._move_on(connection, end))

    def _initial(self, connection: Any) -> Offset:
        slot = self._slot(connection)
        state = slot.state()
        start = LogPosition(
            lsn=0 if state is None else state.confirmed, slot=self._log.slot, publication=slot.publication()
        )
        self._check_slot(state, start)
        return asdict(start)

    def _latest(
        self, connection: Any, start: Offset, limit: int | None, target: int | None
    ) -> tuple[Offset, list[Any]]:
        position, mark = self._position(start), mark_from(start)
        here = self._verify(connection, position, mark)
        marks = self._marks(connection)
        self._check_owner(marks, mark)
        written = _inserted(connection)
        end, routes = self._peek(connection, position, limit, target)
        if end is None and written - position.lsn < IDLE_BYTES:
            return start, []
        marks.ensure()
        made, _ = marks.write(
            self._settings.reader if mark is None else mark.reader, after=mark, here=here or marks.here()
        )
        # Behind everything that was looked at; and everything before it is on disk now.
        connection.commit()
        if end is None:
            end, routes = self._peek(connection, position, limit, target)
        if end is None:
            # None of all that is ours: a batch without rows moves the slot on.
            end, routes = written if target is None else min(written, target), []
        if end <= position.lsn:
            return start, []
        found = LogPosition(lsn=end, slot=position.slot, publication=position.publication)
        return {**asdict(found), **made.as_dict()}, routes

    def _peek(
        self, connection: Any, start: LogPosition, limit: int | None, target: int | None
    ) -> tuple[int | None, list[Any]]:
        """Where the next batch ends, and the values by which its events are routed; None if there are no events."""
        changes = limit
        while True:
            look = _Look(changes)
            batch = take(self._transactions(connection, start, target, look), limit)
            if batch or not look.was_cut:
                routes = dict.fromkeys(value for transaction in batch for value in transaction.routes)
                return batch[-1].ends if batch else None, list(routes)
            # The slot gave only what was relayed already, or what is not ours: look further.
            changes = min(4 * look.messages, MOST_CHANGES)

    def _transactions(self, connection: Any, start: LogPosition, target: int | None, look: _Look) -> Iterator[Found]:
        wanted, events = False, 0
        values: dict[Any, None] = {}
        load = _ChangeLoader(connection, self._settings.table, (self._settings.route_by,))
        for message in self._changes(connection, look, check=start):
            if isinstance(message, Begin):
                events, values = 0, {}
                wanted = is_new(start, message.final_lsn) and (target is None or is_within(target, message.final_lsn))
            elif isinstance(message, OutboxEvent) and wanted:
                events += 1
                values[load.row(message)[self._settings.route_by]] = None
            elif isinstance(message, Commit) and wanted and events:
                yield Found(ends=message.end_lsn, events=events, routes=tuple(values))

    def _changes(self, connection: Any, look: _Look, *, check: LogPosition) -> Iterator[Begin | OutboxEvent | Commit]:
        """One look at the slot."""
        slot = self._slot(connection)
        with connection.cursor(name="tidelog_outbox_log") as cursor:
            cursor.itersize = MESSAGES_PER_ROUND_TRIP
            messages = slot.peek(cursor, look.up_to, look.changes)
            # Whoever moved the slot on meanwhile has taken from what this look should have seen.
            self._check_slot(slot.state(), check)
            reader = ChangeReader(self._marks(connection).oid, self._settings.table, self._log.on_update)
            yield from reader.read(look.count(messages))

    def _move_on(self, connection: Any, end: Offset) -> None:
        position, mark = self._position(end), mark_from(end)
        if mark is None:
            return
        marks = self._marks(connection)
        marks.verify(mark, self._remedy)
        marks.ensure()
        if marks.owner(self._source, hold=True) is None:
            marks.claim(self._source, mark.reader)
        self._check_owner(marks, mark)
        connection.commit()
        slot = self._slot(connection)
        state = slot.state()
        if state is not None and not state.lost and state.confirmed < position.lsn:
            slot.advance(position.lsn)

    def _verify(self, connection: Any, start: LogPosition, mark: Mark | None) -> Any:
        """The server has the history of the mark, and the slot gives what comes behind the position."""
        here = None if mark is None else self._marks(connection).verify(mark, self._remedy)
        slot = self._slot(connection)
        self._check_slot(slot.state(), start)
        if slot.publication() != start.publication:
            raise PositionLost(
                f"table {self._settings.table} was taken out of the publication {self._log.publication} and put "
                "back; what was committed in between is not in the log for this pipeline. Relay it with mode = "
                '"poll" if the rows are there, then drop the slot, delete the checkpoint and start with --create-table'
            )
        return here

    def _check_slot(self, state: SlotState | None, start: LogPosition) -> None:
        problem = slot_problem(start, state, self._settings.table)
        if problem is not None:
            raise PositionLost(problem)

    def _check_owner(self, marks: PostgresqlMarks, mark: Mark | None) -> None:
        owner = marks.owner(self._source)
        if owner is not None and (mark is None or owner != mark.reader):
            raise PositionLost(
                f"the replication slot {self._log.slot} is read by another pipeline, or by another checkpoint of this "
                "one, and a slot gives each event to one reader. Name another slot, or continue with that checkpoint. "
                "If it is lost, this one continues where the slot is, and the events of the last batch may come twice: "
                f"{marks.release_statement(self._source)}"
            )

    def _position(self, offset: Offset) -> LogPosition:
        if not is_log_position(offset):
            raise PositionLost(
                'the checkpoint was written with mode = "poll". Take another checkpoint for mode = "log"; the slot '
                "determines which events it begins with"
            )
        position = log_position_from(offset)
        if position.slot != self._log.slot:
            raise PositionLost(
                f"the checkpoint was written for the replication slot {position.slot}, but the setting slot names "
                f"{self._log.slot}, which begins at another position"
            )
        return position

    def _refuse_earlier_rows(self, connection: Any) -> None:
        """Rows that were committed before the slot was made are not in its log."""
        from psycopg import sql

        name = self._settings.event_id
        query = sql.SQL("SELECT {}::text FROM {} LIMIT {}").format(
            sql.Identifier(name), sql.Identifier(*split_table(self._settings.table)), sql.Literal(ROWS_LOOKED_AT)
        )
        present = {row[0] for row in connection.execute(query)}
        if not present:
            return
        start = log_position_from(self._initial(connection))
        load = _ChangeLoader(connection, self._settings.table, (name,))
        for message in self._changes(connection, _Look(), check=start):
            if isinstance(message, OutboxEvent):
                present.discard(str(load.row(message)[name]))
        if present:
            raise DatabaseProblem(
                f"table {self._settings.table} has rows that were committed before there was a replication slot "
                f'({min(present)} is one), and the log has only what comes later. Relay them with mode = "poll" and '
                f"delete them, or, to leave them out, create the slot yourself: SELECT "
                f"pg_create_logical_replication_slot('{self._log.slot}', 'pgoutput')"
            )

    def _slot(self, connection: Any) -> PostgresqlSlot:
        return PostgresqlSlot(connection, self._settings.table, self._log.slot, self._log.publication)

    def _marks(self, connection: Any) -> PostgresqlMarks:
        return PostgresqlMarks(connection, self._settings.table)


@dataclass(slots=True)
class _Look:
    """How far to look: about so many messages, or up to a place in the log. And what came of it."""

    changes: int | None = None
    up_to: int | None = None
    messages: int = 0

    @property
    def was_cut(self) -> bool:
        return self.changes is not None and self.messages >= self.changes

    def count(self, rows: Iterator[tuple[bytes]]) -> Iterator[bytes]:
        for (data,) in rows:
            self.messages += 1
            yield data


class _ChangeLoader:
    """Rows of the log as psycopg gives those of a query: the same types, payloads as they are written."""

    def __init__(self, connection: Any, table: str, names: Sequence[str]) -> None:
        from psycopg.adapt import Transformer

        pass_on_json(connection)
        self._transformer = Transformer(connection)
        self._table = table
        self._names = frozenset(names)
        self._relation: Relation | None = None
        self._loaders: list[tuple[int, str, Any]] = []

    def row(self, event: OutboxEvent) -> Row:
        if event.relation is not self._relation:
            self._learn(event.relation)
        values = event.values
        return {name: self._load(loader, values[place]) for place, name, loader in self._loaders}

    def _learn(self, relation: Relation) -> None:
        from psycopg.pq import Format

        check_columns(f"{self._table} in the log", [column.name for column in relation.columns], sorted(self._names))
        self._loaders = [
            (place, column.name, self._transformer.get_loader(column.type_oid, Format.TEXT))
            for place, column in enumerate(relation.columns)
            if column.name in self._names
        ]
        self._relation = relation

    def _load(self, loader: Any, value: Field) -> Any:
        assert not isinstance(value, Missing), "an insert has all values"
        return None if value is None else loader.load(value)


def _inserted(connection: Any) -> int:
    """Where the next record begins: no commit lies across it."""
    row = connection.execute("SELECT (pg_current_wal_insert_lsn() - '0/0')::bigint").fetchone()
    return int(row[0])

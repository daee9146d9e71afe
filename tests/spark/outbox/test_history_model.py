"""The outbox, PostgreSQL and Spark as a small model: every order of commits, crashes, restores and re-runs.

The decisions are the real ones (`windows`, `marks`); the model is what lies around them. A log of records of which a
part is on disk, ids that are counted on from the highest one in the log, a replica that lags, a backup, and Spark's
three steps: write down what the next batch is, publish it (any number of times), write down that it was published.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from enum import Enum, auto
from typing import Literal, NamedTuple

import pytest

from tidelog.spark.outbox.marks import Mark, Place, StoredMark, why_lost
from tidelog.spark.outbox.windows import START, Position, Slice, end_of, open_window, slice_between
from tidelog.testing.exhaustive import Step, explore

FIRST_ID = 3
READER = "reader"


class Record(NamedTuple):
    """Of the log. `number` is the event of a commit or the token of a mark; a deletion is of what a position covers."""

    kind: Literal["commit", "rollback", "mark", "delete"]
    transaction: int
    number: int
    covered: Position = START


class Stored(NamedTuple):
    """What Spark's checkpoint holds: a position, with the mark that proves it."""

    position: Position
    mark: Mark | None


BEGIN = Stored(START, None)


@dataclass(frozen=True, slots=True)
class World:
    # The server: its log, how much of that is on disk, the next id, and transactions that have inserted an event.
    log: tuple[Record, ...] = ()
    on_disk: int = 0
    next_id: int = FIRST_ID
    running: tuple[tuple[int, int], ...] = ()
    timeline: int = 1
    # Copies: what a replica has replayed (None: there is none), and a backup.
    replica: int | None = 0
    backup: tuple[Record, ...] | None = None
    # Spark's checkpoint, and what the topics hold.
    committed: Stored = BEGIN
    planned: Stored | None = None
    published: tuple[int, ...] | None = None
    relayed: tuple[int, ...] = ()
    # What was used up, so that the model has an end.
    events: int = 0
    tokens: int = 0
    disasters: int = 0
    # History was taken back behind what had been on disk: a replica without it, or a backup.
    taken_back: bool = False
    stopped: bool = False


class Reader(Enum):
    SOUND = auto()
    # What there was before marks: below the oldest running transaction.
    WITHOUT_MARK = auto()
    # The mark is committed, but nobody waits until it is on disk.
    NOT_DURABLE = auto()
    # The bound is the id of the mark's own transaction, whoever still runs.
    OWN_ID = auto()
    # The mark is written and never looked for.
    BLIND = auto()


class OutboxModel:
    """Looks for events that are lost, relayed twice or deleted unread, and where wanted also for

    `strays`: events that were relayed and that the database does not have, though nobody noticed, and
    `needless stops`: a crash alone, which takes back nothing that was on disk, stops nobody.
    """

    def __init__(
        self,
        reader: Reader = Reader.SOUND,
        *,
        events: int = 3,
        tokens: int = 3,
        disasters: int = 2,
        strays: bool = True,
        needless_stops: bool = True,
    ) -> None:
        self.reader = reader
        self.strays = strays
        self.needless_stops = needless_stops
        self.events = events
        self.tokens = tokens
        self.disasters = disasters

    def initial(self) -> Iterable[World]:
        yield World()

    def steps(self, world: World) -> Iterable[Step[World]]:
        yield from self._application(world)
        if world.disasters < self.disasters:
            yield from self._disasters(replace(world, disasters=world.disasters + 1))
        if not world.stopped:
            yield from self._relay(world)

    def problem(self, world: World) -> str | None:
        if len(set(world.relayed)) != len(world.relayed):
            return f"an event was relayed twice: {world.relayed}"
        if self.needless_stops and world.stopped and not world.taken_back:
            return "a crash alone stopped the relay"
        rows, deleted = table_of(world.log)
        unread = sorted(event for _, event in deleted if event not in world.relayed)
        if unread:
            return f"events {unread} were deleted unread"
        if world.stopped or not self._holds(world, world.committed.mark):
            # It has stopped, or does so before it reads or deletes anything more.
            return None
        lost = [row for row in rows if covers(world.committed.position, row) and row[1] not in world.relayed]
        if lost:
            return f"the position lies behind {lost}, which was never relayed"
        known = {event for _, event in (*rows, *deleted)}
        if self.strays and world.published is None and not set(world.relayed) <= known:
            return f"{sorted(set(world.relayed) - known)} was relayed and the database does not have it, unnoticed"
        return None

    def _application(self, world: World) -> Iterable[Step[World]]:
        if world.events < self.events:
            begun = (*world.running, (world.next_id, world.events))
            yield Step(
                f"transaction {world.next_id} inserts event {world.events}",
                replace(world, running=begun, next_id=world.next_id + 1, events=world.events + 1),
            )
        for one in world.running:
            rest = tuple(other for other in world.running if other != one)
            for kind in ("commit", "rollback"):
                record = Record("commit" if kind == "commit" else "rollback", *one)
                yield Step(f"transaction {one[0]}: {kind}", replace(world, running=rest, log=(*world.log, record)))
        if world.on_disk < len(world.log):
            yield Step("the log is written to disk", replace(world, on_disk=len(world.log)))
        if world.replica is not None and world.replica < world.on_disk:
            yield Step("the replica catches up", replace(world, replica=world.on_disk))

    def _disasters(self, world: World) -> Iterable[Step[World]]:
        yield Step("PostgreSQL crashes", started(world, world.log[: world.on_disk]))
        if world.replica is not None:
            promoted = started(world, world.log[: world.replica])
            yield Step(
                "the replica takes over", replace(promoted, timeline=world.timeline + 1, replica=None, taken_back=True)
            )
        if world.backup is None:
            yield Step("a backup is made", replace(world, backup=world.log[: world.on_disk]))
        else:
            yield Step("the backup is restored", replace(started(world, world.backup), replica=None, taken_back=True))

    def _relay(self, world: World) -> Iterable[Step[World]]:
        if world.planned is None:
            for limit in (None, 1):
                yield from self._plan(world, limit)
            if world.committed.mark is not None or world.committed.position != START:
                yield self._delete(world)
            return
        yield self._publish(world, world.planned)
        if world.published is not None:
            yield Step(
                "Spark writes down that the batch is published",
                replace(world, committed=world.planned, planned=None, published=None),
            )

    def _plan(self, world: World, limit: int | None) -> Iterable[Step[World]]:
        what = f"a batch of at most {limit} is planned" if limit else "a batch is planned"
        start, mark = world.committed
        if not self._holds(world, mark):
            yield Step(f"{what}: the mark is absent, a loud stop", replace(world, stopped=True))
            return
        if start.inside_window:
            end = self._cut(world, open_window(start, start.high), limit) or Position(low=start.high, high=start.high)
            yield Step(f"the rest of a window: {what}", replace(world, planned=Stored(end, mark)))
            return
        oldest = min((one for one, _ in world.running), default=world.next_id)
        if self._cut(world, open_window(start, oldest), limit) is None:
            return
        if self.reader is Reader.WITHOUT_MARK:
            end = self._cut(world, open_window(start, oldest), limit) or start
            yield Step(what, replace(world, planned=Stored(end, None)))
            return
        if world.tokens == self.tokens:
            return
        own = world.next_id
        log = (*world.log, Record("mark", own, world.tokens))
        marked = replace(
            world,
            log=log,
            on_disk=world.on_disk if self.reader is Reader.NOT_DURABLE else len(log),
            next_id=own + 1,
            tokens=world.tokens + 1,
        )
        made = Mark(token=str(world.tokens), reader=READER, transaction=own, place=here(world))
        bound = own if self.reader is Reader.OWN_ID else min(oldest, own)
        end = self._cut(marked, open_window(start, bound), limit) or start
        yield Step(what, replace(marked, planned=Stored(end, made)))
        yield Step(f"{what}, and the driver dies before that is written down", marked)

    def _publish(self, world: World, end: Stored) -> Step[World]:
        what = "the batch is published" if world.published is None else "the batch is run again"
        if not self._holds(world, end.mark):
            return Step(f"{what}: the mark is absent, a loud stop", replace(world, stopped=True))
        wanted = slice_between(world.committed.position, end.position)
        rows = () if wanted is None else tuple(event for _, event in select(world, wanted))
        if world.published is None:
            return Step(f"{what}: {rows}", replace(world, published=rows, relayed=(*world.relayed, *rows)))
        if rows != world.published:
            # The sink knows the batch by its digest.
            return Step(f"{what} with other rows: the sink refuses it", replace(world, stopped=True))
        return Step(what, world)

    def _delete(self, world: World) -> Step[World]:
        if not self._holds(world, world.committed.mark):
            return Step("what was relayed is deleted: the mark is absent, a loud stop", replace(world, stopped=True))
        record = Record("delete", world.next_id, 0, world.committed.position)
        if not any(covers(record.covered, row) for row in table_of(world.log)[0]):
            return Step("there is nothing to delete", world)
        return Step(
            "what was relayed is deleted",
            replace(world, log=(*world.log, record), next_id=world.next_id + 1),
        )

    def _cut(self, world: World, window: Slice, limit: int | None) -> Position | None:
        rows = select(world, window)
        if not rows:
            return None
        return end_of(window, rows[limit - 1][1] if limit is not None and len(rows) > limit else None)

    def _holds(self, world: World, mark: Mark | None) -> bool:
        if mark is None or self.reader in (Reader.WITHOUT_MARK, Reader.BLIND):
            return True
        return why_lost(mark, stored(world.log, mark.token), here(world), "outbox") is None


def started(world: World, log: tuple[Record, ...]) -> World:
    """A server that has replayed a log: it counts ids on from the highest one that it has seen."""
    highest = max((record.transaction for record in log), default=FIRST_ID - 1)
    replica = None if world.replica is None else min(world.replica, len(log))
    return replace(world, log=log, on_disk=len(log), next_id=highest + 1, running=(), replica=replica)


def table_of(log: tuple[Record, ...]) -> tuple[list[tuple[int, int]], list[tuple[int, int]]]:
    """The rows that are visible, and those that were deleted, as (transaction, event)."""
    rows: list[tuple[int, int]] = []
    deleted: list[tuple[int, int]] = []
    for record in log:
        if record.kind == "commit":
            rows.append((record.transaction, record.number))
        elif record.kind == "delete":
            deleted += [row for row in rows if covers(record.covered, row)]
            rows = [row for row in rows if not covers(record.covered, row)]
    return rows, deleted


def select(world: World, wanted: Slice) -> list[tuple[int, int]]:
    """Numbers of events are sequence numbers: they are taken when the row is inserted."""
    rows = [
        row
        for row in table_of(world.log)[0]
        if wanted.low <= row[0] < wanted.high
        and row[1] > wanted.after
        and (wanted.up_to is None or row[1] <= wanted.up_to)
    ]
    return sorted(rows, key=lambda row: row[1])


def covers(position: Position, row: tuple[int, int]) -> bool:
    return row[0] < position.low or (row[0] < position.high and row[1] <= position.after)


def stored(log: tuple[Record, ...], token: str) -> StoredMark | None:
    for record in log:
        if record.kind == "mark" and str(record.number) == token:
            return StoredMark(reader=READER, transaction=record.transaction, written_by=record.transaction)
    return None


def here(world: World) -> Place:
    return Place(system="server", timeline=world.timeline, table=1)


@pytest.mark.slow
def test_each_event_is_relayed_once_or_there_is_a_loud_stop_in_every_history() -> None:
    found = explore(OutboxModel(), depth=11)
    assert found.counterexample is None, found
    assert found.states > 100_000


@pytest.mark.parametrize("reader", [Reader.WITHOUT_MARK, Reader.OWN_ID, Reader.BLIND])
def test_the_model_finds_events_that_are_lost(reader: Reader) -> None:
    found = explore(OutboxModel(reader, disasters=1, strays=False, needless_stops=False), depth=12)
    assert found.counterexample is not None, found
    assert "was never relayed" in found.counterexample.problem
    if reader is Reader.WITHOUT_MARK:
        # As it happened: the id of a transaction that the disk knew nothing of came again.
        assert "PostgreSQL crashes" in found.counterexample.story


@pytest.mark.parametrize(
    ("reader", "told"),
    [
        (Reader.WITHOUT_MARK, "the database does not have it, unnoticed"),
        (Reader.NOT_DURABLE, "a crash alone stopped the relay"),
        (Reader.BLIND, "the database does not have it, unnoticed"),
    ],
)
def test_the_model_finds_strays_and_needless_stops(reader: Reader, told: str) -> None:
    wants_stops = reader is Reader.NOT_DURABLE
    found = explore(OutboxModel(reader, disasters=1, strays=not wants_stops, needless_stops=wants_stops), depth=12)
    assert found.counterexample is not None, found
    assert told in found.counterexample.problem

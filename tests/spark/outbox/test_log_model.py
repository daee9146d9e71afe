"""Reading the write-ahead log as a small model: every order of commits, crashes, fail-overs, lost slots and re-runs.

The decisions are the real ones (`log_positions`, `marks`). A place in the log is the number of records before it. The
slot remembers where it is in memory; a crash puts it back to what was saved. A replica that takes over may have a slot
too, as PostgreSQL 17 can keep one there.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from enum import Enum, auto
from typing import Literal, NamedTuple

import pytest

from tidelog.spark.outbox.log_positions import Found, LogPosition, SlotState, is_new, is_within, slot_problem, take
from tidelog.spark.outbox.marks import Mark, Place, StoredMark, why_lost
from tidelog.testing.exhaustive import Step, explore


class Record(NamedTuple):
    kind: Literal["event", "mark"]
    number: int


class Stored(NamedTuple):
    position: LogPosition
    mark: Mark | None


def at(lsn: int) -> LogPosition:
    return LogPosition(lsn=lsn, slot="slot", publication=1)


BEGIN = Stored(at(0), None)


@dataclass(frozen=True, slots=True)
class World:
    log: tuple[Record, ...] = ()
    on_disk: int = 0
    timeline: int = 1
    replica: int | None = 0
    # Where the slot is, and where it is after a crash; None if there is none.
    slot: int | None = 0
    saved: int = 0
    committed: Stored = BEGIN
    planned: Stored | None = None
    published: tuple[int, ...] | None = None
    relayed: tuple[int, ...] = ()
    events: int = 0
    tokens: int = 0
    disasters: int = 0
    taken_back: bool = False
    stopped: bool = False


class Reader(Enum):
    SOUND = auto()
    # Looks at the slot only.
    BLIND = auto()
    # Takes what the slot gives, wherever it begins.
    TRUSTS_THE_SLOT = auto()
    # Relays again what the slot gives again.
    REPEATS = auto()
    # Moves the slot on when a batch is planned.
    HASTY = auto()


class LogModel:
    def __init__(self, reader: Reader = Reader.SOUND, *, events: int = 3, tokens: int = 3, disasters: int = 2) -> None:
        self.reader = reader
        self.events = events
        self.tokens = tokens
        self.disasters = disasters

    def initial(self) -> Iterable[World]:
        yield World()

    def steps(self, world: World) -> Iterable[Step[World]]:
        if world.events < self.events:
            record = Record("event", world.events)
            yield Step(
                f"event {world.events} is committed",
                replace(world, log=(*world.log, record), events=world.events + 1),
            )
        if world.on_disk < len(world.log):
            yield Step("the log is written to disk", replace(world, on_disk=len(world.log)))
        if world.replica is not None and world.replica < world.on_disk:
            yield Step("the replica catches up", replace(world, replica=world.on_disk))
        if world.slot is not None and world.saved != world.slot:
            yield Step("a checkpoint of PostgreSQL saves the slot", replace(world, saved=world.slot))
        if world.disasters < self.disasters:
            yield from self._disasters(replace(world, disasters=world.disasters + 1))
        if not world.stopped:
            yield from self._relay(world)

    def problem(self, world: World) -> str | None:
        if len(set(world.relayed)) != len(world.relayed):
            return f"an event was relayed twice: {world.relayed}"
        if world.stopped:
            return None if world.taken_back else "a crash alone stopped the relay"
        if not self._holds(world, world.committed.mark):
            return None
        behind = {record.number for record in world.log[: world.committed.position.lsn] if record.kind == "event"}
        lost = sorted(behind - set(world.relayed))
        if lost:
            return f"the position lies behind {lost}, which was never relayed"
        return None

    def _disasters(self, world: World) -> Iterable[Step[World]]:
        after = replace(world, log=world.log[: world.on_disk])
        yield Step("PostgreSQL crashes", replace(after, slot=None if world.slot is None else world.saved))
        if world.replica is not None:
            promoted = world.log[: world.replica]
            failed_over = replace(
                world,
                log=promoted,
                on_disk=len(promoted),
                timeline=world.timeline + 1,
                replica=None,
                taken_back=True,
                slot=None if world.slot is None else min(world.saved, len(promoted)),
            )
            yield Step("the replica takes over, with a slot", failed_over)
        if world.slot is not None:
            yield Step("the slot is dropped", replace(world, slot=None, taken_back=True))
        else:
            made = replace(world, slot=world.on_disk, saved=world.on_disk)
            yield Step("the slot is made again", made)

    def _relay(self, world: World) -> Iterable[Step[World]]:
        if world.planned is None:
            yield from self._plan(world)
            if world.committed.mark is not None:
                yield self._move_on(world, world.committed)
            return
        yield self._publish(world, world.planned)
        if world.published is not None:
            done = replace(world, committed=world.planned, planned=None, published=None)
            yield Step("Spark writes down that the batch is published", done)

    def _plan(self, world: World) -> Iterable[Step[World]]:
        start, mark = world.committed
        what = "a batch is planned"
        if self._refuses(world, start, mark):
            yield Step(f"{what}: a loud stop", replace(world, stopped=True))
            return
        if world.tokens == self.tokens:
            return
        for limit in (None, 1):
            batch = take(self._found(world, start, world.on_disk), limit)
            if not batch:
                return
            marked_log = (*world.log, Record("mark", world.tokens))
            made = Mark(token=str(world.tokens), reader="reader", transaction=world.tokens, place=here(world))
            marked = replace(world, log=marked_log, on_disk=len(marked_log), tokens=world.tokens + 1)
            planned = replace(marked, planned=Stored(at(batch[-1].ends), made))
            if self.reader is Reader.HASTY:
                planned = replace(planned, slot=batch[-1].ends)
            yield Step(what if limit is None else f"{what}, of one transaction", planned)
            yield Step(f"{what}, and the driver dies before that is written down", marked)

    def _publish(self, world: World, end: Stored) -> Step[World]:
        start = world.committed.position
        what = "the batch is published" if world.published is None else "the batch is run again"
        if self._refuses(world, start, end.mark):
            return Step(f"{what}: a loud stop", replace(world, stopped=True))
        rows = tuple(
            record.number
            for place, record in enumerate(world.log)
            if record.kind == "event"
            and place >= (world.slot or 0)
            and (self.reader is Reader.REPEATS or is_new(start, place))
            and is_within(end.position.lsn, place)
        )
        if world.published is None:
            return Step(f"{what}: {rows}", replace(world, published=rows, relayed=(*world.relayed, *rows)))
        if rows != world.published:
            return Step(f"{what} with other rows: the sink refuses it", replace(world, stopped=True))
        return Step(what, world)

    def _move_on(self, world: World, end: Stored) -> Step[World]:
        if not self._holds(world, end.mark):
            return Step("the slot is to be moved on: a loud stop", replace(world, stopped=True))
        if world.slot is None or world.slot >= end.position.lsn:
            return Step("the slot is there already", world)
        return Step("the slot is moved on", replace(world, slot=end.position.lsn))

    def _found(self, world: World, start: LogPosition, on_disk: int) -> Iterable[Found]:
        """Only what is on disk is decoded, from where the slot is."""
        for place in range(world.slot or 0, on_disk):
            if world.log[place].kind == "event" and (self.reader is Reader.REPEATS or is_new(start, place)):
                yield Found(ends=place + 1, events=1)

    def _refuses(self, world: World, start: LogPosition, mark: Mark | None) -> bool:
        state = None if world.slot is None else SlotState(confirmed=world.slot)
        if self.reader is Reader.TRUSTS_THE_SLOT and state is not None:
            state = SlotState(confirmed=min(state.confirmed, start.lsn))
        return not self._holds(world, mark) or slot_problem(start, state, "outbox") is not None

    def _holds(self, world: World, mark: Mark | None) -> bool:
        if mark is None or self.reader is Reader.BLIND:
            return True
        found = any(record.kind == "mark" and str(record.number) == mark.token for record in world.log)
        number = mark.transaction
        stored = StoredMark(reader="reader", transaction=number, written_by=number) if found else None
        return why_lost(mark, stored, here(world), "outbox") is None


def here(world: World) -> Place:
    return Place(system="server", timeline=world.timeline, table=1)


@pytest.mark.slow
def test_each_event_of_the_log_is_relayed_once_or_there_is_a_loud_stop() -> None:
    found = explore(LogModel(), depth=15)
    assert found.counterexample is None, found
    assert found.states > 50_000


@pytest.mark.parametrize(
    ("reader", "told"),
    [
        (Reader.BLIND, "was never relayed"),
        (Reader.TRUSTS_THE_SLOT, "was never relayed"),
        (Reader.REPEATS, "relayed twice"),
        (Reader.HASTY, "a crash alone stopped the relay"),
    ],
)
def test_the_model_finds_what_it_is_for(reader: Reader, told: str) -> None:
    found = explore(LogModel(reader), depth=13)
    assert found.counterexample is not None, found
    assert told in found.counterexample.problem, found

"""A model of the sink: drivers that publish micro-batches in transactions, with a note. Pure.

Two drivers at once, each of which may stand still for as long as it likes, crash, or learn that its commit failed
when it did not. The checkpoint is copied, restored, and loses files at any time. The decisions are those of
`tidelog.spark.sink.note`; `SinkModel` takes others, so that a test can plant a mistake and see it found.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple

from support.spark_models.spark_model import (
    BEGIN,
    DONE,
    READY,
    Checkpoint,
    Driver,
    Output,
    Position,
    SparkModel,
    new_checkpoint,
    no_output,
    restarted,
    rows_between,
    with_driver,
    written,
)

from tidelog.spark.sink.batch_identity import BEGINNING, BatchIdentity, Reads
from tidelog.spark.sink.note import BatchDecision, Note, Publish, Skip, decide, note_of, overtaken

# InitProducerId is done: earlier drivers are fenced.
FENCED_OTHERS = "fenced others"
# The rows and the note are sent, in a transaction that is open.
OPEN = "open"

Decide = Callable[[BatchIdentity, Note | None], BatchDecision]


class SinkState(NamedTuple):
    """`note` is what is committed. Which driver has the newest epoch is noted with the drivers: `is_newest`."""

    checkpoint: Checkpoint
    copy: Checkpoint | None
    drivers: tuple[Driver | None, Driver | None]
    note: Note | None
    output: Output
    starts: int
    disasters: int


@lru_cache(maxsize=100_000)
def identity_between(
    batch: int, start: Position, end: Position, content: int, run: int, *, rows: int, reads_known: bool
) -> BatchIdentity:
    reads = Reads(start=BEGINNING if start == BEGIN and batch == 0 else str(start), end=str(end))
    return BatchIdentity(
        batch=batch, rows=rows, content=str(content), reads=reads if reads_known else None, run=str(run)
    )


@lru_cache(maxsize=100_000)
def _right_decision(identity: BatchIdentity, note: Note | None) -> BatchDecision:
    return decide(identity, note, group="g")


@dataclass(eq=False, kw_only=True)
class SinkModel(SparkModel[SinkState]):
    """The protocol as it is; each argument leaves a part of it out, or lets the world be worse.

    `contents` is how many different results a query may give for the same input: with 1, different input gives the same
    rows, and with 2 the same input different ones.
    """

    decide: Decide = _right_decision
    contents: int = 2
    reads_known: bool = True
    reads_when_planned: bool = True
    fences_before_reading: bool = True
    looks_at_checkpoint: bool = True

    def initial(self) -> Iterator[SinkState]:
        checkpoint = new_checkpoint(self.bounds)
        yield SinkState(checkpoint, None, (None, None), None, no_output(self.bounds), 0, 0)

    def _started(self, state: SinkState, run: int) -> tuple[str, Driver] | None:
        driver = restarted(state.checkpoint, run)
        return driver and (f"driver {run} starts, and begins with micro-batch {driver.batch}", driver)

    def _sink_steps(self, state: SinkState, slot: int, driver: Driver) -> Iterator[tuple[str, SinkState]]:
        match driver.phase:
            case phase if phase == READY:
                yield from self._begin(state, slot, driver)
            case phase if phase == FENCED_OTHERS:
                note = state.note if self.fences_before_reading else driver.seen
                assert note is None or isinstance(note, Note)
                yield self._concluded(state, slot, driver, note)
            case phase if phase == OPEN:
                yield from self._end_transaction(state, slot, driver)

    def _begin(self, state: SinkState, slot: int, driver: Driver) -> Iterator[tuple[str, SinkState]]:
        if self.looks_at_checkpoint:
            checkpoint = state.checkpoint
            if overtaken(driver.batch, begun=checkpoint.begun, committed=checkpoint.committed) is not None:
                yield "sees that another one has gone further, and stops", with_driver(state, slot, None)
                return
        if not self.fences_before_reading and driver.seen is None:
            # Wrapped, because there may be none.
            yield "reads the note", with_driver(state, slot, driver._replace(seen=state.note or Note(batch=-1)))
            return
        fencing = driver._replace(phase=FENCED_OTHERS, is_newest=True)
        if driver.seen == Note(batch=-1):
            fencing = fencing._replace(seen=None)
        first, second = (one and one._replace(is_newest=False) for one in state.drivers)
        yield "fences all others", with_driver(state._replace(drivers=(first, second)), slot, fencing)

    def _concluded(self, state: SinkState, slot: int, driver: Driver, note: Note | None) -> tuple[str, SinkState]:
        decision = self.decide(self._identity(state, driver), note)
        seen = "no note" if note is None else f"the note of micro-batch {note.batch}"
        if isinstance(decision, Publish):
            return f"sees {seen}, and sends its rows", with_driver(state, slot, driver._replace(phase=OPEN, seen=None))
        if isinstance(decision, Skip):
            return f"sees {seen}, and skips its rows", with_driver(
                state, slot, driver._replace(phase=DONE, is_newest=False, seen=None)
            )
        return f"sees {seen}, and stops with an error", with_driver(state, slot, None)

    def _end_transaction(self, state: SinkState, slot: int, driver: Driver) -> Iterator[tuple[str, SinkState]]:
        again = driver._replace(phase=READY, is_newest=False)
        if not driver.is_newest:
            yield "learns that it is fenced, and stops", with_driver(state, slot, None)
            return
        yield "has its commit lost on the way", with_driver(state, slot, again)
        note = note_of(self._identity(state, driver), tasks=1)
        output = written(state.output, driver.start, driver.end, self.bounds)
        committed = state._replace(note=note, output=output)
        yield "commits", with_driver(committed, slot, driver._replace(phase=DONE, is_newest=False))
        yield "commits, and does not get the answer", with_driver(committed, slot, again)

    def _identity(self, state: SinkState, driver: Driver) -> BatchIdentity:
        start, end = driver.start, driver.end
        if not self.reads_when_planned:
            # What the files say by now.
            offsets = state.checkpoint.offsets
            end = offsets[driver.batch] or end
            start = (offsets[driver.batch - 1] or start) if driver.batch else start
        return identity_between(
            driver.batch,
            start,
            end,
            driver.content,
            driver.run,
            rows=len(rows_between(driver.start, driver.end, self.bounds)),
            reads_known=self.reads_known,
        )

"""The driver of the sink that a script drives: `publish` as it is, with brokers and a checkpoint that are in memory.

The stream is a, b, c, ...: a micro-batch reads the next rows of it. The script says where the driver dies.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, replace
from typing import Any

import pytest
from support.transcripts import Scripted

from tidelog.client.errors import FencedError, OutcomeUnknown
from tidelog.client.offsets.committed import OffsetAndMetadata
from tidelog.spark.sink import publish as publish_module
from tidelog.spark.sink.batch_identity import BEGINNING, BatchIdentity, Reads
from tidelog.spark.sink.errors import PublishFenced, SinkError
from tidelog.spark.sink.note import Note, overtaken, read_note
from tidelog.spark.sink.options import sink_options
from tidelog.spark.sink.plan import BatchEntry, TaskOutput
from tidelog.spark.sink.publish import Publication, publish
from tidelog.spark.sink.staging import StagingFolder
from tidelog.spark.sink.states import SINK_BATCH, BatchState, BatchStep

STREAM = "abcdefghijklmnopqrstuvwxyz"
BEFORE_COMMIT_LOG = "before-commit-log"


class _Died(BaseException):
    """The driver is gone: nothing of it runs any more, and no broker is told."""


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """As Spark keeps it: where each micro-batch that has begun ends in the stream, and how many are finished."""

    ends: tuple[int, ...] = ()
    finished: int = 0

    def start_of(self, batch: int) -> int:
        return self.ends[batch - 1] if batch else 0


@dataclass(slots=True)
class Brokers:
    """One transactional id, the rows that readers see, and the note that is committed with them."""

    epoch: int = 0
    # The rows of the open transaction, and its note.
    open: tuple[str, OffsetAndMetadata | None] | None = None
    rows: str = ""
    note: OffsetAndMetadata | None = None


class ScriptedSink(Scripted):
    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        super().__init__()
        self.brokers = Brokers()
        self.loses_answer = False
        self._checkpoint = Checkpoint()
        self._copy = Checkpoint()
        self._starts = 1
        self._dies_at = ""
        monkeypatch.setattr(publish_module, "_FIRST_PAUSE_SECONDS", 0.0)
        monkeypatch.setattr(publish_module, "SINK_BATCH", self)
        monkeypatch.setattr(publish_module, "Producer", lambda **_: _Producer(self))
        monkeypatch.setattr(publish_module, "ensure_note_topic", _nothing)
        monkeypatch.setattr(publish_module, "fetch_note", self._fetch_note)
        monkeypatch.setattr(publish_module, "crash_point", self._crash_point)

    # --- Commands

    def do_batch(self, rows: str) -> None:
        """Spark plans a micro-batch of so many rows; its tasks run, and the driver publishes it."""
        self._plan(int(rows))
        self._publish()

    def do_batch_that_dies(self, rows: str, point: str) -> None:
        self._dies_at = point
        self._plan(int(rows))
        self._publish()

    def do_batch_whose_commit_gets_no_answer(self, rows: str) -> None:
        self.loses_answer = True
        self.do_batch(rows)

    def do_restart(self) -> None:
        """Another driver starts with the checkpoint, and runs the micro-batch again that is not finished."""
        self._starts += 1
        checkpoint = self._checkpoint
        self.lines.append(f"driver {self._starts} starts")
        if checkpoint.finished < len(checkpoint.ends):
            self._publish()

    def do_copy_checkpoint(self) -> None:
        self._copy = self._checkpoint

    def do_restore_checkpoint(self) -> None:
        self._checkpoint = self._copy

    def do_show(self) -> None:
        note = "none" if self.brokers.note is None else self.brokers.note.offset
        finished, begun = self._checkpoint.finished, len(self._checkpoint.ends)
        self.lines.append(f"readers see {self.brokers.rows}, note {note}, checkpoint {finished} of {begun} finished")

    # --- Spark

    def _plan(self, rows: int) -> None:
        ends = self._checkpoint.ends
        end = (ends[-1] if ends else 0) + rows
        self._checkpoint = replace(self._checkpoint, ends=(*ends, end))

    def _publish(self) -> None:
        batch = self._checkpoint.finished
        start, end = self._checkpoint.start_of(batch), self._checkpoint.ends[batch]
        self.lines.append(f"micro-batch {batch} of driver {self._starts}: {STREAM[start:end]}")
        try:
            asyncio.run(publish(_publication(self._checkpoint, batch, run=str(self._starts))))
            self._crash_point(BEFORE_COMMIT_LOG, batch)
        except _Died:
            self.lines.append(f"  the driver dies {self._dies_at}")
            self._dies_at = ""
        except SinkError as error:
            # Its text is for users, and has tests of its own.
            self.lines.append(f"  the query ends with {type(error).__name__}")
        else:
            self._checkpoint = replace(self._checkpoint, finished=batch + 1)
            self.lines.append("  Spark notes that it is finished")

    def _crash_point(self, name: str, batch: int) -> None:
        if name == self._dies_at:
            raise _Died

    async def _fetch_note(self, *_: object) -> Note | None:
        found = self.brokers.note
        self.lines.append("  reads " + ("no note" if found is None else f"the note of micro-batch {found.offset}"))
        return None if found is None else read_note(found.offset, found.metadata)

    # --- The table of states, through which `publish` goes here

    def after(self, before: BatchState, step: BatchStep) -> BatchState:
        following = SINK_BATCH.after(before, step)
        self.lines.append(f"  {following.value}: {step.value}")
        return following


class _Producer:
    def __init__(self, world: ScriptedSink) -> None:
        self.cluster = None
        self._world = world
        self._epoch = -1

    async def __aenter__(self) -> _Producer:
        return self

    async def __aexit__(self, *_: object) -> None:
        pass

    async def init_transactions(self) -> None:
        brokers = self._world.brokers
        if brokers.open is not None:
            self._world.lines.append(f"  brokers abort the open transaction with {brokers.open[0] or 'nothing'}")
        brokers.open = None
        brokers.epoch += 1
        self._epoch = brokers.epoch

    async def begin_transaction(self) -> None:
        self._world.brokers.open = ("", None)

    async def publish(self, topic: str, partition: int, batch: memoryview, *, in_place: bool) -> None:
        rows, note = self._open()
        self._world.brokers.open = (rows + bytes(batch).decode(), note)

    async def send_offsets(self, offsets: dict[object, OffsetAndMetadata], group: str) -> None:
        (note,) = offsets.values()
        self._world.brokers.open = (self._open()[0], note)

    async def flush(self) -> None:
        pass

    async def commit_transaction(self) -> None:
        brokers = self._world.brokers
        rows, brokers.note = self._open()
        brokers.rows += rows
        brokers.open = None
        if self._world.loses_answer:
            self._world.loses_answer = False
            raise OutcomeUnknown("the answer did not come")

    def _open(self) -> tuple[str, OffsetAndMetadata | None]:
        brokers = self._world.brokers
        if brokers.epoch != self._epoch or brokers.open is None:
            raise FencedError("another driver has come")
        return brokers.open


@dataclass(frozen=True, slots=True, kw_only=True)
class _Publication(Publication):
    known: BatchIdentity
    checkpoint: Checkpoint

    def identity(self) -> BatchIdentity:
        return self.known

    def refuse_if_overtaken(self) -> None:
        begun, finished = len(self.checkpoint.ends) - 1, self.checkpoint.finished - 1
        refusal = overtaken(self.batch, begun=begun, committed=None if finished < 0 else finished)
        if refusal is not None:
            raise PublishFenced(refusal.problem)


def _publication(checkpoint: Checkpoint, batch: int, *, run: str) -> Publication:
    start, end = checkpoint.start_of(batch), checkpoint.ends[batch]
    rows = STREAM[start:end]
    begins = BEGINNING if batch == 0 else str(start)
    known = BatchIdentity(
        batch=batch,
        rows=len(rows),
        content=rows,
        reads=Reads(start=begins, end=str(end), until=f"offset {end}"),
        run=run,
    )
    output = TaskOutput(
        # Only asked for the identity, which is known.
        written=_unused(),
        entries=tuple(BatchEntry("t", 0, position, 1, 1) for position in range(len(rows))),
        content=rows.encode(),
        folder=StagingFolder(parent="/nowhere", name="unused", exclusive=True),
    )
    return _Publication(
        options=sink_options({"kafka.bootstrap.servers": "nowhere:9092", "topic": "t"}),
        name="sink-of-the-query",
        batch=batch,
        outputs=(output,),
        known=known,
        checkpoint=checkpoint,
    )


def _unused() -> Any:
    return None


async def _nothing(*_: object) -> None:
    pass

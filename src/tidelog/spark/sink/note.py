"""What a micro-batch leaves behind in its transaction, and what the next one concludes from it. Pure.

The note is an offset that the sink's own consumer group commits: the number of the micro-batch, and beside it what
the micro-batch is (`tidelog.spark.sink.batch_identity`). It is part of the transaction that holds the rows, so that it
is there exactly if the rows are. Nobody ever joins the group.

A micro-batch is skipped only if it is known to be the one of the note, and published only if it is known to be the
next one. Everything else stops the query. Every order of crashes, restores and second drivers is gone through in
`tests/support/spark_models/sink_model.py`, with the decisions that are here.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

from tidelog.spark.sink.batch_identity import BatchIdentity, Reads

NOTE_PARTITION = 0
# With atomicity=prepared the division names the fence of the decision (`tidelog.spark.sink.prepared.decision`).
PREPARED = "prepared "
# Kafka refuses longer metadata unless offset.metadata.max.bytes is raised.
MAX_METADATA = 4096
# What of the offsets is written down for people; JSON may need twelve characters for one.
_MAX_UNTIL = 280


@dataclass(frozen=True, slots=True, kw_only=True)
class Note(BatchIdentity):
    """This micro-batch is in the topics, with its rows in `tasks` tasks.

    `division` is a digest of the rows of each task (atomicity=task).
    """

    rows: int = 0
    content: str | None = None
    tasks: int = 0
    division: str = ""

    @property
    def atomicity(self) -> str:
        if self.division.startswith(PREPARED):
            return PREPARED.strip()
        return "task" if self.division else "batch"

    def metadata(self) -> str:
        """What is committed beside the offset, for people and for checks."""
        noted: dict[str, Any] = {"tasks": self.tasks, "rows": self.rows, "content": self.content}
        if self.reads is not None:
            noted |= {"start": self.reads.start, "end": self.reads.end, "until": self.reads.until[:_MAX_UNTIL]}
        if self.division:
            noted["division"] = self.division
        if self.run:
            noted["run"] = self.run
        text = json.dumps(noted, separators=(",", ":"))
        assert len(text) <= MAX_METADATA
        return text


def note_of(identity: BatchIdentity, *, tasks: int, division: str = "") -> Note:
    return Note(
        batch=identity.batch,
        tasks=tasks,
        rows=identity.rows,
        content=identity.content,
        reads=identity.reads,
        division=division,
        run=identity.run,
        is_job=identity.is_job,
    )


def read_note(offset: int, metadata: str) -> Note:
    """A note from what was committed. What cannot be read is not known, which is no reason to publish or to skip."""
    try:
        noted = json.loads(metadata)
        content, reads = noted.get("content"), None
        if "start" in noted and "end" in noted:
            reads = Reads(start=str(noted["start"]), end=str(noted["end"]), until=str(noted.get("until", "")))
        return Note(
            batch=offset,
            tasks=int(noted["tasks"]),
            rows=int(noted["rows"]),
            content=None if content is None else str(content),
            reads=reads,
            division=str(noted.get("division", "")),
            run=str(noted.get("run", "")),
        )
    except (ValueError, KeyError, TypeError, AttributeError):
        return Note(batch=offset)


@dataclass(frozen=True, slots=True, kw_only=True)
class Publish:
    """The rows are not in the topics: publish them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Skip:
    """The rows are in the topics already; the driver died before Spark took note of it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Refuse:
    """Publishing could write rows twice, and skipping could lose some."""

    problem: str


BatchDecision = Publish | Skip | Refuse


def decide(
    identity: BatchIdentity,
    note: Note | None,
    *,
    group: str,
    atomicity: str = "batch",
    publish_without_note: bool = False,
    skip_changed: bool = False,
) -> BatchDecision:
    """What to do with a micro-batch, `note` being that of the last one that was committed.

    It must have been read *after* InitProducerId: before, the transaction of an earlier driver may still be under way.
    The two overrides are what a user says: that an unknown micro-batch is not in the topics, and that one which is
    there just does not give the same rows each time. Neither helps where both readings are known to differ.
    """
    batch = identity.batch
    if note is None:
        if batch == 0 or publish_without_note:
            return Publish()
        return Refuse(
            problem=f"micro-batch {batch} is to be published, but group {group!r} has no note of an earlier one, so "
            "nobody can tell whether it is already in the topics. Kafka forgets the offsets of groups without members "
            "after offsets.retention.minutes (7 days by default); or the query has been pointed at another "
            "cluster, or another transactionalIdPrefix. If you know that this micro-batch is not in the topics, "
            "start the query once with the option missingMarker=publish"
        )
    if note.batch == batch:
        if note.atomicity != atomicity:
            return _other_atomicity(note)
        return _decide_same_number(identity, note, skip_changed=skip_changed)
    if note.batch > batch:
        return Refuse(
            problem=f"micro-batch {batch} is to be published, but group {group!r} says that {note.batch} is already in "
            f"the topics: {_OLD_CHECKPOINT}"
        )
    if publish_without_note:
        return Publish()
    return _decide_next_number(identity, note, group)


_OLD_CHECKPOINT = (
    "the checkpoint is older than what was written. It was restored from a copy, or its newest files were lost. "
    "Continuing would lose rows or write them twice. Restore the newest checkpoint; or start with a new one, which has "
    "a new id and counts from 0, and set startingOffsets to where it begins"
)
_NAME_CHECKPOINT = (
    "Name the checkpoint in the option checkpointLocation, in a way that the driver's Python can read (a path, s3://, "
    "hdfs://, gs://)"
)
_IF_NEWEST_CHECKPOINT = (
    "If this is the checkpoint with which the query ran last, and not an older copy, start the query once with the "
    "option changedBatch=skip, which keeps what is in the topics"
)
_IF_YOU_KNOW = (
    "If you know that nothing is missing before this micro-batch, and that it is not in the topics, start the query "
    "once with the option missingMarker=publish"
)


def _other_atomicity(note: Note) -> Refuse:
    """Transactions of its tasks may be left, which only the mode that has written them knows to complete."""
    return Refuse(
        problem=f"micro-batch {note.batch} was being published with atomicity={note.atomicity} when the query "
        f"ended, and some of its transactions may still have to be completed. Start the query once with "
        f"atomicity={note.atomicity}, and change it after this micro-batch"
    )


def _decide_same_number(identity: BatchIdentity, note: Note, *, skip_changed: bool) -> BatchDecision:
    batch = identity.batch
    if note.reads is not None and identity.reads is not None and note.reads != identity.reads:
        return Refuse(
            problem=f"micro-batch {batch} is already in the topics, but with other input: it was read up to "
            f"{note.reads.until or note.reads.end}, and now it goes up to {identity.reads.until}: {_OLD_CHECKPOINT}"
        )
    if skip_changed:
        return Skip()
    if note.content is None:
        return Refuse(
            problem=f"micro-batch {batch} is already in the topics, but its note was written by an earlier version "
            f"of tidelog, which did not store what a micro-batch reads: nobody can tell whether it is this one. "
            f"{_IF_NEWEST_CHECKPOINT}"
        )
    same_content = note.content == identity.content and note.rows == identity.rows
    if not identity.is_job and (note.reads is None or identity.reads is None):
        # The same driver, which tries again, has the same rows in its hands.
        if same_content and identity.run and note.run == identity.run:
            return Skip()
        return Refuse(
            problem=f"micro-batch {batch} is already in the topics, but nobody can tell whether it is this one: the "
            f"offsets that it reads could not be read from the checkpoint. {_NAME_CHECKPOINT}. {_IF_NEWEST_CHECKPOINT}"
        )
    if same_content:
        return Skip()
    what = "job" if identity.is_job else f"micro-batch {batch}"
    return Refuse(
        problem=f"{what} is already in the topics, with {note.rows} rows (digest {note.content}); now the same "
        f"input gives {identity.rows} rows (digest {identity.content}): the query does not give the same rows for the "
        "same input, for example because it uses the time, a random number or a table that changes. Start it once with "
        "the option changedBatch=skip, which keeps what is in the topics"
    )


def _decide_next_number(identity: BatchIdentity, note: Note, group: str) -> BatchDecision:
    """The note is that of an earlier micro-batch: this one must go on where it ended."""
    batch = identity.batch
    if note.batch != batch - 1:
        return Refuse(
            problem=f"micro-batch {batch} is to be published, but the last one in the topics is {note.batch}, as "
            f"group {group!r} says: those between were not written by this sink, or their note was lost. "
            f"{_IF_YOU_KNOW}"
        )
    if note.reads is None:
        return Publish()
    if identity.reads is None:
        return Refuse(
            problem=f"micro-batch {batch} is to be published, and group {group!r} has stored where the one before it "
            "ended, but the offsets at which this one begins could not be read from the checkpoint. "
            f"{_NAME_CHECKPOINT}. {_IF_YOU_KNOW}"
        )
    if note.reads.end != identity.reads.start:
        return Refuse(
            problem=f"micro-batch {batch} does not begin where the last one in the topics ended, which was at "
            f"{note.reads.until or note.reads.end}: the checkpoint is not the one with which they were written, or "
            f"its files were changed. {_IF_YOU_KNOW}"
        )
    return Publish()


def overtaken(batch: int, *, begun: int | None, committed: int | None) -> Refuse | None:
    """Whether another driver goes on with the checkpoint, whose offset log and commit log end with these.

    Of a driver that has only been restarted, the micro-batch is the newest one, and not committed.
    """
    if begun is None or (committed or 0) > begun:
        # Nothing is known, or the newest offsets were lost.
        return None
    if begun <= batch and (committed is None or committed < batch):
        return None
    beyond = f"micro-batch {begun} has begun" if begun > batch else "it is committed"
    return Refuse(
        problem=f"this driver is about to write micro-batch {batch}, but in the checkpoint {beyond}: another driver "
        "runs the same query, and has continued while this one was stopped. This one stops; the other "
        "one continues"
    )


def decide_tasks(
    planned: Note | None,
    current: Note,
    *,
    any_committed: bool,
    group: str,
    publish_without_note: bool = False,
) -> Publish | Refuse:
    """What to do with a micro-batch whose tasks have a transaction each (atomicity=task).

    `planned` is the note that was written before the first of its transactions was committed, or that of an earlier
    micro-batch; `current` is how it is divided into tasks now. Whether a transaction of it is visible is
    `any_committed`: then only the same division of the same input into the same rows can be completed.
    """
    batch = current.batch
    if planned is None or planned.batch != batch:
        decision = decide(current, planned, group=group, publish_without_note=publish_without_note)
        if isinstance(decision, Publish) and any_committed:
            return Refuse(
                problem=f"tasks of micro-batch {batch} are already in the topics, but group {group!r} does not know "
                "how the micro-batch was divided: its note was lost. Nobody can tell which rows are missing"
            )
        assert not isinstance(decision, Skip)
        return decision
    if planned.content is not None and planned.atomicity != "task":
        return _other_atomicity(planned)
    if not any_committed:
        # Nothing of the micro-batch is visible: it may read more by now, but must begin at the same place.
        begins = None if current.reads is None else current.reads.start
        if planned.reads is not None and planned.reads.start != begins:
            return Refuse(
                problem=f"micro-batch {batch} began at another offset when it was planned before: {_OLD_CHECKPOINT}"
            )
        return Publish()
    if planned.reads is not None and current.reads is not None and planned.reads != current.reads:
        return Refuse(
            problem=f"tasks of micro-batch {batch} are already in the topics, but with other input: it was read up to "
            f"{planned.reads.until or planned.reads.end}, and now it goes up to {current.reads.until}: "
            f"{_OLD_CHECKPOINT}"
        )
    if planned.content is None or (not current.is_job and (planned.reads is None or current.reads is None)):
        return Refuse(
            problem=f"tasks of micro-batch {batch} are already in the topics, but nobody can tell whether they are of "
            "this one: the offsets that it reads were not stored by an earlier version of tidelog, or could not be "
            "read from the checkpoint, which the option checkpointLocation must name"
        )
    if _divided(planned) != _divided(current):
        return Refuse(
            problem=f"part of micro-batch {batch} is in the topics: it was divided into {planned.tasks} tasks with "
            f"{planned.rows} rows (digest {planned.division}), and now into {current.tasks} tasks with {current.rows} "
            f"rows (digest {current.division}), so that nobody can tell which rows are missing. With atomicity=task "
            "the same input must be divided the same way after a restart: the same number of cores, no shuffle and no "
            "adaptive execution before the sink. Start with the earlier settings, or use atomicity=batch"
        )
    return Publish()


def _divided(note: Note) -> tuple[int, int, str | None, str]:
    return note.tasks, note.rows, note.content, note.division

"""What a micro-batch leaves behind in its transaction, and what the next one concludes from it. Pure.

The marker is an offset that the sink's own consumer group commits: the number of the micro-batch. It is part of the
transaction that holds the rows, so that it is there exactly if the rows are. Nobody ever joins the group.
"""

from __future__ import annotations

import json
from dataclasses import dataclass

MARKER_PARTITION = 0
# Kafka refuses longer metadata unless offset.metadata.max.bytes is raised.
_MAX_METADATA = 4096


@dataclass(frozen=True, slots=True, kw_only=True)
class Marker:
    """Micro-batch `batch` is in the topics: `rows` rows in `tasks` tasks, whose contents have this digest."""

    batch: int
    tasks: int = 0
    rows: int = 0
    digest: str = ""

    def metadata(self) -> str:
        """What is committed beside the offset, for people and for checks."""
        text = json.dumps({"tasks": self.tasks, "rows": self.rows, "digest": self.digest}, separators=(",", ":"))
        assert len(text) <= _MAX_METADATA
        return text


def read_marker(offset: int, metadata: str) -> Marker:
    """A marker from what was committed. Only the offset decides, so that unreadable metadata does no harm."""
    try:
        noted = json.loads(metadata)
        return Marker(batch=offset, tasks=int(noted["tasks"]), rows=int(noted["rows"]), digest=str(noted["digest"]))
    except (ValueError, KeyError, TypeError):
        return Marker(batch=offset)


@dataclass(frozen=True, slots=True, kw_only=True)
class Publish:
    """The rows are not in the topics: publish them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Skip:
    """The rows are in the topics already; the driver died before Spark took note of it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Refuse:
    """Nobody can tell whether the rows are in the topics."""

    problem: str


Decision = Publish | Skip | Refuse


def decide(
    batch: int,
    rows: int,
    marker: Marker | None,
    *,
    group: str,
    publish_without_marker: bool = False,
    skip_changed: bool = False,
) -> Decision:
    """What to do with micro-batch `batch` of `rows` rows, `marker` being that of the last one that was committed.

    It must have been read *after* InitProducerId: before, the transaction of an earlier driver may still be under way.
    """
    if marker is None:
        if batch == 0 or publish_without_marker:
            return Publish()
        return Refuse(
            problem=f"micro-batch {batch} is to be published, but group {group!r} has no marker of an earlier one, so "
            "nobody can tell whether it is in the topics already. Kafka forgets the offsets of groups without members "
            "after offsets.retention.minutes (7 days unless changed); or the query has been pointed at another "
            "cluster, or another transactionalIdPrefix. If you know that this micro-batch is not in the topics, "
            "start the query once with the option missingMarker=publish"
        )
    if marker.batch == batch:
        if marker.rows == rows or skip_changed:
            return Skip()
        return Refuse(
            problem=f"micro-batch {batch} has {rows} rows, but is in the topics already with {marker.rows}: either the "
            "checkpoint is older than what was written, such as after it was restored from a copy, and rows that "
            "have come since would be lost; or the query does not give the same rows for the same input. If it is "
            "the latter, start the query once with the option changedBatch=skip, which keeps what is in the topics"
        )
    if marker.batch > batch:
        return Refuse(
            problem=f"micro-batch {batch} is to be published, but group {group!r} says that {marker.batch} is in the "
            "topics already: the checkpoint is older than what was written, such as after it was restored from a copy. "
            "Publishing would write rows twice. Restore the newest checkpoint, or start with a new one, which "
            "begins to count anew"
        )
    return Publish()


def decide_tasks(
    planned: Marker | None,
    current: Marker,
    *,
    any_committed: bool,
    group: str,
    publish_without_marker: bool = False,
) -> Publish | Refuse:
    """What to do with a micro-batch whose tasks have a transaction each (atomicity=task).

    `planned` is the marker that was written before the first of its transactions was committed, or that of an earlier
    micro-batch; `current` is how it is divided into tasks now. Whether a transaction of it is visible is
    `any_committed`: then only the same division into the same rows can be completed.
    """
    batch = current.batch
    if planned is None or planned.batch < batch:
        decision = decide(batch, current.rows, planned, group=group, publish_without_marker=publish_without_marker)
        if isinstance(decision, Publish) and any_committed:
            return Refuse(
                problem=f"tasks of micro-batch {batch} are in the topics already, but group {group!r} does not know "
                "how the micro-batch was divided: its marker was lost. Nobody can tell which rows are missing"
            )
        assert not isinstance(decision, Skip)
        return decision
    if planned.batch > batch:
        refusal = decide(batch, current.rows, planned, group=group)
        assert isinstance(refusal, Refuse)
        return refusal
    if any_committed and planned != current:
        return Refuse(
            problem=f"part of micro-batch {batch} is in the topics: it was divided into {planned.tasks} tasks with "
            f"{planned.rows} rows (digest {planned.digest}), and now into {current.tasks} tasks with {current.rows} "
            f"rows (digest {current.digest}), so that nobody can tell which rows are missing. With atomicity=task the "
            "same input has to be divided the same way after a restart: the same number of cores, no shuffle and no "
            "adaptive execution before the sink. Start with the earlier settings, or use atomicity=batch"
        )
    return Publish()

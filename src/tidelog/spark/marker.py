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


def decide(batch: int, marker: Marker | None, *, group: str, publish_without_marker: bool = False) -> Decision:
    """What to do with micro-batch `batch`, `marker` being that of the last one that was committed.

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
        return Skip()
    if marker.batch > batch:
        return Refuse(
            problem=f"micro-batch {batch} is to be published, but group {group!r} says that {marker.batch} is in the "
            "topics already: the checkpoint is older than what was written, such as after it was restored from a copy. "
            "Publishing would write rows twice. Restore the newest checkpoint, or start with a new one, which "
            "begins to count anew"
        )
    return Publish()

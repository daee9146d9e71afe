"""Is this micro-batch at the target already? Decided by the source offsets that are committed there. Pure.

The mirror's group at the target holds the next source offset of each partition, committed in the transactions that hold
the records. It says more than the number of a batch: it outlives the checkpoint.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum

from tidelog.model.ids import TopicPartition


class Verdict(Enum):
    PUBLISH = "publish"
    SKIP = "skip"


class MirrorRefused(Exception):
    """Publishing would lose or repeat records, or nobody can tell; the message says what to do."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Offsets:
    """The first and the last source offset of a partition in a micro-batch."""

    first: int
    last: int


def decide(
    batch: int, spans: Mapping[TopicPartition, Offsets], committed: Mapping[TopicPartition, int], *, group: str
) -> Verdict:
    """`committed` is what the group has, for all partitions; it was read after earlier drivers were fenced."""
    if not spans:
        return Verdict.SKIP
    if not committed and batch > 0:
        raise MirrorRefused(
            f"batch {batch} is to be mirrored, but group {group!r} at the target has no offsets, so nobody can tell "
            "what is there already. Kafka forgets offsets of groups without members after offsets.retention.minutes "
            "(7 days unless changed); or this is another target. If the target is empty, delete the checkpoint to "
            f"begin anew; else commit for group {group!r} the source offsets up to which the target is complete "
            "(tidelog groups --reset-offsets), and delete the checkpoint"
        )
    new = {part for part, span in spans.items() if span.first >= committed.get(part, 0)}
    old = {part for part, span in spans.items() if span.last < committed.get(part, 0)}
    if len(new) == len(spans):
        return Verdict.PUBLISH
    if len(old) == len(spans):
        return Verdict.SKIP
    part = sorted(spans.keys() - new)[0]
    raise MirrorRefused(
        f"batch {batch} begins at source offset {spans[part].first} of {part}, but the target is complete up to "
        f"{committed[part]}: another run of this mirror has gone further, or the checkpoint is an old copy. Delete the "
        "checkpoint: the mirror then goes on from the offsets at the target"
    )

"""Is this micro-batch at the target already? Decided by the source offsets that are committed there. Pure.

The mirror's group at the target holds the next source offset of each partition, committed in the transactions that hold
the records. It says more than the number of a batch: it outlives the checkpoint. But it does not show a gap, because
source offsets have gaps of their own. So a second group holds what the last batch was, and each one must go on where
the one before it ended; or begin with a new checkpoint, at the offsets of the target.
"""

from __future__ import annotations

from collections.abc import Mapping

from tidelog.model.ids import TopicPartition
from tidelog.spark.sink.batch_identity import BatchIdentity


class MirrorRefused(Exception):
    """Publishing would lose or repeat records, or nobody can tell; the message says what to do."""


def is_last_batch(coming: BatchIdentity, last: BatchIdentity | None, *, group: str) -> bool:
    """Whether this is the batch that was mirrored last. Raises MirrorRefused unless it is, or is the next one.

    The `run` of both is the id of the query, not its start: a mirror that was only restarted continues.
    """
    if last is None:
        # An earlier version did not note it, or Kafka has forgotten it; the offsets of the target decide alone.
        return False
    begin = f"batch {coming.batch} is to be mirrored, but the last one at the target, as group {group!r} says, is"
    if coming.run != last.run:
        if coming.batch == 0:
            return False
        raise MirrorRefused(f"{begin} {last.batch} of another one: another run of this mirror is ahead. {_DELETE_IT}")
    if coming.batch == last.batch:
        if coming.reads is not None and coming.reads == last.reads:
            return True
        if coming.reads is None and last.reads is None:
            return False
        raise MirrorRefused(
            f"batch {coming.batch} is already at the target, but with other input: the checkpoint is older than what "
            f"was written. It was restored from a copy, or its newest files were lost. {_DELETE_IT}"
        )
    if coming.batch != last.batch + 1:
        raise MirrorRefused(f"{begin} {last.batch}: the checkpoint is not the one of the target. {_DELETE_IT}")
    if last.reads is not None and (coming.reads is None or coming.reads.start != last.reads.end):
        raise MirrorRefused(
            f"batch {coming.batch} does not begin where the last one at the target ended, at "
            f"{last.reads.until or last.reads.end}: the checkpoint is not the one of the target. {_DELETE_IT}"
        )
    return False


_DELETE_IT = "Delete the checkpoint: the mirror then continues from the offsets at the target"


def is_mirrored(
    batch: int, spans: Mapping[TopicPartition, range], committed: Mapping[TopicPartition, int], *, group: str
) -> bool:
    """Whether source offsets are at the target; `spans` are those from the first to the last of each partition.

    `committed` is what the group has, for all partitions; it was read after earlier drivers were fenced.
    """
    if not spans:
        return True
    if not committed and batch > 0:
        raise MirrorRefused(
            f"batch {batch} is to be mirrored, but group {group!r} at the target has no offsets, so nobody can tell "
            "what is already there. Kafka forgets offsets of groups without members after offsets.retention.minutes (7 "
            "days by default); or this is another target. If the target is empty, delete the checkpoint to start "
            f"again; otherwise commit for group {group!r} the source offsets up to which the target is complete "
            "(tidelog groups --reset-offsets), and delete the checkpoint"
        )
    if all(span.stop <= committed.get(part, 0) for part, span in spans.items()):
        return True
    begun = [part for part, span in spans.items() if span.start < committed.get(part, 0)]
    if not begun:
        return False
    part = min(begun)
    raise MirrorRefused(
        f"batch {batch} begins at source offset {spans[part].start} of {part}, but the target is complete up to "
        f"{committed[part]}: another run of this mirror is ahead, or the checkpoint is an old copy. "
        f"{_DELETE_IT}"
    )

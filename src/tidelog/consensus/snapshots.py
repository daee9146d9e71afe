"""When a snapshot of the metadata log is due, which old ones can go, and what snapshots mean for a log that is opened.

What a snapshot contains is nothing to the quorum (`tidelog.metadata.snapshot_file`), and its files belong to whoever
drives the replica. How followers fetch one is in `following` and `leading` (KIP-630).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple, TypeAlias

from tidelog.consensus.messages import SnapshotId
from tidelog.consensus.transitions import QuorumInvariantBroken
from tidelog.model.lazy_dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class SnapshotRules:
    """The properties metadata.log.max.record.bytes.between.snapshots, metadata.log.max.snapshot.interval.ms (0: never
    because of time), metadata.max.retention.bytes and metadata.max.retention.ms (both: below 0 for no limit).
    """

    max_bytes: int
    interval_ms: int
    retention_bytes: int
    retention_ms: int

    def is_due(self, *, new_bytes: int, elapsed_ms: float) -> bool:
        """Whether so many bytes of committed records, so long after the last snapshot, are worth another one."""
        return new_bytes >= self.max_bytes or (new_bytes > 0 and self.until_due_ms(elapsed_ms) <= 0)

    def until_due_ms(self, elapsed_ms: float) -> float:
        """How long until time alone makes one due, if there is anything new."""
        return self.interval_ms - elapsed_ms if self.interval_ms else float("inf")


class StoredSnapshot(NamedTuple):
    """A snapshot on disk, and when the last record that it contains was written."""

    id: SnapshotId
    size_bytes: int
    timestamp_ms: int


def next_log_start(
    rules: SnapshotRules, snapshots: Sequence[StoredSnapshot], *, log_bytes: int, now_ms: int
) -> SnapshotId | None:
    """The snapshot from whose end on the log is to be kept, if the oldest one has to go; None as long as it may stay.

    `snapshots` are in order. One step at a time: after each the log is smaller. The last snapshot always stays, and so
    does the log after it: without them nobody could be told what was committed.
    """
    if len(snapshots) < 2:
        return None
    oldest, following = snapshots[0], snapshots[1]
    all_bytes = log_bytes + sum(snapshot.size_bytes for snapshot in snapshots)
    too_large = 0 <= rules.retention_bytes < all_bytes
    too_old = rules.retention_ms >= 0 and now_ms - oldest.timestamp_ms > rules.retention_ms
    return following.id if too_large or too_old else None


class KeepLog(NamedTuple):
    """The log is good; it is to begin at the end of this snapshot, or with its first record if there is none."""

    start: SnapshotId | None


class RestartLog(NamedTuple):
    """Nothing in the log continues the snapshot: it is to be emptied and to begin at the snapshot's end."""

    at: SnapshotId


Opening: TypeAlias = KeepLog | RestartLog


def plan_opening(
    snapshots: Sequence[SnapshotId], *, start_offset: int, end_offset: int, epoch_at: Callable[[int], int]
) -> Opening:
    """What to do with a log and its snapshots, in order, after a start: a crash may have come between two steps.

    - A snapshot was fetched, but the log is not yet emptied: it ends before the snapshot does, or `epoch_at` the
      snapshot's last offset there is another epoch. What the log holds was never committed, or is in the snapshot.
    - The beginning of the log was dropped, or only some of it: it begins at the first snapshot it can continue.
    """
    latest = snapshots[-1] if snapshots else None
    if latest is not None:
        if latest.end_offset > end_offset:
            return RestartLog(latest)
        if latest.end_offset > start_offset and epoch_at(latest.end_offset - 1) != latest.epoch:
            return RestartLog(latest)
    if start_offset == 0:
        return KeepLog(None)
    for snapshot in snapshots:
        if snapshot.end_offset >= start_offset:
            return KeepLog(snapshot)
    raise QuorumInvariantBroken(
        f"the metadata log begins at offset {start_offset}, and there is no snapshot of what was before it"
    )

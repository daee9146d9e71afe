"""What a replica needs to know about its log, and what follows from comparing two logs by offsets and epochs.

The log itself belongs to whoever drives the replica: here it is only looked at.
"""

from __future__ import annotations

from typing import NamedTuple, Protocol, TypeAlias

from tidelog.consensus.messages import EpochEnd, SnapshotId

# The epoch of an empty log. No leader is ever elected in it.
PRIMORDIAL_EPOCH = 0


class LogView(Protocol):
    """Read-only, and always current: it shows the log as the effects so far have left it."""

    @property
    def start_offset(self) -> int: ...

    @property
    def end_offset(self) -> int: ...

    @property
    def latest_epoch(self) -> int:
        """The epoch of the last record, -1 if there is none."""
        ...

    def end_offset_for(self, epoch: int) -> tuple[int, int]:
        """The largest epoch not above `epoch`, and its end offset; (-1, -1) if `epoch` is above all of the log.

        Below all of the log: the same epoch, and the offset at which the earliest one starts.
        """
        ...

    @property
    def earliest_snapshot(self) -> SnapshotId | None:
        """The one that ends where the log starts."""
        ...

    @property
    def latest_snapshot(self) -> SnapshotId | None: ...


class Matching(NamedTuple):
    """The follower's log is a prefix of this one."""


class Diverging(NamedTuple):
    """Nothing after this point can be the same in both logs."""

    point: EpochEnd


class SnapshotNeeded(NamedTuple):
    """What would have to be compared or read is only in this snapshot."""

    snapshot_id: SnapshotId


MATCHING = Matching()

Comparison: TypeAlias = Matching | Diverging | SnapshotNeeded


def last_epoch(log: LogView) -> int:
    """The epoch of the last record, which may be in a snapshot."""
    if log.latest_epoch >= 0:
        return log.latest_epoch
    snapshot = log.latest_snapshot
    return PRIMORDIAL_EPOCH if snapshot is None else snapshot.epoch


def compare(log: LogView, offset: int, epoch: int) -> Comparison:
    """Compare a leader's log with one that ends at `offset` with a record of `epoch`."""
    latest = log.latest_snapshot
    if offset == 0:
        # A follower that has nothing gets there faster with a snapshot than with the records that led to it.
        return MATCHING if latest is None else SnapshotNeeded(latest)
    earliest = log.earliest_snapshot
    if earliest is not None and (
        offset < log.start_offset or (offset == log.start_offset and epoch != earliest.epoch) or epoch < earliest.epoch
    ):
        return SnapshotNeeded(earliest if latest is None else latest)
    end = end_of_epoch(log, epoch)
    if end.epoch != epoch or end.end_offset < offset:
        return Diverging(end)
    return MATCHING


def end_of_epoch(log: LogView, epoch: int) -> EpochEnd:
    """The largest epoch not above `epoch` that the log or its snapshot contains, and where it ends."""
    found = EpochEnd(*log.end_offset_for(epoch))
    earliest = log.earliest_snapshot
    if found.epoch < 0:
        return EpochEnd(last_epoch(log), log.end_offset)
    if earliest is not None and found == (epoch, earliest.end_offset):
        # Below all of the log: the last epoch that is known to be below it is that of the snapshot.
        return EpochEnd(earliest.epoch, earliest.end_offset)
    if earliest is None and found == (epoch, log.start_offset):
        return EpochEnd(PRIMORDIAL_EPOCH, log.start_offset)
    return found


def truncation_offset(log: LogView, diverging: EpochEnd) -> int:
    """Where a follower has to cut its log, when the leader says that they part at or before `diverging`."""
    if diverging.epoch == PRIMORDIAL_EPOCH:
        return min(diverging.end_offset, log.end_offset)
    local = end_of_epoch(log, diverging.epoch)
    if local.epoch == diverging.epoch:
        return min(local.end_offset, diverging.end_offset)
    return local.end_offset

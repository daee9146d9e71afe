"""At which offset each leader of a partition began: this shows replicas where their logs diverge (KIP-101, KIP-279).

One table per replica, in memory. The file that keeps it over a restart is written by `tidelog.storage`, only if the
table has noted a change.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable
from typing import NamedTuple

from tidelog.model.ids import NO_LEADER_EPOCH
from tidelog.model.invariants import require

# What Kafka answers for an epoch it knows nothing about, beside epoch -1.
UNDEFINED_OFFSET = -1


class EpochEntry(NamedTuple):
    """The first offset that a leader of this epoch wrote."""

    epoch: int
    start_offset: int


class EpochEndOffset(NamedTuple):
    """Where an epoch ends: the first offset that does not belong to it."""

    epoch: int
    end_offset: int


UNDEFINED_END = EpochEndOffset(NO_LEADER_EPOCH, UNDEFINED_OFFSET)


class LeaderEpochs:
    """Epochs and start offsets, both strictly growing."""

    __slots__ = ("_entries", "changed")

    def __init__(self, entries: Iterable[tuple[int, int]] = ()) -> None:
        self._entries: list[EpochEntry] = []
        for epoch, start_offset in entries:
            self.assign(epoch, start_offset=start_offset)
        # Whether the table differs from its file.
        self.changed = False

    @property
    def entries(self) -> tuple[EpochEntry, ...]:
        return tuple(self._entries)

    @property
    def latest_epoch(self) -> int:
        """The epoch of the last record, or -1 as long as there is none."""
        return self._entries[-1].epoch if self._entries else NO_LEADER_EPOCH

    def __repr__(self) -> str:
        return f"LeaderEpochs({[tuple(entry) for entry in self._entries]})"

    def mark_changed(self) -> None:
        """The file must be written, whatever is in it."""
        self.changed = True

    def take_changes(self) -> tuple[EpochEntry, ...] | None:
        """What must be written to the file now; None if the file is up to date."""
        changed, self.changed = self.changed, False
        return self.entries if changed else None

    def assign(self, epoch: int, *, start_offset: int) -> None:
        """Note that the leader of `epoch` wrote at `start_offset`. Called for every batch, so the usual case is quick.

        Entries that contradict the new one are dropped: the log is the truth and the table follows it. That happens
        when a leader wrote nothing in its epoch, and after stale entries were loaded from a file.
        """
        if epoch < 0 or start_offset < 0:
            raise ValueError(f"epoch {epoch} cannot start at offset {start_offset}: neither may be negative")
        entries = self._entries
        if entries and entries[-1].epoch == epoch and entries[-1].start_offset <= start_offset:
            return
        while entries and (entries[-1].epoch >= epoch or entries[-1].start_offset >= start_offset):
            entries.pop()
        entries.append(EpochEntry(epoch, start_offset))
        self.changed = True

    def end_offset_for(self, epoch: int, *, log_end_offset: int) -> EpochEndOffset:
        """The largest known epoch that is not above `epoch`, and where it ends.

        - The latest epoch ends at the end of the log: it is still being written.
        - An epoch above the latest is unknown here, so the answer is undefined, and so it is for epoch -1.
        - An epoch below the earliest has lost its records to retention. Its end is where the earliest known epoch
          starts, so that a follower continues from there; the epoch in the answer is the one asked for.
        """
        entries = self._entries
        if epoch == UNDEFINED_END.epoch or not entries or epoch > entries[-1].epoch:
            return UNDEFINED_END
        if epoch == entries[-1].epoch:
            return EpochEndOffset(epoch, log_end_offset)
        following = bisect_right(entries, epoch, key=_epoch_of)
        end_offset = entries[following].start_offset
        if following == 0:
            return EpochEndOffset(epoch, end_offset)
        return EpochEndOffset(entries[following - 1].epoch, end_offset)

    def epoch_for_offset(self, offset: int) -> int:
        """The epoch in which `offset` was, or will be, written; -1 below the earliest entry."""
        following = bisect_right(self._entries, offset, key=_start_offset_of)
        return self._entries[following - 1].epoch if following else NO_LEADER_EPOCH

    def previous_epoch(self, epoch: int) -> int:
        """The largest known epoch below `epoch`, or -1."""
        entries = self._entries
        following = bisect_right(entries, epoch - 1, key=_epoch_of)
        return entries[following - 1].epoch if following else NO_LEADER_EPOCH

    def truncate_from_end(self, end_offset: int) -> None:
        """Forget the epochs that start at or above `end_offset`, the new end of the log."""
        if end_offset < 0:
            return
        while self._entries and self._entries[-1].start_offset >= end_offset:
            self._entries.pop()
            self.changed = True

    def truncate_from_start(self, start_offset: int) -> None:
        """Forget the epochs that end at or below `start_offset`; the epoch in which it lies now starts there."""
        entries = self._entries
        following = bisect_right(entries, start_offset, key=_start_offset_of)
        if following == 0 or (following == 1 and entries[0].start_offset == start_offset):
            return
        entries[:following] = [EpochEntry(entries[following - 1].epoch, start_offset)]
        self.changed = True

    def clear(self) -> None:
        self._entries.clear()
        self.changed = True

    def check_invariants(self, log_start_offset: int, *, log_end_offset: int) -> None:
        before = EpochEntry(-1, log_start_offset - 1)
        for entry in self._entries:
            grows = entry.epoch > before.epoch and entry.start_offset > before.start_offset
            require(grows, self, "epochs and their start offsets grow from the log start on", before=before)
            before = entry
        require(before.start_offset <= log_end_offset, self, "no epoch starts beyond the log end", end=log_end_offset)


def _epoch_of(entry: EpochEntry) -> int:
    return entry.epoch


def _start_offset_of(entry: EpochEntry) -> int:
    return entry.start_offset

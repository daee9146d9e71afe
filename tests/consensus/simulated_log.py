"""A log in memory that loses in a crash what was not flushed, and shows itself to a replica as a `LogView`."""

from __future__ import annotations

import random
from collections.abc import Sequence
from struct import Struct
from typing import NamedTuple

from tidelog.consensus.messages import SnapshotId
from tidelog.partition.leader_epochs import LeaderEpochs

_ENTRY = Struct(">iq")
ENTRY_BYTES = _ENTRY.size


class Entry(NamedTuple):
    """One record: the epoch it was written in, and a value that no other record of the history has."""

    epoch: int
    value: int


def encode_entries(entries: Sequence[Entry]) -> bytes:
    return b"".join(_ENTRY.pack(*entry) for entry in entries)


def decode_entries(data: bytes | bytearray | memoryview) -> list[Entry]:
    return [Entry(*fields) for fields in _ENTRY.iter_unpack(bytes(data))]


class SimulatedLog:
    """`entries` always begins at offset 0: those before `start_offset` are the content of the snapshot.

    Changes are pending until a flush that began after them has ended. A crash keeps any number of the pending ones, but
    in their order: what came later never survives alone.
    """

    def __init__(self) -> None:
        self.entries: list[Entry] = []
        self.start_offset = 0
        self.snapshot: SnapshotId | None = None
        self._durable: list[Entry] = []
        self._pending: list[tuple[str, int | list[Entry]]] = []
        self._epochs = LeaderEpochs()

    # --- LogView

    @property
    def end_offset(self) -> int:
        return len(self.entries)

    @property
    def latest_epoch(self) -> int:
        return self._epochs.latest_epoch

    def end_offset_for(self, epoch: int) -> tuple[int, int]:
        return self._epochs.end_offset_for(epoch, log_end_offset=self.end_offset)

    @property
    def earliest_snapshot(self) -> SnapshotId | None:
        return self.snapshot

    @property
    def latest_snapshot(self) -> SnapshotId | None:
        return self.snapshot

    # --- Changes

    @property
    def durable_end_offset(self) -> int:
        return len(self._durable)

    def append(self, entries: Sequence[Entry]) -> None:
        for entry in entries:
            self._epochs.assign(entry.epoch, start_offset=len(self.entries))
            self.entries.append(entry)
        self._pending.append(("append", list(entries)))

    def truncate_to(self, offset: int) -> None:
        assert self.start_offset <= offset <= self.end_offset
        del self.entries[offset:]
        self._epochs.truncate_from_end(offset)
        self._pending.append(("truncate", offset))

    def begin_flush(self) -> int:
        return len(self._pending)

    def end_flush(self, pending: int) -> None:
        self._make_durable(pending)
        del self._pending[:pending]

    def take_snapshot(self, end_offset: int) -> None:
        """Drop the records before `end_offset`, which must be committed and durable."""
        assert self.start_offset < end_offset <= self.durable_end_offset
        self.start_offset = end_offset
        self.snapshot = SnapshotId(end_offset, self.entries[end_offset - 1].epoch)
        self._epochs.truncate_from_start(end_offset)

    def install_snapshot(self, snapshot_id: SnapshotId, entries: list[Entry]) -> None:
        assert len(entries) == snapshot_id.end_offset
        self.entries = list(entries)
        self._durable = list(entries)
        self._pending.clear()
        self.start_offset = snapshot_id.end_offset
        self.snapshot = snapshot_id
        self._epochs.clear()

    def crash(self, chance: random.Random) -> None:
        self._make_durable(chance.randint(0, len(self._pending)))
        self._pending.clear()
        self.entries = list(self._durable)
        self._epochs = LeaderEpochs()
        for offset in range(self.start_offset, len(self.entries)):
            self._epochs.assign(self.entries[offset].epoch, start_offset=offset)

    def _make_durable(self, pending: int) -> None:
        for _, change in self._pending[:pending]:
            if isinstance(change, int):
                del self._durable[change:]
            else:
                self._durable.extend(change)

"""The indexes of one segment, compared with its batches one by one as these are read.

A segment may have millions of batches, so nothing about them is kept: the entries of an index, which are few, are
walked through beside them.
"""

from __future__ import annotations

from collections.abc import Sequence
from struct import Struct
from typing import ClassVar

from tidelog.partition.transactions import AbortedTransaction
from tidelog.records.batch import NO_TIMESTAMP, BatchHeader
from tidelog.storage.files.filesystem import FileSystem, read_whole
from tidelog.storage.indexes.offset_index import OFFSET_ENTRY
from tidelog.storage.indexes.time_index import TIME_ENTRY
from tidelog.storage.indexes.transaction_index import TRANSACTION_ENTRY
from tidelog.storage.verification.findings import Report


def read_entries(
    filesystem: FileSystem, path: str, entry: Struct, report: Report, *, is_closed: bool
) -> list[tuple[int, ...]]:
    """The entries of an index file; a missing one has none. What is not a whole entry is reported."""
    try:
        content = read_whole(filesystem, path)
    except FileNotFoundError:
        return []
    report.read(len(content))
    rest = len(content) % entry.size
    if rest:
        report.add(
            path, len(content) - rest, f"{rest} bytes are not a whole entry of {entry.size}", is_note=not is_closed
        )
    entries = list(entry.iter_unpack(content[: len(content) - rest]))
    if not is_closed:
        # Apache Kafka reserves the space of an index that it still writes to.
        while entries and not any(entries[-1]):
            entries.pop()
    return entries


class _SparseIndexCheck:
    """Walks through the entries of an index, one after the other."""

    entry: ClassVar[Struct]

    def __init__(self, path: str, base_offset: int, entries: Sequence[tuple[int, ...]], report: Report) -> None:
        self._path = path
        self._base_offset = base_offset
        self._entries = entries
        self._report = report
        self._next = 0

    def _tell(self, reason: str) -> None:
        self._report.add(self._path, self._next * self.entry.size, reason)


class OffsetIndexCheck(_SparseIndexCheck):
    """Each entry names the last offset of a batch and the position where it begins."""

    entry = OFFSET_ENTRY

    def passed(self, position: int, header: BatchHeader) -> None:
        while self._next < len(self._entries) and self._entries[self._next][1] <= position:
            relative_offset, indexed = self._entries[self._next]
            if indexed < position:
                self._tell(f"position {indexed} is not the beginning of a batch")
            elif self._base_offset + relative_offset != header.last_offset:
                self._tell(
                    f"offset {self._base_offset + relative_offset} is not the last one, {header.last_offset}, of the "
                    f"batch at {position}"
                )
            self._next += 1

    def ended(self) -> None:
        while self._next < len(self._entries):
            self._tell(f"position {self._entries[self._next][1]} is not the beginning of a batch")
            self._next += 1


class TimeIndexCheck(_SparseIndexCheck):
    """Each entry names the largest timestamp so far and the batch it is in, by its last offset. The last entry of a
    closed segment is about all of it."""

    entry = TIME_ENTRY
    _largest = NO_TIMESTAMP

    def passed(self, header: BatchHeader) -> None:
        self._largest = max(self._largest, header.max_timestamp)
        while self._next < len(self._entries):
            timestamp, relative_offset = self._entries[self._next]
            offset = self._base_offset + relative_offset
            if offset > header.last_offset:
                return
            if offset != header.last_offset:
                # Apache Kafka before 3.8 named the record itself here. That cannot be distinguished from a flipped bit.
                self._tell(f"offset {offset} is not the last one of a batch")
            elif timestamp != self._largest or timestamp != header.max_timestamp:
                self._tell(f"timestamp {timestamp} of offset {offset} is not the largest so far, {self._largest}")
            self._next += 1

    def ended(self, *, is_closed: bool) -> None:
        while self._next < len(self._entries):
            self._tell(f"offset {self._base_offset + self._entries[self._next][1]} is not in the segment")
            self._next += 1
        last = self._entries[-1][0] if self._entries else NO_TIMESTAMP
        if is_closed and last < self._largest:
            self._report.add(
                self._path,
                None,
                f"the last entry has timestamp {last}, but there are records as late as {self._largest}",
            )


class TransactionIndexCheck:
    """Each entry names an aborted transaction, by the marker that ended it in this segment."""

    def __init__(self, path: str, entries: Sequence[tuple[int, ...]], report: Report, *, is_exact: bool) -> None:
        """`is_exact` if all that ever was in the log is there, so that the batches say what must be in the index."""
        self._path = path
        self._report = report
        self._is_exact = is_exact
        self._entries: dict[int, tuple[int, AbortedTransaction]] = {}
        for number, (version, *fields) in enumerate(entries):
            transaction = AbortedTransaction._make(fields)
            if version != 0:
                self._tell(number, f"version {version} of an entry is unknown")
            elif transaction.last_offset in self._entries:
                self._tell(number, f"offset {transaction.last_offset} is listed twice")
            else:
                self._entries[transaction.last_offset] = (number, transaction)

    def aborted(self, header: BatchHeader, expected: AbortedTransaction | None) -> None:
        """A marker that aborts: the entry that follows from the batches before it, None if it ends none still there."""
        number, entry = self._entries.pop(header.base_offset, (-1, None))
        if entry is None:
            if expected is not None:
                self._report.add(
                    self._path,
                    None,
                    f"the transaction of producer {header.producer_id} that was aborted at offset "
                    f"{header.base_offset} is missing: its records would be shown to readers",
                )
            return
        if entry.producer_id != header.producer_id:
            self._tell(number, f"producer {entry.producer_id} is not {header.producer_id}, whose marker it is")
        elif expected is not None and self._is_exact:
            if entry != expected:
                self._tell(number, f"{tuple(entry)} is not {tuple(expected)}, as the batches say")
        elif not entry.first_offset < entry.last_offset:
            self._tell(number, f"a transaction cannot begin at {entry.first_offset} and end at {entry.last_offset}")

    def ended(self) -> None:
        for last_offset, (number, _) in self._entries.items():
            self._tell(number, f"offset {last_offset} is not a marker that aborts a transaction")

    def _tell(self, number: int, reason: str) -> None:
        self._report.add(self._path, number * TRANSACTION_ENTRY.size, reason)

"""`.txnindex`: the transactions that were aborted by a marker in this segment.

Entries: version i16 = 0, producerId i64, firstOffset i64, lastOffset i64 (of the marker), lastStableOffset i64 (as
it is once the marker is replicated). Aborts are rare, so most segments have no such file.
"""

from __future__ import annotations

from collections.abc import Iterable
from struct import Struct

from tidelog.partition.transactions import AbortedTransaction
from tidelog.storage.indexes.entry_file import CorruptIndex, EntryFile

TRANSACTION_ENTRY = Struct(">hqqqq")
_VERSION = 0


class TransactionIndex(EntryFile):
    """Written through at once: a lost abort would show its records to readers."""

    __slots__ = ()

    entry = TRANSACTION_ENTRY

    def append(self, transaction: AbortedTransaction) -> None:
        """The marker is already in the log. Readers get the entry from memory until it can be written."""
        self.add(_VERSION, *transaction)
        self.write_if_possible()

    def transactions(self) -> list[AbortedTransaction]:
        """In the order of their markers. Raises CorruptIndex."""
        found = []
        for version, *fields in self.entries():
            if version > _VERSION:
                raise CorruptIndex(f"{self.path}: version {version} of an entry is unknown")
            found.append(AbortedTransaction._make(fields))
        return found

    def collect(self, first_offset: int, *, upper_bound: int) -> tuple[list[AbortedTransaction], bool]:
        """Those that touch the offsets from `first_offset` up to, not including, `upper_bound`; and whether later
        segments can have no more of them."""
        found = []
        for transaction in self.transactions():
            if transaction.last_offset >= first_offset and transaction.first_offset < upper_bound:
                found.append(transaction)
            if transaction.last_stable_offset >= upper_bound:
                return found, True
        return found, False

    def truncate_to_offset(self, offset: int) -> None:
        """Forget the transactions whose markers are at or above `offset`."""
        if len(self):
            self.truncate(sum(transaction.last_offset < offset for transaction in self.transactions()))

    def replace_all(self, transactions: Iterable[AbortedTransaction]) -> None:
        """Exchange all entries at once; a segment without aborts has no file."""
        content = b"".join(TRANSACTION_ENTRY.pack(_VERSION, *transaction) for transaction in transactions)
        if content:
            self.replace(content)
        else:
            self._filesystem.remove(self.path)
            self._reset(0)

    def check(self, file_size: int) -> None:
        """Raises CorruptIndex."""
        self.check_size(file_size)
        last_offset = self._base_offset - 1
        for transaction in self.transactions():
            if not 0 <= transaction.first_offset < transaction.last_offset > last_offset:
                raise CorruptIndex(f"{self.path}: {transaction} does not belong there")
            last_offset = transaction.last_offset

"""`.txnindex`: the transactions that were aborted by a marker in this segment.

Entries: version i16 = 0, producerId i64, firstOffset i64, lastOffset i64 (of the marker), lastStableOffset i64 (as
it is once the marker is replicated). Aborts are rare, so most segments have no such file.
"""

from __future__ import annotations

from struct import Struct
from typing import NamedTuple

from tidelog.storage.files.filesystem import TOO_MANY_OPEN_FILES, FileSystem, means_full, read_whole, replace_file
from tidelog.storage.indexes.sparse_index import CorruptIndex

TRANSACTION_ENTRY = Struct(">hqqqq")
_VERSION = 0


class AbortedTransaction(NamedTuple):
    producer_id: int
    first_offset: int
    last_offset: int
    last_stable_offset: int


class TransactionIndex:
    """Written through at once: an abort that were forgotten would show its records to readers."""

    __slots__ = ("_base_offset", "_filesystem", "_pending", "_size", "path")

    def __init__(self, filesystem: FileSystem, path: str, base_offset: int, *, file_size: int) -> None:
        self.path = path
        self._filesystem = filesystem
        self._base_offset = base_offset
        self._size = file_size // TRANSACTION_ENTRY.size * TRANSACTION_ENTRY.size
        # Those that there was no room for.
        self._pending: list[AbortedTransaction] = []

    @property
    def empty(self) -> bool:
        return self._size == 0 and not self._pending

    def append(self, transaction: AbortedTransaction) -> None:
        self._pending.append(transaction)
        try:
            self.write_pending()
        except OSError as error:
            # The marker is in the log already. Readers get the entry from memory until there is room, or a descriptor.
            if not means_full(error) and error.errno not in TOO_MANY_OPEN_FILES:
                raise

    def write_pending(self) -> None:
        if not self._pending:
            return
        content = b"".join(TRANSACTION_ENTRY.pack(_VERSION, *transaction) for transaction in self._pending)
        file = self._filesystem.open(self.path, create=True)
        try:
            file.write(self._size, content)
        finally:
            file.close()
        self._size += len(content)
        self._pending = []

    def entries(self) -> list[AbortedTransaction]:
        """In the order of their markers. Raises CorruptIndex."""
        if self._size == 0:
            return list(self._pending)
        content = read_whole(self._filesystem, self.path)[: self._size]
        transactions = []
        for version, *fields in TRANSACTION_ENTRY.iter_unpack(content):
            if version > _VERSION:
                raise CorruptIndex(f"{self.path}: version {version} of an entry is unknown")
            transactions.append(AbortedTransaction._make(fields))
        return transactions + self._pending

    def collect(self, first_offset: int, *, upper_bound: int) -> tuple[list[AbortedTransaction], bool]:
        """Those that touch the offsets from `first_offset` up to, not including, `upper_bound`; and whether later
        segments can have no more of them."""
        found = []
        for transaction in self.entries():
            if transaction.last_offset >= first_offset and transaction.first_offset < upper_bound:
                found.append(transaction)
            if transaction.last_stable_offset >= upper_bound:
                return found, True
        return found, False

    def truncate_to_offset(self, offset: int) -> None:
        """Forget the transactions whose markers are at or above `offset`."""
        self._pending = [transaction for transaction in self._pending if transaction.last_offset < offset]
        kept = [transaction for transaction in self.entries() if transaction.last_offset < offset]
        del kept[len(kept) - len(self._pending) :]
        if len(kept) * TRANSACTION_ENTRY.size < self._size:
            file = self._filesystem.open(self.path)
            try:
                file.truncate(len(kept) * TRANSACTION_ENTRY.size)
            finally:
                file.close()
            self._size = len(kept) * TRANSACTION_ENTRY.size

    def replace(self, transactions: list[AbortedTransaction]) -> None:
        """Exchange all entries at once; a segment without aborts has no file."""
        self._pending = []
        if transactions:
            content = b"".join(TRANSACTION_ENTRY.pack(_VERSION, *transaction) for transaction in transactions)
            replace_file(self._filesystem, self.path, content)
            self._size = len(content)
        else:
            self._filesystem.remove(self.path)
            self._size = 0

    def check(self, file_size: int) -> None:
        """Raises CorruptIndex."""
        if file_size % TRANSACTION_ENTRY.size:
            raise CorruptIndex(f"{self.path}: {file_size} bytes are not a multiple of {TRANSACTION_ENTRY.size}")
        last_offset = self._base_offset - 1
        for transaction in self.entries():
            if not 0 <= transaction.first_offset < transaction.last_offset > last_offset:
                raise CorruptIndex(f"{self.path}: {transaction} does not belong there")
            last_offset = transaction.last_offset

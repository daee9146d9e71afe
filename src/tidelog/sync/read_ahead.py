"""What the loop's thread has lent to the reader's: replies that are decoded here, while the loop's thread receives.

Compiled (decision 37). What crosses between the threads, and when, is decided in `tidelog.sync.consumer`.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from typing import NamedTuple

from tidelog.client.consumer.fetched import ConsumerRecord
from tidelog.client.consumer.reader import Lent
from tidelog.client.errors import ClientError
from tidelog.records.batch import CorruptBatch


class Removed(NamedTuple):
    """What the loop's thread gets back."""

    lent: list[Lent]
    # Records that were taken of it but are not handed out.
    unread: list[ConsumerRecord]
    # What could not be read, if that was the next thing to be read, and why.
    unreadable: tuple[Lent, Exception] | None


class ReadAhead:
    """The reader's thread takes, the loop's thread adds and removes: also while somebody reads, if another thread of
    the user's seeks or closes.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._lent: list[Lent] = []
        # The first that may have something left.
        self._at = 0
        self._unreadable: tuple[Lent, Exception] | None = None
        # What was taken to be handed out one by one. Each step of an iterator of a list is one for all threads, so the
        # many steps of an iteration need no lock.
        self._iteration: Iterator[ConsumerRecord] = iter(())

    def add(self, lent: list[Lent]) -> None:
        with self._lock:
            self._lent = lent
            self._at = 0

    def remove(self) -> Removed:
        with self._lock:
            removed = Removed(self._lent, list(self._iteration), self._unreadable)
            self._lent = []
            self._unreadable = None
            return removed

    def take(self, limit: int) -> list[ConsumerRecord]:
        """Up to `limit` records, fewer only when nothing is left or the rest cannot be read."""
        with self._lock:
            return self._take(limit)

    def take_for_iteration(self, limit: int) -> bool:
        """The same, to be handed out by `next_record`. Whether there are any."""
        with self._lock:
            records = self._take(limit)
            self._iteration = iter(records)
            return bool(records)

    def next_record(self) -> ConsumerRecord | None:
        """The next record of an iteration, None if more have to be taken."""
        return next(self._iteration, None)

    def _take(self, limit: int) -> list[ConsumerRecord]:
        records: list[ConsumerRecord] = []
        for record in self._iteration:
            records.append(record)
            if len(records) == limit:
                return records
        while self._at < len(self._lent):
            lent = self._lent[self._at]
            try:
                some = lent.take(limit - len(records))
            except (CorruptBatch, ClientError) as error:
                if not records:
                    self._unreadable = (lent, error)
                break
            if some:
                records = records + some if records else some
                if len(records) == limit:
                    break
            else:
                self._at += 1
        return records


class Iteration:
    """`for record in consumer`. The state is in `ReadAhead`, so that the next loop goes on where this one ends."""

    def __init__(self, ahead: ReadAhead, more: Callable[[], ConsumerRecord]) -> None:
        """`more` takes more records and returns the first, or raises StopIteration."""
        self._ahead = ahead
        self._more = more

    def __iter__(self) -> Iteration:
        return self

    def __next__(self) -> ConsumerRecord:
        record = self._ahead.next_record()
        return self._more() if record is None else record

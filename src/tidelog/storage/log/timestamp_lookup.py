"""Which offset belongs to a time: the batch is found by the indexes and headers, the record by looking into the batch.

The latter may mean unpacking, so it is left to the caller: `seek` and `seek_max` are generators that yield a search, to
be run to its end in any thread, and are sent what it has found. `at_once` does that for callers that can wait.
"""

from __future__ import annotations

from collections.abc import Generator

from tidelog.records.timestamp_search import NOT_THERE, Found, TimestampSearch
from tidelog.storage.log.log import Log
from tidelog.storage.log.reader import candidate_by_timestamp, candidate_for_max_timestamp
from tidelog.storage.log.results import TimestampedOffset

Seeking = Generator[TimestampSearch, Found, TimestampedOffset | None]


def seek(log: Log, timestamp: int) -> Seeking:
    """The first record that is not older; None if all are."""
    first_offset = log.log_start_offset
    while (candidate := candidate_by_timestamp(log, timestamp, first_offset=first_offset)) is not None:
        found = yield candidate.search(first_offset)
        if found != NOT_THERE:
            return TimestampedOffset(*found, candidate.header.partition_leader_epoch)
        first_offset = max(candidate.header.next_offset, log.log_start_offset)
    return None


def seek_max(log: Log) -> Seeking:
    """The record with the largest timestamp; None if there is no record with a timestamp."""
    candidate = candidate_for_max_timestamp(log)
    if candidate is None:
        return None
    found = yield candidate.search(candidate.header.base_offset)
    return None if found == NOT_THERE else TimestampedOffset(*found, candidate.header.partition_leader_epoch)


def at_once(seeking: Seeking) -> TimestampedOffset | None:
    try:
        search = next(seeking)
        while True:
            found = search.run()
            assert found is not None
            search = seeking.send(found)
    except StopIteration as end:
        result: TimestampedOffset | None = end.value
        return result

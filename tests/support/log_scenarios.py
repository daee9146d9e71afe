"""The kinds of work that a log does, each short enough for all of its crash states to be gone through."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from support.default_settings import log_config
from support.tracked_log import TrackedLog

from tidelog.storage.log.config import LogConfig

Scenario = Callable[[TrackedLog], None]

# Batches of one record have about 80 bytes: three to a segment.
CONFIG = log_config(segment_bytes=260, index_interval_bytes=70, retention_ms=-1)
COMPACTED = replace(CONFIG, compact=True, delete=False, segment_bytes=330, delete_retention_ms=1000)


def value(number: int) -> bytes:
    return b"%d" % number


def append_and_roll(tracked: TrackedLog) -> None:
    for number in range(7):
        tracked.append((b"k", value(number)), producer_id=1)


def append_and_flush(tracked: TrackedLog) -> None:
    for number in range(9):
        tracked.append((b"k%d" % number, value(number)), producer_id=number % 2)
        if number % 3 == 1:
            tracked.flush()
        if number % 4 == 3:
            tracked.write_checkpoints()
        tracked.flush_sealed()


def transactions(tracked: TrackedLog) -> None:
    tracked.append((b"a", b"1"), producer_id=1, transactional=True)
    tracked.append((b"b", b"1"), producer_id=2, transactional=True)
    tracked.end_transaction(1, commit=False)
    tracked.flush_sealed()
    tracked.append((b"c", b"1"))
    tracked.end_transaction(2, commit=True)
    tracked.append((b"d", b"1"), producer_id=1, transactional=True)


def truncate(tracked: TrackedLog) -> None:
    for number in range(7):
        tracked.append((b"k", value(number)), producer_id=1)
    tracked.flush()
    tracked.write_checkpoints()
    tracked.truncate(5)
    tracked.sequences[1] = 5
    tracked.append((b"k", b"other"), producer_id=1)
    tracked.truncate(2)
    tracked.sequences[1] = 2
    tracked.append((b"k", b"another"), producer_id=1)
    tracked.flush()
    tracked.remove_files()


def retention(tracked: TrackedLog) -> None:
    for number in range(8):
        tracked.append((b"k", value(number)), producer_id=1)
        tracked.flush_sealed()
    tracked.delete_records(4)
    tracked.log.config = replace(CONFIG, retention_bytes=200)
    tracked.delete_old_segments()
    tracked.append((b"k", b"8"), producer_id=1)
    tracked.write_checkpoints()
    tracked.remove_files()


def clean_restart(tracked: TrackedLog) -> None:
    for number in range(4):
        tracked.append((b"k", value(number)), producer_id=1)
    tracked.close()
    tracked.open()
    tracked.append((b"k", b"4"), producer_id=1)
    tracked.flush_sealed()
    tracked.append((b"k", b"5"), producer_id=1)


def compaction(tracked: TrackedLog) -> None:
    """Three small segments become one, another stays by itself; aborted records and a tombstone are among them."""
    tracked.append((b"a", b"1"), (b"b", b"1"), producer_id=1)
    tracked.append((b"a", b"no"), producer_id=2, transactional=True)
    tracked.end_transaction(2, commit=False)
    tracked.flush_sealed()
    tracked.append((b"a", b"2"), (b"c", b"1"), producer_id=1)
    tracked.append((b"b", None), (b"d", b"1"))
    tracked.append((b"d", b"2"))
    tracked.roll()
    tracked.flush()
    tracked.compact()
    tracked.append((b"e", b"1"), producer_id=1)
    tracked.remove_files()


def compaction_of_unflushed_segments(tracked: TrackedLog) -> None:
    """Twice, so that tombstones and markers go, while what was written last is not on the device."""
    tracked.append((b"a", b"1"), (b"b", b"1"), producer_id=1)
    tracked.append((b"a", None))
    tracked.roll()
    tracked.flush_sealed()
    tracked.compact()
    tracked.append((b"b", b"2"))
    tracked.roll()
    tracked.flush_sealed()
    tracked.now += 2000
    tracked.compact(drops_tombstones=True)
    tracked.append((b"c", b"1"))


def compaction_that_leaves_gaps(tracked: TrackedLog) -> None:
    """Segments lose their ends, and one loses all that it has; what is cut and written afterwards may be torn again."""
    for number in range(3):
        tracked.append((b"k", value(number) * 90))
    tracked.append((b"other", b"1"))
    tracked.append((b"k", b"3" * 90))
    tracked.flush_sealed()
    tracked.roll()
    tracked.compact()
    tracked.append((b"k", b"4"))
    tracked.truncate(4)
    tracked.append((b"k", b"5" * 90))
    tracked.append((b"k", b"6" * 190))
    tracked.append((b"k", b"7"))


SCENARIOS: list[tuple[Scenario, LogConfig]] = [
    (append_and_roll, CONFIG),
    (append_and_flush, CONFIG),
    (transactions, CONFIG),
    (truncate, CONFIG),
    (retention, CONFIG),
    (clean_restart, CONFIG),
    (compaction, COMPACTED),
    (compaction_of_unflushed_segments, COMPACTED),
    (compaction_that_leaves_gaps, COMPACTED),
]

"""What a page of a log shows, from bytes."""

from __future__ import annotations

import pytest

from tidelog.client.browsing.outcomes import AbortedRange, TransactionOutcome
from tidelog.client.browsing.page import ControlEntry, Entry, Gap, RecordEntry, Unreadable, end_of, entries_of
from tidelog.records.batch import parse_header
from tidelog.records.compression import Compression
from tidelog.records.control import EndTransactionMarker, encode_end_transaction_marker
from tidelog.records.record import decode_batch, encode_batch, encode_retained

EPOCH = 5


def batch(offset: int, count: int = 1, *, producer: int = -1, transactional: bool = False, sequence: int = 0) -> bytes:
    return encode_batch(
        [(1_000 + number, b"k%d" % number, b"v", [("h", b"x")]) for number in range(count)],
        base_offset=offset,
        leader_epoch=EPOCH,
        compression=Compression.GZIP,
        producer_id=producer,
        producer_epoch=3 if producer >= 0 else -1,
        base_sequence=sequence if producer >= 0 else -1,
        transactional=transactional,
    )


def marker(offset: int, producer: int, *, commit: bool) -> bytes:
    return encode_end_transaction_marker(
        EndTransactionMarker(commit=commit, coordinator_epoch=9),
        producer_id=producer,
        producer_epoch=3,
        timestamp=2_000,
        base_offset=offset,
        leader_epoch=EPOCH,
    )


def read(
    *batches: bytes,
    offset: int = 0,
    aborted: tuple[AbortedRange, ...] = (),
    open_since: dict[int, int] | None = None,
    stable: int = 1_000,
) -> list[Entry]:
    entries, _ = entries_of(
        b"".join(batches), offset=offset, aborted=aborted, open_since=open_since or {}, last_stable_offset=stable
    )
    return entries


def outcomes(entries: list[Entry]) -> dict[int, TransactionOutcome | None]:
    return {entry.offset: entry.outcome for entry in entries if isinstance(entry, RecordEntry)}


def test_records_have_everything_that_the_log_says_of_them() -> None:
    (first, second) = read(batch(7, 2, producer=41, sequence=2**31 - 1), offset=7)
    assert isinstance(first, RecordEntry)
    assert isinstance(second, RecordEntry)
    assert (first.offset, first.key, first.value, first.headers) == (7, b"k0", b"v", (("h", b"x"),))
    assert (first.timestamp_ms, first.log_append_time, first.leader_epoch) == (1_000, False, EPOCH)
    assert (first.producer_id, first.producer_epoch, first.batch_offset) == (41, 3, 7)
    assert (first.compression, first.outcome) == (Compression.GZIP, None)
    # Sequences wrap.
    assert (first.sequence, second.sequence) == (2**31 - 1, 0)


def test_a_producer_without_an_id_has_no_sequence() -> None:
    (entry,) = read(batch(0))
    assert isinstance(entry, RecordEntry)
    assert (entry.producer_id, entry.producer_epoch, entry.sequence) == (None, None, None)


def test_the_next_marker_of_the_producer_decides() -> None:
    entries = read(
        batch(0, producer=1, transactional=True),
        batch(1, producer=2, transactional=True),
        marker(2, 2, commit=False),
        batch(3, producer=2, transactional=True),
        marker(4, 1, commit=True),
        marker(5, 2, commit=True),
        batch(6),
    )
    assert outcomes(entries) == {
        0: TransactionOutcome.COMMITTED,
        1: TransactionOutcome.ABORTED,
        3: TransactionOutcome.COMMITTED,
        6: None,
    }
    (control, *_) = [entry for entry in entries if isinstance(entry, ControlEntry)]
    assert (control.offset, control.kind, control.producer_id, control.producer_epoch) == (2, "ABORT", 2, 3)
    assert (control.coordinator_epoch, control.timestamp_ms) == (9, 2_000)


@pytest.mark.parametrize(
    ("aborted", "open_since", "stable", "expected"),
    [
        ((), {}, 100, TransactionOutcome.COMMITTED),
        ((AbortedRange(1, 20),), {}, 100, TransactionOutcome.ABORTED),
        # Another one of the same producer, which has ended on the page, or that has not begun yet.
        ((AbortedRange(1, 5),), {}, 100, TransactionOutcome.COMMITTED),
        ((AbortedRange(1, 22),), {}, 100, TransactionOutcome.COMMITTED),
        ((AbortedRange(2, 20),), {}, 100, TransactionOutcome.COMMITTED),
        ((), {1: 20}, 20, TransactionOutcome.OPEN),
        ((), {1: 22}, 20, TransactionOutcome.ENDED_LATER),
        ((), {2: 0}, 20, TransactionOutcome.ENDED_LATER),
        # The outcome of a transaction is known before the ones that hold the last stable offset back.
        ((), {2: 0}, 21, TransactionOutcome.COMMITTED),
    ],
)
def test_behind_the_last_marker_of_the_page_the_leader_decides(
    aborted: tuple[AbortedRange, ...], open_since: dict[int, int], stable: int, expected: TransactionOutcome
) -> None:
    entries = read(
        marker(10, 1, commit=False),
        batch(20, producer=1, transactional=True),
        offset=10,
        aborted=aborted,
        open_since=open_since,
        stable=stable,
    )
    assert outcomes(entries) == {20: expected}


def test_every_offset_is_accounted_for() -> None:
    """Between batches, inside of them, at their ends, and where compaction has left an empty one."""
    whole = batch(10, 6)
    header, records = parse_header(whole), decode_batch(whole)
    some = encode_retained(header, [records[1], records[3]])
    emptied = batch(20, 2)
    emptied = encode_retained(parse_header(emptied), ())
    entries, end = entries_of(some + emptied + batch(25), offset=8, aborted=(), open_since={}, last_stable_offset=100)
    shown = [(entry.offset, entry.last_offset) if isinstance(entry, Gap) else entry.offset for entry in entries]
    assert shown == [(8, 10), 11, (12, 12), 13, (14, 24), 25]
    assert end == 26
    entries, end = entries_of(some + emptied, offset=11, aborted=(), open_since={}, last_stable_offset=100)
    assert entries[-1] == Gap(offset=14, last_offset=21)
    assert end == 22 == end_of(some + emptied, 11)


def test_a_page_may_begin_in_the_middle_of_a_batch() -> None:
    assert [entry.offset for entry in read(batch(4, 3), batch(7), offset=6)] == [6, 7]


def test_what_is_cut_short_belongs_to_the_next_page() -> None:
    data = batch(0) + batch(1)[:-1]
    entries, end = entries_of(data, offset=0, aborted=(), open_since={}, last_stable_offset=9)
    assert [entry.offset for entry in entries] == [0]
    assert end == 1
    assert entries_of(b"", offset=3, aborted=(), open_since={}, last_stable_offset=9) == ([], 3)


def test_damage_is_shown_in_its_place() -> None:
    damaged = bytearray(batch(1, 3))
    damaged[-1] ^= 1
    entries = read(batch(0), bytes(damaged), batch(4))
    assert [entry.offset for entry in entries] == [0, 1, 4]
    assert isinstance(entries[1], Unreadable)
    assert entries[1].last_offset == 3
    assert "checksum" in entries[1].reason


def test_a_length_that_cannot_be_ends_the_page() -> None:
    damaged = bytearray(batch(1))
    damaged[8:12] = (5).to_bytes(4, "big")
    entries, end = entries_of(batch(0) + damaged + batch(2), offset=0, aborted=(), open_since={}, last_stable_offset=9)
    assert [type(entry) for entry in entries] == [RecordEntry, Unreadable]
    assert end == 2

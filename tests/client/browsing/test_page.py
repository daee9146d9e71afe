"""What a page of a log shows, from bytes."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest

from tidelog.client.browsing import page as page_module
from tidelog.client.browsing.batch_records import LARGEST_BATCH_BYTES, MOST_HEADERS
from tidelog.client.browsing.outcomes import AbortedRange, TransactionOutcome
from tidelog.client.browsing.page import ControlEntry, Entry, Gap, RecordEntry, Unreadable, end_of, entries_of
from tidelog.records.batch import BatchHeader, Buffer, parse_header
from tidelog.records.compression import Compression
from tidelog.records.control import EndTransactionMarker, encode_end_transaction_marker
from tidelog.records.record import NewRecord, assemble_batch, decode_batch, encode_batch, encode_retained
from tidelog.records.varint import encode_varint

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
        b"".join(batches),
        offset=offset,
        aborted=aborted,
        open_since=open_since or {},
        last_stable_offset=stable,
        max_entries=1_000,
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
    entries, end = entries_of(
        some + emptied + batch(25), offset=8, aborted=(), open_since={}, last_stable_offset=100, max_entries=100
    )
    shown = [(entry.offset, entry.last_offset) if isinstance(entry, Gap) else entry.offset for entry in entries]
    assert shown == [(8, 10), 11, (12, 12), 13, (14, 24), 25]
    assert end == 26
    entries, end = entries_of(
        some + emptied, offset=11, aborted=(), open_since={}, last_stable_offset=100, max_entries=100
    )
    assert entries[-1] == Gap(offset=14, last_offset=21)
    assert end == 22 == end_of(some + emptied, 11)


def test_a_page_may_begin_in_the_middle_of_a_batch() -> None:
    assert [entry.offset for entry in read(batch(4, 3), batch(7), offset=6)] == [6, 7]


def test_what_is_cut_short_belongs_to_the_next_page() -> None:
    data = batch(0) + batch(1)[:-1]
    entries, end = entries_of(data, offset=0, aborted=(), open_since={}, last_stable_offset=9, max_entries=100)
    assert [entry.offset for entry in entries] == [0]
    assert end == 1
    assert entries_of(b"", offset=3, aborted=(), open_since={}, last_stable_offset=9, max_entries=100) == ([], 3)


def test_damage_is_shown_in_its_place() -> None:
    damaged = bytearray(batch(1, 3))
    damaged[-1] ^= 1
    entries = read(batch(0), bytes(damaged), batch(4))
    assert [entry.offset for entry in entries] == [0, 1, 4]
    assert isinstance(entries[1], Unreadable)
    assert entries[1].last_offset == 3
    assert "checksum" in entries[1].reason
    assert entries[1].is_damaged


def test_a_length_that_cannot_be_ends_the_page() -> None:
    damaged = bytearray(batch(1))
    damaged[8:12] = (5).to_bytes(4, "big")
    entries, end = entries_of(
        batch(0) + damaged + batch(2), offset=0, aborted=(), open_since={}, last_stable_offset=9, max_entries=100
    )
    assert [type(entry) for entry in entries] == [RecordEntry, Unreadable]
    assert end == 2


# -- what a few bytes unpack to -------------------------------------------------------------------------------------


def packed(offset: int, *records: NewRecord) -> bytes:
    return encode_batch(records, base_offset=offset, compression=Compression.ZSTD)


def zeros(offset: int, size: int) -> bytes:
    return packed(offset, (0, None, bytes(size), ()))


def pages(data: bytes, *, max_entries: int = 100, max_unpacked_bytes: int = 32 << 20) -> Iterator[list[Entry]]:
    offset, end = 0, end_of(data, 0)
    while offset < end:
        entries, following = entries_of(
            data,
            offset=offset,
            aborted=(),
            open_since={},
            last_stable_offset=end,
            max_entries=max_entries,
            max_unpacked_bytes=max_unpacked_bytes,
        )
        assert entries
        assert following > offset, "there is progress"
        yield entries
        offset = following


@pytest.fixture
def unpacked(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The base offsets of the batches that were unpacked."""
    found: list[int] = []
    unpack: Callable[[BatchHeader, Buffer], bytes] = vars(page_module)["payload_of"]

    def noting(header: BatchHeader, batch: Buffer) -> bytes:
        found.append(header.base_offset)
        return unpack(header, batch)

    monkeypatch.setattr(page_module, "payload_of", noting)
    return found


def test_a_page_for_one_entry_unpacks_one_batch(unpacked: list[int]) -> None:
    data = b"".join(zeros(offset, 1 << 20) for offset in range(50))
    (entry,) = next(pages(data, max_entries=1))
    assert entry.offset == 0
    assert unpacked == [0]


def test_a_page_ends_where_it_has_unpacked_enough(unpacked: list[int]) -> None:
    data = b"".join(zeros(offset, 5 << 20) for offset in range(10))
    assert len(data) < 10_000
    found = [[entry.offset for entry in entries] for entries in pages(data)]
    assert found == [[0, 1, 2, 3, 4, 5], [6, 7, 8, 9]]
    assert len(unpacked) < 13


def test_a_page_has_one_entry_in_any_case() -> None:
    data = b"".join(zeros(offset, 1 << 20) for offset in range(3))
    assert [[entry.offset for entry in each] for each in pages(data, max_unpacked_bytes=1)] == [[0], [1], [2]]


def test_a_batch_of_which_nothing_is_left_is_progress_too() -> None:
    """All that is left of it lies before the page, but it has to be unpacked to see that."""
    whole = packed(0, *((0, None, bytes(1 << 20), ()) for _ in range(4)))
    some = encode_retained(parse_header(whole), decode_batch(whole)[:1])
    entries, following = entries_of(
        some + zeros(4, 1 << 20),
        offset=1,
        aborted=(),
        open_since={},
        last_stable_offset=9,
        max_entries=100,
        max_unpacked_bytes=1 << 20,
    )
    assert (entries, following) == ([Gap(offset=1, last_offset=3)], 4)


def test_a_batch_that_unpacks_to_too_much_is_said_to(unpacked: list[int]) -> None:
    data = batch(0) + zeros(1, LARGEST_BATCH_BYTES) + batch(2, 2)
    entries = [entry for each in pages(data) for entry in each]
    assert [entry.offset for entry in entries] == [0, 1, 2, 3]
    assert isinstance(entries[1], Unreadable)
    assert entries[1].last_offset == 1
    assert "take more than 32 MiB when decompressed" in entries[1].reason
    assert not entries[1].is_damaged, "consumers may read it"


def test_batches_that_were_unpacked_in_vain_count(unpacked: list[int]) -> None:
    data = b"".join(zeros(offset, LARGEST_BATCH_BYTES) for offset in range(4))
    assert [len(entries) for entries in pages(data)] == [1, 1, 1, 1]
    assert unpacked == [0, 1, 2, 3]


def test_a_batch_of_very_many_records_is_read_page_by_page() -> None:
    count = 35_000
    data = packed(0, *((number, None, b"%d" % number, ()) for number in range(count)))
    found = list(pages(data, max_entries=9_000))
    assert [len(entries) for entries in found] == [9_000, 9_000, 9_000, 8_000]
    entries = [entry for each in found for entry in each]
    assert [(entry.offset, entry.value) for entry in entries if isinstance(entry, RecordEntry)] == [
        (number, b"%d" % number) for number in range(count)
    ]


def test_holes_in_a_batch_of_very_many_records() -> None:
    whole = packed(0, *((number, None, b"x" * 500, ()) for number in range(20_000)))
    kept = decode_batch(whole)[::3]
    data = encode_retained(parse_header(whole), kept)
    entries = [entry for each in pages(data, max_entries=10_000, max_unpacked_bytes=1 << 20) for entry in each]
    assert [entry.offset for entry in entries if isinstance(entry, RecordEntry)] == [each.offset for each in kept]
    assert [entry.offset for entry in entries if isinstance(entry, Gap)] == [each.offset + 1 for each in kept]


def test_damage_behind_very_many_records_leaves_those_before_it() -> None:
    count = 25_000
    records = [(0, None, b"x", ()) for _ in range(count)]
    header = parse_header(encode_batch(records))
    payload = encode_batch(records)[61:]
    damaged = assemble_batch(header, payload[:-1])
    *good, last = (entry for each in pages(damaged, max_entries=9_000) for entry in each)
    assert [entry.offset for entry in good] == list(range(20_000))
    assert isinstance(last, Unreadable)
    assert (last.offset, last.last_offset) == (20_000, count - 1)
    assert "a record claims 9 bytes, 8 are left" in last.reason
    assert last.is_damaged


def test_more_headers_than_can_be_shown() -> None:
    one = encode_varint(1) + b"h" + encode_varint(-1)
    count = MOST_HEADERS + 1
    body = bytes(1) + encode_varint(0) * 2 + encode_varint(-1) * 2 + encode_varint(count) + one * count
    template = parse_header(encode_batch([(0, None, None, ())]))
    (entry,) = next(pages(assemble_batch(template, encode_varint(len(body)) + body)))
    assert isinstance(entry, Unreadable)
    assert f"has {count:,} headers" in entry.reason
    assert not entry.is_damaged


def test_headers_count_for_what_a_page_holds() -> None:
    headers = [("", None)] * 20_000
    data = packed(0, *((0, None, None, headers) for _ in range(40)))
    assert all(len(entries) <= 20 for entries in pages(data))
    assert sum(len(entries) for entries in pages(data)) == 40

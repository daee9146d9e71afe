"""What a reader gets to see of fetched batches."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tidelog.client.consumer.fetched import FetchedPartition
from tidelog.client.errors import RecordTooLarge
from tidelog.model.ids import TopicPartition
from tidelog.records.batch import CorruptBatch
from tidelog.records.compression import Compression
from tidelog.records.control import EndTransactionMarker, encode_end_transaction_marker
from tidelog.records.record import decode_batch, encode_batch

PARTITION = TopicPartition("t", 3)


def batch(base_offset: int, *values: bytes, producer_id: int = -1, transactional: bool = False, **more: int) -> bytes:
    records = [(1000 + number, b"k", value, ()) for number, value in enumerate(values)]
    return encode_batch(
        records,
        base_offset=base_offset,
        producer_id=producer_id,
        producer_epoch=0 if producer_id >= 0 else -1,
        base_sequence=0 if producer_id >= 0 else -1,
        transactional=transactional,
        leader_epoch=more.get("leader_epoch", 5),
        compression=Compression(more.get("compression", 0)),
    )


def marker(offset: int, producer_id: int, *, commit: bool) -> bytes:
    return encode_end_transaction_marker(
        EndTransactionMarker(commit=commit, coordinator_epoch=0),
        producer_id=producer_id,
        producer_epoch=0,
        timestamp=1,
        base_offset=offset,
    )


def read(fetched: FetchedPartition, limit: int = 1000) -> list[tuple[int, bytes | None]]:
    records = []
    while not fetched.exhausted:
        records += fetched.take(limit).records
    return [(record.offset, record.value) for record in records]


def test_records_come_with_all_they_have() -> None:
    data = encode_batch([(1700, b"key", b"value", (("h", None),))], base_offset=42, leader_epoch=5)
    chunk = FetchedPartition(PARTITION, 42, data).take(10)
    (record,) = chunk.records
    assert record.topic_partition == PARTITION
    assert record == ("t", 3, 42, 1700, 0, b"key", b"value", (("h", None),), 5)
    assert (chunk.next_offset, chunk.leader_epoch) == (43, 5)


def test_a_batch_that_begins_before_the_position_is_cut() -> None:
    data = batch(10, b"a", b"b", b"c")
    assert read(FetchedPartition(PARTITION, 11, data)) == [(11, b"b"), (12, b"c")]


def test_chunks_are_as_large_as_asked_for() -> None:
    data = batch(0, *[b"%d" % n for n in range(7)]) + batch(7, *[b"%d" % n for n in range(7, 10)])
    fetched = FetchedPartition(PARTITION, 0, data)
    chunks = [fetched.take(4) for _ in range(3)]
    assert [len(chunk.records) for chunk in chunks] == [4, 4, 2]
    assert [chunk.next_offset for chunk in chunks] == [4, 8, 10]
    assert fetched.exhausted


def test_the_position_moves_over_offsets_that_compaction_has_removed() -> None:
    whole = batch(20, b"a", b"b", b"c")
    # The last two records are gone, the offset range of the batch is not.
    from tidelog.records.batch import parse_header
    from tidelog.records.record import decode_batch, encode_retained

    kept = encode_retained(parse_header(whole), decode_batch(whole)[:1])
    chunk = FetchedPartition(PARTITION, 20, kept).take(10)
    assert [record.value for record in chunk.records] == [b"a"]
    assert chunk.next_offset == 23


def test_an_incomplete_last_batch_is_left_for_the_next_fetch() -> None:
    data = batch(0, b"a") + batch(1, b"b")[:-3]
    fetched = FetchedPartition(PARTITION, 0, data)
    assert read(fetched) == [(0, b"a")]
    assert fetched.next_offset == 1


def test_nothing_but_an_incomplete_batch_is_an_error_that_names_the_remedy() -> None:
    with pytest.raises(RecordTooLarge, match=r"offset 7 of partition t-3.*max\.partition\.fetch\.bytes"):
        FetchedPartition(PARTITION, 7, batch(7, b"abc")[:-1]).take(10)


def test_damage_is_found_by_the_checksum() -> None:
    data = bytearray(batch(0, b"abc"))
    data[-2] ^= 1
    with pytest.raises(CorruptBatch, match="checksum"):
        FetchedPartition(PARTITION, 0, data).take(10)
    assert read(FetchedPartition(PARTITION, 0, bytes(batch(0, b"abc")), check_crcs=False)) == [(0, b"abc")]


def test_records_before_the_damage_are_handed_out_first() -> None:
    damaged = bytearray(batch(0, b"a", b"b") + batch(2, b"c"))
    damaged[-1] ^= 1
    fetched = FetchedPartition(PARTITION, 0, bytes(damaged))
    assert [record.value for record in fetched.take(500).records] == [b"a", b"b"]
    assert (fetched.next_offset, fetched.exhausted) == (2, False)
    with pytest.raises(CorruptBatch):
        fetched.take(500)


def test_markers_are_never_seen_but_passed() -> None:
    data = batch(0, b"a", producer_id=1, transactional=True) + marker(1, 1, commit=True) + batch(2, b"b")
    for fetched in (FetchedPartition(PARTITION, 0, data), FetchedPartition(PARTITION, 0, data, aborted=[])):
        assert read(fetched) == [(0, b"a"), (2, b"b")]
        assert fetched.next_offset == 3


def test_a_marker_at_the_end_moves_the_position() -> None:
    fetched = FetchedPartition(PARTITION, 1, marker(1, 1, commit=True), aborted=[])
    assert fetched.take(10) == ([], 2, -1)
    assert fetched.exhausted


def test_aborted_records_are_left_out_for_readers_of_committed_ones() -> None:
    data = (
        batch(0, b"good 1", producer_id=1, transactional=True)
        + batch(1, b"bad", producer_id=2, transactional=True)
        + batch(2, b"plain")
        + batch(3, b"good 2", producer_id=1, transactional=True)
        + marker(4, 2, commit=False)
        + marker(5, 1, commit=True)
        + batch(6, b"good 3", producer_id=2, transactional=True)
        + marker(7, 2, commit=True)
    )
    committed = FetchedPartition(PARTITION, 0, data, aborted=[(2, 1)])
    assert read(committed) == [(0, b"good 1"), (2, b"plain"), (3, b"good 2"), (6, b"good 3")]
    assert committed.next_offset == 8
    assert (1, b"bad") in read(FetchedPartition(PARTITION, 0, data))


def test_one_producer_may_abort_twice_in_one_reply() -> None:
    data = b"".join(
        (
            batch(0, b"bad 1", producer_id=9, transactional=True),
            marker(1, 9, commit=False),
            batch(2, b"good", producer_id=9, transactional=True),
            marker(3, 9, commit=True),
            batch(4, b"bad 2", producer_id=9, transactional=True),
            marker(5, 9, commit=False),
        )
    )
    assert read(FetchedPartition(PARTITION, 0, data, aborted=[(9, 4), (9, 0)])) == [(2, b"good")]


def test_a_transaction_that_began_before_the_position_is_known_to_be_aborted() -> None:
    data = batch(50, b"bad", producer_id=9, transactional=True) + marker(51, 9, commit=False) + batch(52, b"good")
    assert read(FetchedPartition(PARTITION, 50, data, aborted=[(9, 3)])) == [(52, b"good")]


@given(
    sizes=st.lists(st.integers(1, 6), min_size=1, max_size=8),
    start=st.integers(0, 20),
    limit=st.integers(1, 9),
    codec=st.sampled_from(list(Compression)),
)
def test_every_record_from_the_position_on_comes_once_in_order(
    sizes: list[int], start: int, limit: int, codec: Compression
) -> None:
    data, offset = b"", 0
    for size in sizes:
        data += batch(offset, *[b"%d" % (offset + n) for n in range(size)], compression=codec)
        offset += size
    fetched = FetchedPartition(PARTITION, start, data)
    expected = [(number, b"%d" % number) for number in range(start, offset)]
    assert read(fetched, limit) == expected
    assert fetched.next_offset == max(offset, start)


@given(limit_bytes=st.integers(1, 400), taken_first=st.integers(0, 4))
def test_batches_taken_undecoded_hold_what_the_records_do(limit_bytes: int, taken_first: int) -> None:
    data = (
        batch(0, b"a", b"b", b"c")
        + batch(3, b"d", b"e", producer_id=7, transactional=True)
        + batch(5, b"f", compression=4)
        + marker(6, 7, commit=False)
        + batch(7, b"g", b"h")
    )
    fetched = FetchedPartition(PARTITION, 1, data, aborted=[(7, 3)])
    expected = read(FetchedPartition(PARTITION, 1, data, aborted=[(7, 3)]))

    seen = [(record.offset, record.value) for record in fetched.take(taken_first).records]
    while not fetched.exhausted:
        chunk = fetched.take_batches(limit_bytes)
        for _, one in chunk.batches:
            seen += [(r.offset, r.value) for r in decode_batch(one) if r.offset >= chunk.first_offset]
        assert chunk.next_offset == fetched.next_offset

    assert seen == expected == [(1, b"b"), (2, b"c"), (5, b"f"), (7, b"g"), (8, b"h")]
    assert fetched.next_offset == 9

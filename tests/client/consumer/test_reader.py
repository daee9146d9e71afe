"""Handing out what has been fetched, as lists and one by one, with pauses and seeks in between."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tidelog.client.cluster.metadata import PartitionMetadata
from tidelog.client.consumer.columns import as_record_batch
from tidelog.client.consumer.fetched import ConsumerRecord, FetchedPartition
from tidelog.client.consumer.positions import Positions
from tidelog.client.consumer.reader import Reader
from tidelog.client.errors import ClientError
from tidelog.model.ids import TopicPartition
from tidelog.records.batch import CorruptBatch
from tidelog.records.record import encode_batch

A, B = TopicPartition("t", 0), TopicPartition("t", 1)


def batch(first: int, count: int, epoch: int = 0) -> bytes:
    records = [(0, None, b"%d" % number, ()) for number in range(first, first + count)]
    return encode_batch(records, base_offset=first, leader_epoch=epoch)


def positions_with(**sizes: int) -> Positions:
    """Partition a and b with so many records fetched, in batches of four."""
    positions = Positions()
    partitions = {"a": A, "b": B}
    positions.assign([partitions[name] for name in sizes])
    for name, size in sizes.items():
        entry = positions.of(partitions[name])
        entry.seek(0)
        data = b"".join(batch(first, min(4, size - first)) for first in range(0, size, 4))
        entry.add_fetched(FetchedPartition(entry.partition, 0, data))
    return positions


def leader(epoch: int) -> PartitionMetadata:
    return PartitionMetadata(partition=0, leader=1, leader_epoch=epoch, replicas=(1,), in_sync=(1,), offline=())


def test_lists_are_as_long_as_asked_for_and_move_the_positions() -> None:
    positions = positions_with(a=10, b=10)
    reader = Reader(positions, 500)
    taken = reader.take(13)
    assert len(taken) == 13
    # All of the first partition, then the next.
    assert (positions.of(A).position, positions.of(B).position) == (10, 3)
    assert [record.offset for record in reader.take(100)] == [3, 4, 5, 6, 7, 8, 9]
    assert reader.take(100) == []


def test_only_named_partitions_are_taken() -> None:
    reader = Reader(positions_with(a=3, b=3), 500)
    assert {record.partition for record in reader.take(100, [B])} == {1}


def test_an_iteration_moves_the_position_record_by_record() -> None:
    positions = positions_with(a=6)
    reader = Reader(positions, 4)
    for number in range(6):
        record = reader.next_record()
        assert record is not None
        assert record.offset == number
        assert positions.of(A).position == number + 1
        assert reader.chunk_is_done is (number in (3, 5))
        reader.chunk_is_done = False
    assert reader.next_record() is None


def test_what_an_iteration_has_left_over_comes_with_the_next_list() -> None:
    reader = Reader(positions_with(a=10), 500)
    assert reader.next_record() is not None
    assert [record.offset for record in reader.take(4)] == [1, 2, 3, 4]
    assert [record.offset for record in reader.take(100)] == [5, 6, 7, 8, 9]


def test_pausing_keeps_what_has_been_fetched() -> None:
    positions = positions_with(a=10, b=2)
    reader = Reader(positions, 500)
    assert reader.next_record() is not None
    reader.pause(A)
    assert [(record.partition, record.offset) for record in reader.take(100)] == [(1, 0), (1, 1)]
    assert reader.next_record() is None
    assert positions.of(A).has_records
    positions.of(A).paused = False
    assert [record.offset for record in reader.take(100)] == list(range(1, 10))


def test_a_seek_makes_what_was_taken_worthless() -> None:
    positions = positions_with(a=10)
    reader = Reader(positions, 500)
    assert reader.next_record() is not None
    positions.of(A).seek(0)
    assert reader.next_record() is None
    assert positions.of(A).position == 0


def test_partitions_that_are_gone_give_nothing() -> None:
    positions = positions_with(a=10)
    reader = Reader(positions, 500)
    assert reader.next_record() is not None
    positions.assign([])
    assert reader.next_record() is None


def test_undecoded_batches_are_cut_to_the_number_of_rows() -> None:
    positions = positions_with(a=10, b=10)
    reader = Reader(positions, 500)
    ((partition, chunk),) = reader.take_batches(6)
    assert (partition, chunk.first_offset, chunk.next_offset, len(chunk.batches)) == (A, 0, 6, 2)
    assert positions.of(A).position == 6
    # The other ways of reading go on at the right place.
    reader.pause(B)
    assert [record.offset for record in reader.take(100)] == [6, 7, 8, 9]


def test_damage_is_told_with_the_place_and_fetched_again() -> None:
    positions = positions_with(a=4)
    data = bytearray(batch(4, 4))
    data[-1] ^= 1
    positions.of(A).add_fetched(FetchedPartition(A, 4, data))
    reader = Reader(positions, 500)
    # What comes before the damage is handed out; with the next call, the damage is told.
    assert [record.offset for record in reader.take(100)] == [0, 1, 2, 3]
    assert (positions.of(A).position, positions.of(A).fetch_offset) == (4, 4)
    positions.of(A).add_fetched(FetchedPartition(A, 4, data))
    with pytest.raises(ClientError, match=r"partition t-0 cannot be read at offset 4.*seek\(\) past it"):
        reader.take(100)
    assert (positions.of(A).position, positions.of(A).fetch_offset) == (4, 4)


def test_damage_in_one_partition_takes_nothing_from_another_one_as_columns() -> None:
    pytest.importorskip("pyarrow")
    positions = positions_with(a=4, b=4)
    entry = positions.of(B)
    entry.seek(4)
    data = bytearray(batch(4, 4))
    data[-1] ^= 1
    entry.add_fetched(FetchedPartition(B, 4, data))
    reader = Reader(positions, 500)
    taken = reader.take_batches(100)
    rows, used = as_record_batch(taken, with_headers=True, check_crcs=True)
    assert (rows.num_rows, used, rows.column("partition").to_pylist()) == (4, 1, [0] * 4)
    reader.return_batches(taken[used:])
    assert (entry.position, entry.fetch_offset, entry.has_records) == (4, 4, False)
    with pytest.raises(ClientError, match=r"partition t-1 cannot be read from offset 4 on"):
        as_record_batch(taken[used:], with_headers=True, check_crcs=True)


@given(
    steps=st.lists(
        st.one_of(
            st.tuples(st.just("take"), st.integers(1, 7)),
            st.tuples(st.just("next"), st.just(0)),
            st.tuples(st.just("pause"), st.just(0)),
            st.tuples(st.just("rows"), st.integers(1, 7)),
        ),
        max_size=30,
    ),
    size=st.integers(1, 25),
)
def test_every_record_comes_once_and_in_order_whatever_way_it_is_read(steps: list[tuple[str, int]], size: int) -> None:
    positions = positions_with(a=size)
    entry = positions.of(A)
    reader = Reader(positions, 5)
    seen: list[int] = []
    for step, number in [*steps, ("take", 1000), ("take", 1000)]:
        if not entry.has_records and entry.position is not None and entry.position < size:
            # Fetch again, as the fetcher does.
            first = entry.position // 4 * 4
            data = b"".join(batch(at, min(4, size - at)) for at in range(first, size, 4))
            entry.add_fetched(FetchedPartition(A, entry.fetch_offset, data))
        match step:
            case "take":
                seen += [record.offset for record in reader.take(number)]
            case "next":
                record = reader.next_record()
                seen += [] if record is None else [record.offset]
            case "pause":
                reader.pause(A)
                entry.paused = False
            case "rows":
                for _, chunk in reader.take_batches(number):
                    seen += range(chunk.first_offset, min(chunk.next_offset, size))
        assert entry.position == len(seen)
    assert seen == list(range(size))


# -- positions -------------------------------------------------------------------------------------------------------


def test_a_new_leader_has_to_confirm_what_was_fetched_once() -> None:
    positions = positions_with(a=4)
    entry = positions.of(A)
    assert entry.fetch_epoch == 0
    assert entry.needs_check(leader(3))
    entry.checked_epoch = 3
    assert not entry.needs_check(leader(3))
    assert entry.needs_check(leader(4))


def test_without_an_epoch_there_is_nothing_to_confirm() -> None:
    positions = Positions()
    positions.assign([A])
    entry = positions.of(A)
    entry.seek(7)
    assert not entry.needs_check(leader(3))
    entry.seek(7, 2)
    assert entry.needs_check(leader(3))


def test_no_more_than_two_replies_wait() -> None:
    positions = positions_with(a=4)
    entry = positions.of(A)
    assert entry.may_fetch()
    entry.add_fetched(FetchedPartition(A, 4, batch(4, 4)))
    assert not entry.may_fetch()
    assert entry.fetch_offset == 8


# -- lent to another thread ------------------------------------------------------------------------------------------


def offsets(records: list[ConsumerRecord]) -> list[int]:
    return [record.offset for record in records]


def test_positions_move_when_what_was_lent_is_back() -> None:
    positions = positions_with(a=10, b=2)
    reader = Reader(positions, 500)
    of_a, of_b = reader.lend()
    assert offsets(of_a.take(6)) == [0, 1, 2, 3, 4, 5]
    assert offsets(of_b.take(500)) == [0, 1]
    assert of_b.take(500) == []
    assert (positions.of(A).position, positions.of(B).position) == (0, 0)

    reader.take_back([of_a, of_b], [])

    assert (positions.of(A).position, positions.of(B).position) == (6, 2)
    assert offsets(reader.take(500)) == [6, 7, 8, 9]


def test_records_that_come_back_unread_are_the_next_to_be_read() -> None:
    positions = positions_with(a=10, b=2)
    reader = Reader(positions, 500)
    lent = reader.lend()
    taken = lent[0].take(6) + lent[1].take(2)
    reader.take_back(lent, taken[5:])
    assert (positions.of(A).position, positions.of(B).position) == (5, 0)

    lent = reader.lend()
    assert [offsets(each.take(3)) for each in lent] == [[5], [0, 1]]
    assert offsets(lent[0].take(3)) == [6, 7, 8]
    reader.take_back(lent, [])
    assert [(record.partition, record.offset) for record in reader.take(500)] == [(0, 9)]


def test_a_seek_makes_what_was_lent_worthless() -> None:
    positions = positions_with(a=10)
    reader = Reader(positions, 500)
    lent = reader.lend()
    taken = lent[0].take(6)
    positions.of(A).seek(3)
    reader.take_back(lent, taken[2:])
    assert positions.of(A).position == 3
    assert not positions.of(A).has_records


def test_partitions_that_are_gone_when_they_come_back_are_forgotten() -> None:
    positions = positions_with(a=10)
    reader = Reader(positions, 500)
    lent = reader.lend()
    positions.assign([])
    reader.take_back(lent, lent[0].take(6))
    assert reader.lend() == []


def test_paused_partitions_are_not_lent() -> None:
    positions = positions_with(a=10, b=2)
    reader = Reader(positions, 500)
    reader.pause(A)
    assert [each.entry.partition for each in reader.lend()] == [B]


def test_what_is_lent_counts_as_fetched() -> None:
    positions = positions_with(a=10)
    entry = positions.of(A)
    reader = Reader(positions, 500)
    lent = reader.lend()
    assert entry.may_fetch()
    entry.add_fetched(FetchedPartition(A, 10, batch(10, 4)))
    assert not entry.may_fetch(), "one is being read, and one comes next"
    reader.take_back(lent, [])
    assert not entry.may_fetch()
    assert offsets(reader.take(500)) == list(range(14))


def test_what_cannot_be_read_is_reported_behind_what_can_and_fetched_again() -> None:
    positions = positions_with(a=0)
    entry = positions.of(A)
    entry.seek(0)
    damaged = bytearray(batch(0, 4) + batch(4, 4))
    damaged[-1] ^= 1
    entry.add_fetched(FetchedPartition(A, 0, damaged))
    reader = Reader(positions, 500)
    (lent,) = reader.lend()
    assert offsets(lent.take(4)) == [0, 1, 2, 3]
    for _ in range(2):
        with pytest.raises(CorruptBatch) as raised:
            lent.take(4)
    reader.take_back([lent], [])
    problem = reader.unreadable(lent, raised.value)
    assert "t-0 cannot be read at offset 4" in str(problem)
    assert (entry.position, entry.fetch_offset, entry.has_records) == (4, 4, False)


@given(st.lists(st.tuples(st.integers(1, 7), st.booleans(), st.integers(0, 4)), max_size=30))
def test_lending_and_taking_back_loses_and_repeats_nothing(steps: list[tuple[int, bool, int]]) -> None:
    positions = positions_with(a=23, b=9)
    reader = Reader(positions, 500)
    read: dict[int, list[int]] = {0: [], 1: []}
    for limit, by_iteration, unread in steps:
        lent = reader.lend()
        taken = [record for each in lent for record in each.take(limit)]
        kept = len(taken) - min(unread, len(taken)) if by_iteration else len(taken)
        reader.take_back(lent, taken[kept:])
        for record in taken[:kept]:
            read[record.partition].append(record.offset)
        assert [positions.of(A).position, positions.of(B).position] == [len(read[0]), len(read[1])]
    for record in reader.take(500):
        read[record.partition].append(record.offset)
    assert read == {0: list(range(23)), 1: list(range(9))}

"""What the loop's thread has lent to the reader's: taken in lists and one by one, and given back."""

from __future__ import annotations

from tidelog.client.consumer.fetched import FetchedPartition
from tidelog.client.consumer.positions import Positions
from tidelog.client.consumer.reader import Reader
from tidelog.model.ids import TopicPartition
from tidelog.records.record import encode_batch
from tidelog.sync.read_ahead import Iteration, ReadAhead

A, B = TopicPartition("t", 0), TopicPartition("t", 1)


def lent_ahead(*, damaged: bool = False) -> tuple[ReadAhead, Reader, Positions]:
    """Five records of partition A and three of B, in batches of two; the last batch of A may be damaged."""
    positions = Positions()
    positions.assign([A, B])
    for partition, count in ((A, 5), (B, 3)):
        records = [(0, None, b"", ()) for _ in range(2)]
        data = bytearray()
        for first in range(0, count, 2):
            data += encode_batch(records[: count - first], base_offset=first)
        if damaged and partition == A:
            data[-1] ^= 1
        entry = positions.of(partition)
        entry.seek(0)
        entry.add_fetched(FetchedPartition(partition, 0, data))
    reader = Reader(positions, 500)
    ahead = ReadAhead()
    ahead.add(reader.lend())
    return ahead, reader, positions


def give_back(ahead: ReadAhead, reader: Reader) -> None:
    removed = ahead.remove()
    reader.take_back(removed.lent, removed.unread)


def places(positions: Positions) -> tuple[int | None, int | None]:
    return positions.of(A).position, positions.of(B).position


def test_lists_go_through_one_partition_after_the_other() -> None:
    ahead, reader, positions = lent_ahead()
    taken = [(record.partition, record.offset) for _ in range(3) for record in ahead.take(3)]
    assert taken == [(0, 0), (0, 1), (0, 2), (0, 3), (0, 4), (1, 0), (1, 1), (1, 2)]
    assert ahead.take(3) == []
    give_back(ahead, reader)
    assert places(positions) == (5, 3)


def test_what_an_iteration_has_not_handed_out_does_not_count_as_read() -> None:
    ahead, reader, positions = lent_ahead()
    assert ahead.take_for_iteration(7)
    for _ in range(4):
        assert ahead.next_record() is not None
    give_back(ahead, reader)
    assert places(positions) == (4, 0)
    assert ahead.next_record() is None
    ahead.add(reader.lend())
    assert [(record.partition, record.offset) for record in ahead.take(500)] == [(0, 4), (1, 0), (1, 1), (1, 2)]


def test_a_list_begins_with_what_an_iteration_has_left() -> None:
    ahead, _, _ = lent_ahead()
    assert ahead.take_for_iteration(4)
    assert ahead.next_record() is not None
    assert [record.offset for record in ahead.take(2)] == [1, 2]
    assert [record.offset for record in ahead.take(2)] == [3, 4]


def test_what_cannot_be_read_is_named_when_it_is_next() -> None:
    ahead, reader, positions = lent_ahead(damaged=True)
    assert [record.offset for record in ahead.take(500)] == [0, 1, 2, 3]
    assert ahead.take(500) == []
    removed = ahead.remove()
    assert removed.unreadable is not None
    assert removed.unreadable[0].entry is positions.of(A)
    assert ahead.remove().unreadable is None
    reader.take_back(removed.lent, removed.unread)
    assert places(positions) == (4, 0)


def test_iterations_share_where_they_are_and_ask_for_more_at_the_end() -> None:
    ahead, _, _ = lent_ahead()
    assert ahead.take_for_iteration(3)

    def more() -> None:
        raise StopIteration

    first, second = Iteration(ahead, more), Iteration(ahead, more)  # type: ignore[arg-type]
    assert [next(first).offset, next(second).offset] == [0, 1]
    assert [record.offset for record in first] == [2]
    assert list(second) == []

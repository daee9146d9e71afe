"""The header of a record batch."""

from __future__ import annotations

import pytest
from crc32c import crc32c

from tidelog.records.batch import (
    HEADER_SIZE,
    CorruptBatch,
    compute_crc,
    iterate_headers,
    parse_header,
    restamp_crc,
    stamp_offset_and_epoch,
)
from tidelog.records.record import encode_batch


def batch_of(count: int = 3, **fields: int) -> bytes:
    return encode_batch([(1_000 + index, b"key", b"value", ()) for index in range(count)], **fields)  # type: ignore[arg-type]


def test_offsets_and_sequences_follow_from_the_header() -> None:
    header = parse_header(batch_of(4, base_offset=100, producer_id=7, producer_epoch=1, base_sequence=20))

    assert header.size == len(batch_of(4))
    assert (header.base_offset, header.last_offset, header.next_offset) == (100, 103, 104)
    assert (header.base_sequence, header.last_sequence) == (20, 23)
    assert (header.base_timestamp, header.max_timestamp) == (1_000, 1_003)
    assert header.has_producer_id


def test_sequence_number_wraps_at_two_to_the_31() -> None:
    """Scenario 13, at the level of one batch."""
    header = parse_header(batch_of(4, producer_id=7, producer_epoch=1, base_sequence=2**31 - 2))

    assert header.last_sequence == 1


def test_a_batch_without_sequence_has_no_last_sequence() -> None:
    assert parse_header(batch_of(4)).last_sequence == -1


@pytest.mark.parametrize("size", [0, 1, HEADER_SIZE - 1])
def test_too_few_bytes_are_no_header(size: int) -> None:
    with pytest.raises(CorruptBatch):
        parse_header(batch_of()[:size])


def test_crc_covers_attributes_to_end_and_nothing_else() -> None:
    batch = bytearray(batch_of())
    crc = parse_header(batch).crc

    assert crc == crc32c(bytes(batch[21:])) == compute_crc(batch)
    stamp_offset_and_epoch(batch, 0, 123_456_789_012, 9)
    header = parse_header(batch)
    assert (header.base_offset, header.partition_leader_epoch) == (123_456_789_012, 9)
    assert header.crc == compute_crc(batch)
    for position in range(21, len(batch)):
        batch[position] ^= 1
        assert compute_crc(batch) != crc
        batch[position] ^= 1


def test_crc_of_a_batch_inside_a_buffer_is_that_of_the_batch_alone() -> None:
    batch = batch_of()
    buffer = bytearray(b"x" * 10 + batch + b"y" * 10)

    assert compute_crc(buffer, 10, len(batch)) == compute_crc(batch)
    buffer[10 + 40] ^= 0xFF
    restamp_crc(buffer, 10, len(batch))
    changed = bytes(buffer[10:-10])
    assert parse_header(changed).crc == compute_crc(changed) != compute_crc(batch)


def test_batches_are_found_one_behind_the_other() -> None:
    batches = [batch_of(count, base_offset=count * 10) for count in (1, 2, 3)]

    found = list(iterate_headers(b"".join(batches)))

    assert [position for position, _ in found] == [0, len(batches[0]), len(batches[0]) + len(batches[1])]
    assert [header.base_offset for _, header in found] == [10, 20, 30]


def test_a_batch_that_is_cut_short_ends_the_iteration() -> None:
    whole = batch_of()
    for cut in range(len(whole)):
        assert len(list(iterate_headers(whole + whole[:cut]))) == 1


@pytest.mark.parametrize("length", [-1, 0, 13, HEADER_SIZE - 13, -(2**31)])
def test_a_length_that_cannot_be_a_batch_is_corrupt(length: int) -> None:
    batch = bytearray(batch_of())
    batch[8:12] = length.to_bytes(4, "big", signed=True)

    with pytest.raises(CorruptBatch):
        list(iterate_headers(batch))

"""Batches that were encoded elsewhere: what is accepted, and what is stamped into them."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tidelog.client.errors import WrongUse
from tidelog.client.producer.batches import PreencodedBatch
from tidelog.client.producer.encoded_batches import check_finished, stamp
from tidelog.model.ids import TopicPartition
from tidelog.records.batch import ATTRIBUTES_AT, compute_crc, parse_header, restamp_crc
from tidelog.records.compression import Compression
from tidelog.records.record import decode_batch, encode_batch

RECORDS = [(1000 + number, b"key", b"value %d" % number, (("name", b"x"),)) for number in range(10)]
PARTITION = TopicPartition("t", 0)


def finished(compression: Compression = Compression.NONE) -> bytes:
    return encode_batch(RECORDS, compression=compression)


def changed(change: Callable[[bytearray], None]) -> bytes:
    """With a valid CRC again."""
    batch = bytearray(finished())
    change(batch)
    restamp_crc(batch, 0, len(batch))
    return bytes(batch)


def set_attributes(bits: int) -> Callable[[bytearray], None]:
    def change(batch: bytearray) -> None:
        batch[ATTRIBUTES_AT + 1] |= bits

    return change


def set_byte(position: int, value: int) -> Callable[[bytearray], None]:
    def change(batch: bytearray) -> None:
        batch[position] = value

    return change


@pytest.mark.parametrize("compression", Compression)
@pytest.mark.parametrize("transactional", [True, False])
def test_a_stamped_batch_has_the_producer_and_the_same_records(compression: Compression, transactional: bool) -> None:
    encoded = finished(compression)
    batch = PreencodedBatch(PARTITION, 0, bytearray(encoded), check_finished(encoded))
    batch.producer_id, batch.producer_epoch, batch.base_sequence = 4711, 3, 42
    stamped = stamp(batch, transactional=transactional)
    header = parse_header(stamped)
    assert (header.producer_id, header.producer_epoch, header.base_sequence) == (4711, 3, 42)
    assert header.is_transactional is transactional
    assert header.compression == compression
    assert header.crc == compute_crc(stamped)
    expected = encode_batch(
        RECORDS,
        compression=compression,
        producer_id=4711,
        producer_epoch=3,
        base_sequence=42,
        transactional=transactional,
    )
    assert decode_batch(bytes(stamped)) == decode_batch(expected)


def test_a_batch_can_be_stamped_again() -> None:
    batch = PreencodedBatch(PARTITION, 0, bytearray(finished()), check_finished(finished()))
    for sequence in (5, 0):
        batch.producer_id, batch.producer_epoch, batch.base_sequence = 1, 1, sequence
        stamped = stamp(batch, transactional=True)
        assert parse_header(stamped).base_sequence == sequence
        assert parse_header(stamped).crc == compute_crc(stamped)


def test_without_a_producer_id_nothing_is_changed() -> None:
    batch = PreencodedBatch(PARTITION, 0, bytearray(finished()), check_finished(finished()))
    assert bytes(stamp(batch, transactional=False)) == finished()


def test_every_kind_of_buffer_is_taken() -> None:
    for buffer in (finished(), bytearray(finished()), memoryview(finished())):
        assert check_finished(buffer).record_count == 10


@pytest.mark.parametrize(
    ("batch", "problem"),
    [
        (b"", "0 bytes are not a record batch"),
        (finished()[:-1], "its header says .* bytes, and there are"),
        (finished() + finished(), "publish one batch at a time"),
        (finished()[:-1] + b"?", "its CRC is"),
        (changed(set_byte(16, 1)), "its format is 1"),
        (changed(set_attributes(0x20)), "it is a control batch"),
        (changed(set_attributes(0x07)), "its compression 7 is unknown"),
        (changed(set_attributes(0x08)), "LogAppendTime"),
        (changed(set_byte(60, 11)), "it has 11 records, the last one at offset delta 9"),
        (encode_batch(RECORDS, producer_id=7, producer_epoch=0, base_sequence=0), "it belongs to producer 7 already"),
    ],
)
def test_what_is_not_a_finished_batch_is_refused_with_the_reason(batch: bytes, problem: str) -> None:
    with pytest.raises(WrongUse, match=problem):
        check_finished(batch)

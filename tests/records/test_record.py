"""Records inside a batch: round trips, and bytes that lie."""

from __future__ import annotations

from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.decoding import decode_all

from tidelog.records.batch import (
    HEADER_SIZE,
    LOG_APPEND_TIME,
    CorruptBatch,
    compute_crc,
    parse_header,
    restamp_crc,
)
from tidelog.records.compression import Compression, compress
from tidelog.records.record import (
    NewRecord,
    Record,
    assemble_batch,
    decode_batch,
    decode_records,
    encode_batch,
    encode_retained,
)
from tidelog.records.varint import encode_varint

CODECS = list(Compression)
PLAIN: list[NewRecord] = [(1_000, b"a", b"1", ()), (1_001, b"b", b"2", ()), (1_002, b"c", b"3", ())]

timestamps = st.integers(min_value=-1, max_value=2**41)
payloads = st.none() | st.binary(max_size=300)
header_lists = st.lists(st.tuples(st.text(max_size=20), st.none() | st.binary(max_size=30)), max_size=4).map(tuple)
new_records = st.tuples(timestamps, payloads, payloads, header_lists)


def contents(records: list[Record]) -> list[NewRecord]:
    return [(record.timestamp, record.key, record.value, record.headers) for record in records]


@given(
    records=st.lists(new_records, min_size=1, max_size=150),
    codec=st.sampled_from(CODECS),
    base_offset=st.integers(0, 2**60),
    sequence=st.integers(0, 2**31 - 1),
)
def test_records_survive_a_round_trip_in_every_codec(
    records: list[NewRecord], codec: Compression, base_offset: int, sequence: int
) -> None:
    batch = encode_batch(
        records,
        base_offset=base_offset,
        compression=codec,
        producer_id=1,
        producer_epoch=0,
        base_sequence=sequence,
    )

    decoded = decode_batch(batch)
    assert contents(decoded) == records
    assert [record.offset for record in decoded] == list(range(base_offset, base_offset + len(records)))
    header = parse_header(batch)
    assert header.max_timestamp == max(record[0] for record in records)
    assert header.record_count == len(records)
    assert header.crc == compute_crc(batch)


@pytest.mark.parametrize("size", [0, 1, 62, 63, 64, 65, 8_190, 8_191, 8_192, 20_000, 1_100_000])
def test_every_length_of_a_length_is_read(size: int) -> None:
    record: NewRecord = (5, b"k" * size, b"v" * size, (("h" * size, b"w" * size),))

    assert contents(decode_batch(encode_batch([record]))) == [record]


def test_offset_and_timestamp_deltas_of_every_length_are_read() -> None:
    records: list[NewRecord] = [(10**12 + index**3 * (-1) ** index, None, b"", ()) for index in range(9_000)]

    decoded = decode_batch(encode_batch(records, base_offset=7))

    assert contents(decoded) == records
    assert [record.offset for record in decoded] == list(range(7, 9_007))


def test_log_append_time_is_the_timestamp_of_all_records() -> None:
    header = parse_header(encode_batch(PLAIN, timestamp_type=LOG_APPEND_TIME))
    batch = assemble_batch(header._replace(max_timestamp=5_000), encode_batch(PLAIN)[HEADER_SIZE:])

    assert {record.timestamp for record in decode_batch(batch)} == {5_000}


def test_all_whole_batches_are_read_and_control_batches_are_left_out() -> None:
    data = encode_batch(PLAIN[:2], base_offset=3, compression=Compression.ZSTD)
    control = encode_batch(PLAIN[:1], base_offset=5, control=True)
    last = encode_batch(PLAIN[2:], base_offset=6)

    records = decode_all(data + control + last + last[:-1])

    assert [record.offset for record in records] == [3, 4, 6]


def test_a_header_key_that_is_not_utf8_is_read_with_replacement_characters() -> None:
    batch = encode_batch([(0, b"k", b"v", (("ab", b"x"),))]).replace(b"\x04ab", b"\x04\xff\xfe")
    damaged = bytearray(batch)
    restamp_crc(damaged, 0, len(damaged))

    assert decode_batch(damaged)[0].headers == (("��", b"x"),)


def test_an_empty_batch_cannot_be_encoded() -> None:
    with pytest.raises(ValueError, match="at least one"):
        encode_batch([])


# Bytes that lie. The checksum is made right each time, so that it is the check in question that finds out.


def lying_batch(payload: bytes, count: int, *, codec: Compression = Compression.NONE) -> bytes:
    header = parse_header(encode_batch(PLAIN))
    return assemble_batch(
        header._replace(record_count=count, last_offset_delta=max(count - 1, 0), attributes=int(codec)),
        compress(codec, payload),
    )


def record_bytes(*fields: bytes, length: int | None = None) -> bytes:
    body = b"".join(fields)
    return encode_varint(len(body) if length is None else length) + body


ATTRIBUTES = b"\x00"
ZERO = b"\x00"
NULL = b"\x01"
KEY = b"\x02k"
VALUE = b"\x02v"
GOOD = record_bytes(ATTRIBUTES, ZERO, ZERO, KEY, VALUE, ZERO)


@pytest.mark.parametrize("codec", CODECS)
@pytest.mark.parametrize(
    ("payload", "count"),
    [
        pytest.param(GOOD, 0, id="fewer records claimed than there are"),
        pytest.param(GOOD, 2, id="more records claimed than there are"),
        pytest.param(GOOD, -1, id="negative count"),
        pytest.param(GOOD, 2**31 - 1, id="absurd count"),
        pytest.param(GOOD + b"\x00", 1, id="trailing byte"),
        pytest.param(GOOD + b"garbage", 1, id="trailing garbage"),
        pytest.param(GOOD[:-1], 1, id="cut short"),
        pytest.param(b"", 1, id="nothing"),
        pytest.param(record_bytes(ATTRIBUTES, ZERO, ZERO, KEY, VALUE, ZERO, length=-1), 1, id="negative length"),
        pytest.param(record_bytes(ATTRIBUTES, ZERO, ZERO, KEY, VALUE, ZERO, length=7), 1, id="length too small"),
        pytest.param(record_bytes(ATTRIBUTES, ZERO, ZERO, KEY, VALUE, ZERO, length=9), 1, id="length too large"),
        pytest.param(record_bytes(ATTRIBUTES, ZERO, ZERO, KEY, VALUE, ZERO, b"x"), 1, id="garbage in the record"),
        pytest.param(record_bytes(ATTRIBUTES, ZERO, ZERO, b"\x03k", VALUE, ZERO), 1, id="key length -2"),
        pytest.param(record_bytes(ATTRIBUTES, ZERO, ZERO, b"\x7ek", VALUE, ZERO), 1, id="key beyond the end"),
        pytest.param(record_bytes(ATTRIBUTES, ZERO, ZERO, KEY, b"\x03v", ZERO), 1, id="value length -2"),
        pytest.param(record_bytes(ATTRIBUTES, ZERO, ZERO, KEY, b"\x7ev", ZERO), 1, id="value beyond the end"),
        pytest.param(record_bytes(ATTRIBUTES, ZERO, ZERO, KEY, VALUE, b"\x01"), 1, id="header count -1"),
        pytest.param(record_bytes(ATTRIBUTES, ZERO, ZERO, KEY, VALUE, b"\x7e"), 1, id="headers beyond the end"),
        pytest.param(record_bytes(ATTRIBUTES, ZERO, ZERO, KEY, VALUE, encode_varint(2**31)), 1, id="header count bomb"),
        pytest.param(record_bytes(ATTRIBUTES, ZERO, ZERO, KEY, VALUE, b"\x02\x01\x00"), 1, id="null header key"),
        pytest.param(
            record_bytes(ATTRIBUTES, ZERO, ZERO, KEY, VALUE, b"\x02\x02h\x03"), 1, id="header value length -2"
        ),
        pytest.param(
            record_bytes(ATTRIBUTES, ZERO, ZERO, KEY, VALUE, b"\x02\x02h\x7e"), 1, id="header value beyond the end"
        ),
        pytest.param(GOOD + GOOD, 2, id="two records at one offset"),
        pytest.param(record_bytes(ATTRIBUTES, ZERO, b"\x01", KEY, VALUE, ZERO), 1, id="negative offset delta"),
        pytest.param(record_bytes(ATTRIBUTES, ZERO, b"\x04", KEY, VALUE, ZERO), 1, id="offset beyond the batch"),
        pytest.param(record_bytes(ATTRIBUTES, b"\xff" * 11, ZERO, KEY, VALUE, ZERO), 1, id="endless number"),
    ],
)
def test_a_lie_in_the_records_is_found_in_every_codec(payload: bytes, count: int, codec: Compression) -> None:
    with pytest.raises(CorruptBatch):
        decode_batch(lying_batch(payload, count, codec=codec))


def test_the_honest_twin_of_the_lies_is_read() -> None:
    assert decode_batch(lying_batch(GOOD, 1)) == [Record(0, 1_000, b"k", b"v")]


@pytest.mark.parametrize("change", [-1, 1, 2**31 - 1 - 200])
def test_a_batch_must_be_as_long_as_it_says(change: int) -> None:
    batch = bytearray(encode_batch(PLAIN))
    batch[8:12] = (len(batch) - 12 + change).to_bytes(4, "big")

    with pytest.raises(CorruptBatch):
        decode_batch(batch)


@pytest.mark.parametrize("magic", [0, 1, 3, 255])
def test_other_formats_are_not_read(magic: int) -> None:
    batch = bytearray(encode_batch(PLAIN))
    batch[16] = magic

    with pytest.raises(CorruptBatch, match="magic"):
        decode_batch(batch)


@pytest.mark.parametrize("codec", [5, 6, 7])
def test_unknown_codecs_are_corrupt(codec: int) -> None:
    batch = bytearray(encode_batch(PLAIN))
    batch[22] = codec
    restamp_crc(batch, 0, len(batch))

    with pytest.raises(CorruptBatch, match="compression type"):
        decode_batch(batch)


def test_a_wrong_checksum_is_found_unless_the_caller_has_checked_it() -> None:
    batch = bytearray(encode_batch(PLAIN))
    batch[17] ^= 0xFF

    with pytest.raises(CorruptBatch, match="checksum"):
        decode_batch(batch)
    assert contents(decode_batch(batch, check_crc=False)) == PLAIN


@pytest.mark.parametrize("codec", CODECS)
def test_records_that_unpack_to_more_than_the_bound_are_not_read(codec: Compression) -> None:
    batch = encode_batch([(0, b"k", bytes(100_000), ())], compression=codec)

    assert len(decode_batch(batch, max_decompressed_bytes=101_000)) == 1
    with pytest.raises(CorruptBatch):
        decode_batch(batch, max_decompressed_bytes=100_000)


@given(data=st.data(), codec=st.sampled_from(CODECS), recompute=st.booleans())
def test_damage_never_shows_as_anything_but_a_corrupt_batch(
    data: st.DataObject, codec: Compression, recompute: bool
) -> None:
    records: list[NewRecord] = [
        (1_000 + index, b"key" if index % 2 else None, b"v" * index, (("h", b"x"),) if index % 3 else ())
        for index in range(40)
    ]
    batch = bytearray(encode_batch(records, compression=codec))
    for _ in range(data.draw(st.integers(1, 3))):
        batch[data.draw(st.integers(0, len(batch) - 1))] = data.draw(st.integers(0, 255))
    batch = batch[: data.draw(st.integers(0, len(batch)))] if data.draw(st.booleans()) else batch
    if recompute and len(batch) > HEADER_SIZE:
        restamp_crc(batch, 0, len(batch))

    with suppress(CorruptBatch):
        decode_batch(batch, max_decompressed_bytes=1 << 20)
    with suppress(CorruptBatch):
        decode_all(batch, max_decompressed_bytes=1 << 20)


@given(st.binary(max_size=120), st.integers(-2, 12))
def test_random_payloads_never_show_as_anything_but_a_corrupt_batch(payload: bytes, count: int) -> None:
    header = parse_header(lying_batch(GOOD, 1))._replace(record_count=count)

    with suppress(CorruptBatch):
        decode_records(header, payload)


# Compaction


@pytest.mark.parametrize("codec", CODECS)
def test_retained_records_keep_their_offsets_and_their_batch_its_range(codec: Compression) -> None:
    batch = encode_batch(
        PLAIN, base_offset=10, compression=codec, producer_id=4, producer_epoch=2, base_sequence=8, transactional=True
    )
    header = parse_header(batch)
    kept = [decode_batch(batch)[1]]

    rewritten = encode_retained(header, kept)

    assert decode_batch(rewritten) == kept
    after = parse_header(rewritten)
    assert (after.base_offset, after.last_offset) == (10, 12)
    assert (after.producer_id, after.producer_epoch, after.base_sequence, after.last_sequence) == (4, 2, 8, 10)
    assert after.attributes == header.attributes
    assert (after.record_count, after.max_timestamp) == (1, 1_001)


@pytest.mark.parametrize("codec", CODECS)
def test_an_emptied_batch_still_tells_its_producers_last_sequence(codec: Compression) -> None:
    header = parse_header(
        encode_batch(PLAIN, base_offset=10, compression=codec, producer_id=4, producer_epoch=2, base_sequence=8)
    )

    emptied = encode_retained(header, [])

    assert decode_batch(emptied) == []
    after = parse_header(emptied)
    assert (after.last_offset, after.last_sequence, after.record_count) == (12, 10, 0)
    assert after.max_timestamp == after.base_timestamp == header.max_timestamp
    assert after.compression == Compression.NONE


def test_a_delete_horizon_replaces_the_base_timestamp_but_no_records_timestamp() -> None:
    header = parse_header(encode_batch(PLAIN, base_offset=10))
    kept = decode_batch(encode_batch(PLAIN, base_offset=10))

    rewritten = encode_retained(header, kept, delete_horizon_ms=777_000)

    after = parse_header(rewritten)
    assert after.has_delete_horizon
    assert after.base_timestamp == 777_000
    assert decode_batch(rewritten) == kept

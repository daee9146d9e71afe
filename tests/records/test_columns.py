"""Records as columns: the same as records as objects, in both directions."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tidelog.records.batch import HEADER_SIZE, LOG_APPEND_TIME, BatchHeader, CorruptBatch, parse_header, restamp_crc
from tidelog.records.columns import (
    BinaryColumn,
    Columns,
    FinishedBatch,
    HeadersColumn,
    RowEncoder,
    RowSource,
    decode_columns,
    rows_by_partition,
)
from tidelog.records.compression import Compression
from tidelog.records.hashing import murmur2
from tidelog.records.record import NewRecord, Record, decode_batch, encode_batch

CODECS = list(Compression)
PLAIN: list[NewRecord] = [(1_000, b"a", b"1", ()), (1_001, b"b", b"2", ()), (1_002, b"c", b"3", ())]

timestamps = st.integers(min_value=-1, max_value=2**41)
payloads = st.none() | st.binary(max_size=300)
header_lists = st.lists(st.tuples(st.text(max_size=20), st.none() | st.binary(max_size=30)), max_size=4).map(tuple)
new_records = st.tuples(timestamps, payloads, payloads, header_lists)
record_lists = st.lists(new_records, min_size=1, max_size=60)


def numbers(buffer: Any, kind: Any) -> list[int]:
    found: list[int] = memoryview(buffer).cast("B").cast(kind).tolist()
    return found


def cells(column: BinaryColumn, count: int) -> list[bytes | None]:
    offsets = numbers(column.offsets, "i")
    data = bytes(column.data)
    values: list[bytes | None] = []
    for row in range(column.first, column.first + count):
        valid = column.validity is None or column.validity[row >> 3] >> (row & 7) & 1
        values.append(data[offsets[row] : offsets[row + 1]] if valid else None)
    return values


def rows(columns: Columns) -> list[Record]:
    count = columns.row_count
    headers: list[tuple[tuple[str, bytes | None], ...]] = [()] * count
    if columns.headers is not None:
        bounds = numbers(columns.headers.offsets, "i")
        total = bounds[-1]
        names = cells(columns.headers.keys, total)
        values = cells(columns.headers.values, total)
        singles = [(bytes(name or b"").decode(), value) for name, value in zip(names, values, strict=True)]
        headers = [tuple(singles[bounds[row] : bounds[row + 1]]) for row in range(count)]
    return [
        Record(*parts)
        for parts in zip(
            numbers(columns.offsets, "q"),
            numbers(columns.timestamps, "q"),
            cells(columns.keys, count),
            cells(columns.values, count),
            headers,
            strict=True,
        )
    ]


def with_headers(batches: list[bytes]) -> list[tuple[BatchHeader, bytes]]:
    return [(parse_header(batch), batch) for batch in batches]


# Reading


@given(
    parts=st.lists(record_lists, min_size=1, max_size=4),
    codec=st.sampled_from(CODECS),
    base_offset=st.integers(0, 2**50),
)
def test_columns_hold_what_the_records_hold(parts: list[list[NewRecord]], codec: Compression, base_offset: int) -> None:
    batches = []
    for part in parts:
        batches.append(encode_batch(part, base_offset=base_offset, compression=codec))
        base_offset += len(part)

    columns = decode_columns(with_headers(batches), with_headers=True)

    assert rows(columns) == [record for batch in batches for record in decode_batch(batch)]


@given(records=record_lists, start=st.integers(-3, 70), length=st.integers(0, 70))
def test_only_wanted_offsets_become_rows(records: list[NewRecord], start: int, length: int) -> None:
    batch = encode_batch(records, base_offset=100)

    columns = decode_columns(with_headers([batch]), wanted_from=100 + start, wanted_until=100 + start + length)

    wanted = [one._replace(headers=()) for one in decode_batch(batch) if 0 <= one.offset - 100 - start < length]
    assert rows(columns) == wanted


def test_no_batches_are_no_rows() -> None:
    columns = decode_columns([], with_headers=True)

    assert columns.row_count == 0
    assert rows(columns) == []


def test_log_append_time_is_the_timestamp_of_all_rows() -> None:
    stamped = encode_batch(PLAIN, timestamp_type=LOG_APPEND_TIME)
    created = encode_batch(PLAIN[:2], base_offset=3)

    columns = decode_columns(with_headers([stamped, created]))

    assert numbers(columns.timestamps, "q") == [1_002, 1_002, 1_002, 1_000, 1_001]
    assert numbers(columns.timestamp_types, "i") == [1, 1, 1, 0, 0]


def test_columns_without_nulls_need_no_validity() -> None:
    columns = decode_columns(with_headers([encode_batch(PLAIN), encode_batch([(0, None, b"", ())], base_offset=3)]))

    assert columns.values.validity is None
    assert columns.values.nulls == 0
    assert columns.keys.nulls == 1
    assert columns.keys.validity is not None


def test_a_header_key_that_is_not_utf8_is_read_with_replacement_characters() -> None:
    batch = encode_batch([(0, b"k", b"v", (("ab", b"x"), ("é", None)))]).replace(b"\x04ab", b"\x04\xff\xfe")
    damaged = bytearray(batch)
    restamp_crc(damaged, 0, len(damaged))

    columns = decode_columns(with_headers([bytes(damaged)]), with_headers=True)

    assert rows(columns) == decode_batch(damaged)


@given(data=st.data(), codec=st.sampled_from([Compression.NONE, Compression.LZ4]))
def test_damage_shows_in_columns_where_it_shows_in_records(data: st.DataObject, codec: Compression) -> None:
    records: list[NewRecord] = [
        (1_000 + index, b"key" if index % 2 else None, b"v" * index, (("h", b"x"),) if index % 3 else ())
        for index in range(20)
    ]
    batch = bytearray(encode_batch(records, compression=codec))
    for _ in range(data.draw(st.integers(1, 3))):
        batch[data.draw(st.integers(HEADER_SIZE - 4, len(batch) - 1))] = data.draw(st.integers(0, 255))
    restamp_crc(batch, 0, len(batch))

    expected: list[Record] | None = None
    with suppress(CorruptBatch):
        expected = decode_batch(batch, max_decompressed_bytes=1 << 20)
    found: list[Record] | None = None
    with suppress(CorruptBatch):
        found = rows(decode_columns([(parse_header(batch), batch)], with_headers=True, max_decompressed_bytes=1 << 20))

    assert found == expected


# Writing


def binary(values: list[bytes | None], *, before: int = 0) -> BinaryColumn:
    """As Arrow has it in a slice: `before` rows come before the first."""
    values = [*[b"other"] * before, *values]
    bounds = [0]
    validity = bytearray((len(values) + 7) // 8)
    for row, value in enumerate(values):
        bounds.append(bounds[-1] + len(value or b""))
        if value is not None:
            validity[row >> 3] |= 1 << (row & 7)
    offsets = b"".join(bound.to_bytes(4, "little") for bound in bounds)
    return BinaryColumn(
        validity if None in values else None, offsets, b"".join(value or b"" for value in values), before
    )


def source(records: list[NewRecord], *, before: int = 0) -> RowSource:
    headers = [header for record in records for header in record[3]]
    bounds = [0] * before
    at = 0
    for record in records:
        bounds.append(at)
        at += len(record[3])
    bounds.append(at)
    return RowSource(
        len(records),
        binary([None if record[1] is None else bytes(record[1]) for record in records], before=before),
        binary([None if record[2] is None else bytes(record[2]) for record in records], before=before),
        HeadersColumn(
            None,
            b"".join(bound.to_bytes(4, "little") for bound in bounds),
            binary([name.encode() for name, _ in headers]),
            binary([value for _, value in headers]),
            before,
        ),
        b"".join(record[0].to_bytes(8, "little", signed=True) for record in records),
        0,
    )


def all_rows(count: int) -> bytes:
    return b"".join(row.to_bytes(4, "little") for row in range(count))


@given(records=record_lists, codec=st.sampled_from(CODECS), before=st.integers(0, 9))
def test_rows_become_the_batch_that_their_records_would(
    records: list[NewRecord], codec: Compression, before: int
) -> None:
    encoder = RowEncoder(source(records, before=before))

    (finished,) = encoder.encode(all_rows(len(records)), batch_size=1 << 20, compression=codec)

    assert finished.data == encode_batch(records, compression=codec)
    assert finished.record_count == len(records)
    assert finished.max_timestamp == max(record[0] for record in records)


@given(records=record_lists, batch_size=st.integers(0, 2_000), data=st.data())
def test_batches_hold_the_chosen_rows_in_order_and_no_more_than_their_size(
    records: list[NewRecord], batch_size: int, data: st.DataObject
) -> None:
    chosen = data.draw(st.lists(st.integers(0, len(records) - 1), max_size=len(records), unique=True))
    encoder = RowEncoder(source(records))

    batches: list[FinishedBatch] = list(
        encoder.encode(b"".join(row.to_bytes(4, "little") for row in chosen), batch_size=batch_size)
    )

    read = [record for batch in batches for record in decode_batch(batch.data)]
    assert [record[1:] for record in read] == [records[row] for row in chosen]
    for batch in batches:
        assert len(batch.data) <= batch_size or batch.record_count == 1
        assert parse_header(batch.data).record_count == batch.record_count
        assert parse_header(batch.data).producer_id == -1


def test_columns_that_are_missing_are_null_and_the_time_is_now() -> None:
    encoder = RowEncoder(RowSource(2, None, binary([b"x", None]), None, None, 77))

    (finished,) = encoder.encode(all_rows(2), batch_size=1_000)

    assert finished.data == encode_batch([(77, None, b"x", ()), (77, None, None, ())])


GOOD = BinaryColumn(None, bytes(8) + (3).to_bytes(4, "little"), b"abc")


@pytest.mark.parametrize(
    "column",
    [
        pytest.param(GOOD._replace(data=b"ab"), id="data too short"),
        pytest.param(GOOD._replace(offsets=GOOD.offsets[:8]), id="offsets too few"),
        pytest.param(GOOD._replace(first=1), id="first row too late"),
        pytest.param(GOOD._replace(first=-1), id="negative first row"),
        pytest.param(GOOD._replace(offsets=bytes(4) + b"\xff" * 4 + bytes(4)), id="negative offset"),
        pytest.param(GOOD._replace(offsets=b"\x03\0\0\0" + bytes(8)), id="offsets that go back"),
        pytest.param(GOOD._replace(validity=b""), id="validity too short"),
    ],
)
def test_columns_that_lie_about_their_memory_are_refused(column: BinaryColumn) -> None:
    with pytest.raises(ValueError, match="column"):
        RowEncoder(RowSource(2, None, column, None, None, 0))
    with pytest.raises(ValueError, match=r"column|key"):
        RowEncoder(RowSource(2, None, None, None, None, 0)).partitions(column, 3, run_bytes=1, first_partition=0)
    headers = HeadersColumn(None, bytes(8) + (2).to_bytes(4, "little"), column, GOOD)
    with pytest.raises(ValueError, match="column"):
        RowEncoder(RowSource(2, None, None, headers, None, 0))


@pytest.mark.parametrize("offsets", [(0, 3, 2), (0, -1, 2), (-1, 0, 2), (0, 2)])
def test_headers_that_are_not_there_are_refused(offsets: tuple[int, ...]) -> None:
    column = HeadersColumn(None, b"".join(one.to_bytes(4, "little", signed=True) for one in offsets), GOOD, GOOD)

    with pytest.raises(ValueError, match=r"headers|column"):
        RowEncoder(RowSource(2, None, None, column, None, 0))


def test_rows_timestamps_and_partitions_that_are_not_there_are_refused() -> None:
    encoder = RowEncoder(RowSource(2, None, GOOD, None, None, 0))
    for row in (-1, 2):
        with pytest.raises(IndexError, match="does not exist"):
            list(encoder.encode(row.to_bytes(4, "little", signed=True), batch_size=100))
    with pytest.raises(ValueError, match="timestamps"):
        RowEncoder(RowSource(2, None, GOOD, None, bytes(8), 0))
    with pytest.raises(ValueError, match="too few"):
        encoder.partitions(None, 3, chosen=bytes(4), run_bytes=1, first_partition=0)
    with pytest.raises(ValueError, match="too few"):
        rows_by_partition(bytes(4), 2, 3)
    for partition in (-1, 3):
        with pytest.raises(ValueError, match=r"is not in \[0, 3\)"):
            rows_by_partition(partition.to_bytes(4, "little", signed=True), 1, 3)


# Partitions


@given(keys=st.lists(st.none() | st.binary(max_size=40), min_size=1, max_size=80), count=st.integers(1, 50))
def test_keys_choose_the_partition_that_java_chooses(keys: list[bytes | None], count: int) -> None:
    column = binary(keys, before=3)
    encoder = RowEncoder(RowSource(len(keys), column, None, None, None, 0))

    partitions, _ = encoder.partitions(column, count, run_bytes=1, first_partition=0)

    for key, partition in zip(keys, numbers(partitions, "i"), strict=True):
        if key is not None:
            assert partition == (murmur2(key) & 0x7FFFFFFF) % count
        assert 0 <= partition < count


def test_rows_without_a_key_stay_with_a_partition_for_a_run_of_bytes() -> None:
    encoder = RowEncoder(RowSource(9, None, binary([b"x" * 92] * 9), None, None, 0))

    partitions, go_on = encoder.partitions(None, 3, run_bytes=250, first_partition=2)
    after, _ = encoder.partitions(None, 3, run_bytes=250, first_partition=go_on)

    assert numbers(partitions, "i") == [2, 2, 2, 0, 0, 0, 1, 1, 1]
    assert numbers(after, "i")[0] == 1


def test_a_partition_that_was_chosen_stays() -> None:
    column = binary([b"k", None, b"k"])
    encoder = RowEncoder(RowSource(3, column, None, None, None, 0))
    chosen = b"".join(number.to_bytes(4, "little", signed=True) for number in (7, 5, -1))

    partitions, _ = encoder.partitions(column, 10, chosen=chosen, run_bytes=1, first_partition=0)

    assert numbers(partitions, "i") == [7, 5, (murmur2(b"k") & 0x7FFFFFFF) % 10]


@given(st.lists(st.integers(0, 6), max_size=60))
def test_rows_of_a_partition_are_together_in_their_order(chosen: list[int]) -> None:
    grouped = rows_by_partition(b"".join(one.to_bytes(4, "little") for one in chosen), len(chosen), 7)

    assert {partition: list(some) for partition, some in grouped} == {
        partition: [row for row, one in enumerate(chosen) if one == partition] for partition in set(chosen)
    }


def test_a_column_cannot_hold_more_than_its_offsets_can_say(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tidelog.records.columns.MAX_COLUMN_BYTES", 20)

    with pytest.raises(ValueError, match="pass fewer"):
        decode_columns(with_headers([encode_batch(PLAIN)]))

"""Records as Arrow's RecordBatch: equal to records as objects, in the types that Spark wants."""

from __future__ import annotations

import subprocess
import sys
from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tidelog.client.arrow import EncodedBatch, UnfitRows, arrow_schema, encode_rows, records_to_arrow
from tidelog.client.producer.partitioner import partition_for_key
from tidelog.records.batch import LOG_APPEND_TIME, parse_header
from tidelog.records.compression import Compression
from tidelog.records.record import NewRecord, decode_batch, encode_batch

pa = pytest.importorskip("pyarrow")

NOW = 1_700_000_000_000

timestamps = st.integers(min_value=0, max_value=2**41)
payloads = st.none() | st.binary(max_size=60)
header_lists = st.lists(st.tuples(st.text(max_size=8), st.none() | st.binary(max_size=9)), max_size=3).map(tuple)
new_records = st.tuples(timestamps, payloads, payloads, header_lists)
record_lists = st.lists(new_records, min_size=1, max_size=40)


def read(batches: list[bytes], **options: Any) -> Any:
    rows = records_to_arrow("orders", 3, [(parse_header(one), one) for one in batches], **options)
    rows.validate(full=True)
    return rows


def milliseconds(moment: datetime) -> int:
    return round((moment - datetime(1970, 1, 1, tzinfo=UTC)).total_seconds() * 1000)


# Reading


@given(records=record_lists, codec=st.sampled_from(list(Compression)))
def test_rows_hold_what_the_records_hold(records: list[NewRecord], codec: Compression) -> None:
    batch = encode_batch(records, base_offset=50, compression=codec)

    rows = read([batch], with_headers=True)

    assert rows.schema.equals(arrow_schema(with_headers=True))
    expected = decode_batch(batch)
    assert rows.column("key").to_pylist() == [record.key for record in expected]
    assert rows.column("value").to_pylist() == [record.value for record in expected]
    assert rows.column("offset").to_pylist() == [record.offset for record in expected]
    assert set(rows.column("topic").to_pylist()) == {"orders"}
    assert set(rows.column("partition").to_pylist()) == {3}
    assert rows.column("timestamp").cast(pa.int64()).to_pylist() == [record.timestamp * 1000 for record in expected]
    assert rows.column("headers").to_pylist() == [
        [{"key": key, "value": value} for key, value in record.headers] for record in expected
    ]


def test_the_schema_is_that_of_sparks_kafka_source() -> None:
    sql = pytest.importorskip("pyspark.sql.pandas.types")
    from tidelog.spark.source.schema import source_columns

    for headers in (False, True):
        expected = sql.to_arrow_schema(source_columns(include_headers=headers), timezone="UTC")
        assert arrow_schema(with_headers=headers).equals(expected)


def test_batches_without_rows_that_are_wanted_are_an_empty_record_batch() -> None:
    rows = read([encode_batch([(1, None, b"x", (("h", b"v"),))])], wanted_from=1, with_headers=True)

    assert rows.num_rows == 0
    assert rows.schema.equals(arrow_schema(with_headers=True))


def test_the_timestamp_type_is_that_of_the_batch() -> None:
    stamped = encode_batch([(5, None, b"x", ()), (9, None, b"y", ())], timestamp_type=LOG_APPEND_TIME)

    rows = read([stamped])

    assert rows.column("timestampType").to_pylist() == [1, 1]
    assert [milliseconds(moment) for moment in rows.column("timestamp").to_pylist()] == [9, 9]


# Writing


def table(records: list[NewRecord], **columns: Any) -> Any:
    header = pa.list_(pa.struct([("key", pa.string()), ("value", pa.binary())]))
    arrays = {
        "key": pa.array([record[1] for record in records], pa.binary()),
        "value": pa.array([record[2] for record in records], pa.binary()),
        "timestamp": pa.array([record[0] * 1000 for record in records], pa.timestamp("us", tz="UTC")),
        "headers": pa.array([[{"key": k, "value": v} for k, v in record[3]] for record in records], header),
        **columns,
    }
    return pa.RecordBatch.from_pydict(arrays)


def encode(rows: Any, **options: Any) -> list[EncodedBatch]:
    settings = {"partition_counts": {"orders": 5, "bills": 2}, "now_ms": NOW, "topic": "orders", **options}
    return list(encode_rows(rows, **settings))


def stored(batches: list[EncodedBatch]) -> dict[tuple[str, int], list[NewRecord]]:
    found: dict[tuple[str, int], list[NewRecord]] = {}
    for batch in batches:
        records = decode_batch(batch.data)
        assert len(records) == batch.record_count
        found.setdefault((batch.topic, batch.partition), []).extend(record[1:] for record in records)
    return found


@given(records=record_lists, skipped=st.integers(0, 5), batch_size=st.integers(100, 2_000))
def test_each_row_becomes_a_record_in_the_partition_of_its_key(
    records: list[NewRecord], skipped: int, batch_size: int
) -> None:
    # Slices begin in the middle of their buffers.
    rows = table(records).slice(skipped)
    wanted = records[skipped:]

    batches = encode(rows, with_timestamps=True, batch_size=batch_size)

    found = stored(batches)
    keyed: dict[tuple[str, int], list[NewRecord]] = {}
    for record in wanted:
        if record[1] is not None:
            keyed.setdefault(("orders", partition_for_key(bytes(record[1]), 5)), []).append(record)
    assert {
        place: some
        for place, all_of_it in found.items()
        if (some := [record for record in all_of_it if record[1] is not None])
    } == keyed
    keyless = [record for record in wanted if record[1] is None]
    assert sorted(map(repr, keyless)) == sorted(repr(one) for some in found.values() for one in some if one[1] is None)


def test_rows_that_were_read_can_be_written_again() -> None:
    records: list[NewRecord] = [(NOW + n, b"k%d" % n, None if n % 3 else b"v", (("h", b"x"),)) for n in range(30)]
    rows = read([encode_batch(records)], with_headers=True)

    batches = encode(rows, topic="bills", with_timestamps=True, partition_counts={"bills": 4})

    assert set(stored(batches)) == {("bills", 3)}
    assert stored(batches)["bills", 3] == records


def test_the_topic_column_decides_unless_a_topic_is_given() -> None:
    records: list[NewRecord] = [(1, None, b"%d" % n, ()) for n in range(4)]
    rows = table(records, topic=pa.array(["bills", "orders", "bills", "orders"]))

    by_column = stored(encode(rows, topic=None))
    given_one = stored(encode(rows, topic="orders"))

    values = {place: [record[2] for record in some] for place, some in by_column.items()}
    assert values == {("bills", 0): [b"0", b"2"], ("orders", 0): [b"1", b"3"]}
    assert {topic for topic, _ in given_one} == {"orders"}


def test_a_partition_column_wins_over_the_key_where_it_is_not_null() -> None:
    records: list[NewRecord] = [(1, b"k", b"a", ()), (1, b"k", b"b", ())]
    rows = table(records, partition=pa.array([4, None], pa.int32()))

    found = stored(encode(rows))

    assert [record[2] for record in found["orders", 4]] == [b"a"]
    assert [record[2] for record in found["orders", partition_for_key(b"k", 5)]] == [b"b"]


def test_text_and_large_and_missing_columns_are_taken() -> None:
    rows = pa.RecordBatch.from_pydict(
        {"key": pa.array(["ä", None]), "value": pa.array([b"1", b"2"], pa.large_binary())}
    )

    found = stored(encode(rows))

    assert found["orders", partition_for_key("ä".encode(), 5)][0] == (NOW, "ä".encode(), b"1", ())


@pytest.mark.parametrize(
    ("columns", "options", "problem"),
    [
        ({"value": None}, {}, "no column `value`"),
        ({"value": pa.array([1])}, {}, "'value' is int64"),
        ({"key": pa.array([1.5])}, {}, "'key' is double"),
        ({"headers": pa.array(["x"])}, {}, "'headers' is string"),
        ({"headers": pa.array([[{"key": None, "value": b""}]])}, {}, "no key"),
        ({"partition": pa.array([5])}, {}, "partitions 0 to 4, not 5"),
        ({"partition": pa.array([-1])}, {}, "not -1"),
        ({"partition": pa.array(["1"])}, {}, "'partition' is string"),
        ({}, {"topic": None}, "neither a topic"),
        ({"topic": pa.array([None], pa.string())}, {"topic": None}, "null in some rows"),
        ({}, {"topic": "other"}, "'other' has no number of partitions; given are those of bills, orders"),
        ({"timestamp": None}, {"with_timestamps": True}, "no column `timestamp`"),
        ({"timestamp": pa.array([3])}, {"with_timestamps": True}, "'timestamp' is int64"),
    ],
)
def test_rows_that_cannot_be_written_are_refused_with_the_reason(
    columns: dict[str, Any], options: dict[str, Any], problem: str
) -> None:
    arrays = {name: array for name, array in {"value": pa.array([b"x"]), **columns}.items() if array is not None}
    if not arrays:
        arrays = {"other": pa.array([1])}

    with pytest.raises(UnfitRows, match=problem):
        encode(pa.RecordBatch.from_pydict(arrays), **options)


def test_without_pyarrow_the_error_names_the_extra() -> None:
    code = """
import sys
sys.modules["pyarrow"] = None
from tidelog.client.arrow import ArrowMissing, arrow_schema
try:
    arrow_schema()
except ArrowMissing as error:
    print(error)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60)

    assert "tidelog[arrow]" in done.stdout

"""From rows to finished record batches."""

from __future__ import annotations

import time
from collections import Counter, defaultdict
from collections.abc import Callable
from datetime import UTC, datetime

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tidelog.client.producer.partitioner import partition_for_key
from tidelog.records.batch import parse_header
from tidelog.records.columns import BinaryColumn
from tidelog.records.content_digest import ContentDigest
from tidelog.records.record import Record, decode_batch
from tidelog.spark.sink.columns import SinkColumns
from tidelog.spark.sink.encode import TaskEncoder
from tidelog.spark.sink.encode_columns import binary_column
from tidelog.spark.sink.errors import InvalidColumns, MessageTooLarge, UnknownTopic
from tidelog.spark.sink.options import sink_options
from tidelog.spark.sink.plan import SinkPlan
from tidelog.spark.sink.staging import StagingFolder

HEADERS = pa.list_(pa.struct([("key", pa.string()), ("value", pa.binary())]))

Written = dict[tuple[str, int], list[Record]]


def plan(columns: list[str], counts: dict[str, int], **given: str) -> SinkPlan:
    return SinkPlan(
        options=sink_options({"kafka.bootstrap.servers": "127.0.0.1:9092", **given}),
        columns=SinkColumns(**{name: index for index, name in enumerate(columns)}),
        partition_counts=counts,
        folder=StagingFolder(parent="/nowhere", name="unused", exclusive=True),
    )


def encode(
    plan: SinkPlan, *pieces: pa.RecordBatch, task: int = 0, find_topic: Callable[[str], int] | None = None
) -> tuple[Written, list[bytes]]:
    written: Written = defaultdict(list)
    batches: list[bytes] = []

    def emit(topic: str, partition: int, rows: int, batch: bytes) -> None:
        records = decode_batch(batch)
        assert len(records) == rows
        written[topic, partition] += records
        batches.append(batch)

    encoder = TaskEncoder(plan, emit, task=task, find_topic=find_topic)
    for piece in pieces:
        encoder.add(piece)
    encoder.finish()
    return written, batches


@pytest.mark.parametrize("kind", [pa.binary(), pa.string(), pa.large_binary(), pa.large_string()])
def test_a_slice_of_any_kind_of_text_or_bytes_is_written_from_its_first_row(kind: pa.DataType) -> None:
    column = pa.array(["a", "bb", "ccc"]).cast(kind).slice(1)

    assert binary_cells(binary_column(column), 2) == [b"bb", b"ccc"]


def binary_cells(column: BinaryColumn, count: int) -> list[bytes]:
    offsets = memoryview(column.offsets).cast("B").cast("i")
    data = bytes(column.data)
    return [data[offsets[column.first + row] : offsets[column.first + row + 1]] for row in range(count)]


def test_rows_with_keys_go_where_java_would_put_them() -> None:
    keys = [f"key-{number}".encode() for number in range(200)]
    rows = pa.record_batch({"value": [b"v%d" % number for number in range(200)], "key": keys})

    written, _ = encode(plan(["value", "key"], {"t": 7}, topic="t"), rows)

    assert {key for records in written.values() for key in (record.key for record in records)} == set(keys)
    for (_, partition), records in written.items():
        assert all(partition_for_key(record.key or b"", 7) == partition for record in records)
        numbers = [int((record.value or b"")[1:]) for record in records]
        assert numbers == sorted(numbers)


def test_rows_without_keys_fill_one_partition_after_the_other() -> None:
    rows = pa.record_batch({"value": [b"x" * 100] * 1000})

    written, batches = encode(plan(["value"], {"t": 3}, **{"topic": "t", "kafka.batch.size": "12000"}), rows, task=1)

    sizes = {partition: len(records) for (_, partition), records in written.items()}
    assert sum(sizes.values()) == 1000
    # About 100 rows fill a batch; some ten runs over three partitions, of which this task begins with the second.
    assert all(200 < size < 500 for size in sizes.values())
    assert len(batches) < 20


def test_named_partition_wins_over_the_key_and_null_names_none() -> None:
    rows = pa.record_batch(
        {
            "value": ["a", "b", "c"],
            "key": ["same", "same", "same"],
            "partition": pa.array([3, None, 0], pa.int32()),
        }
    )

    written, _ = encode(plan(["value", "key", "partition"], {"t": 5}, topic="t"), rows)

    by_key = partition_for_key(b"same", 5)
    where = {record.value: partition for (_, partition), records in written.items() for record in records}
    assert where == {b"a": 3, b"b": by_key, b"c": 0}


def test_column_topic_spreads_rows_over_topics() -> None:
    rows = pa.record_batch({"value": ["a", "b", "c"], "topic": ["x", "y", "x"]})

    written, _ = encode(plan(["value", "topic"], {"x": 1, "y": 1}), rows)

    assert [record.value for record in written["x", 0]] == [b"a", b"c"]
    assert [record.value for record in written["y", 0]] == [b"b"]


def test_nulls_headers_and_times_are_kept() -> None:
    when = datetime(2026, 1, 2, 3, 4, 5, 678_999, tzinfo=UTC)
    rows = pa.record_batch(
        {
            "value": pa.array([None, b""], pa.binary()),
            "key": pa.array([None, b""], pa.binary()),
            "headers": pa.array([[{"key": "a", "value": b"1"}, {"key": "b", "value": None}], None], HEADERS),
            "timestamp": pa.array([when, when], pa.timestamp("us", tz="UTC")),
        }
    )

    columns = ["value", "key", "headers", "timestamp"]
    written, _ = encode(plan(columns, {"t": 1}, topic="t", includeTimestamp="true"), rows)

    first, second = written["t", 0]
    milliseconds = int(when.timestamp() * 1000)
    assert (first.key, first.value, first.headers) == (None, None, (("a", b"1"), ("b", None)))
    assert (second.key, second.value, second.headers) == (b"", b"", ())
    assert (first.timestamp, second.timestamp) == (milliseconds, milliseconds)


def test_batches_are_finished_but_for_the_producer() -> None:
    rows = pa.record_batch({"value": ["a" * 1000] * 50})

    _, batches = encode(plan(["value"], {"t": 1}, topic="t", compression="zstd"), rows)

    header = parse_header(batches[0])
    assert (header.producer_id, header.producer_epoch, header.base_sequence) == (-1, -1, -1)
    assert (header.record_count, header.compression, header.is_transactional) == (50, 4, False)
    assert len(batches[0]) < 1000


def test_large_text_types_are_taken_too() -> None:
    rows = pa.record_batch({"value": pa.array(["ä"], pa.large_string()), "key": pa.array([b"k"], pa.large_binary())})

    written, _ = encode(plan(["value", "key"], {"t": 1}, topic="t"), rows)

    assert (written["t", 0][0].key, written["t", 0][0].value) == (b"k", "ä".encode())


def test_null_topic_is_refused() -> None:
    rows = pa.record_batch({"value": ["a"], "topic": pa.array([None], pa.string())})

    with pytest.raises(InvalidColumns, match="`topic` is null in 1 rows"):
        encode(plan(["value", "topic"], {"x": 1}), rows)


def test_a_topic_that_the_driver_has_not_seen_is_asked_for_once() -> None:
    rows = pa.record_batch({"value": ["a", "b", "c"], "topic": ["new", "x", "new"]})
    asked: list[str] = []

    def find(topic: str) -> int:
        asked.append(topic)
        return 1

    written, _ = encode(plan(["value", "topic"], {"x": 1}), rows, rows, find_topic=find)

    assert asked == ["new"]
    assert [record.value for record in written["new", 0]] == [b"a", b"c", b"a", b"c"]


def test_a_topic_that_cannot_be_found_is_refused_with_the_names_of_others() -> None:
    rows = pa.record_batch({"value": ["a"], "topic": ["nowhere"]})

    def find(topic: str) -> int:
        raise UnknownTopic(f"topic {topic!r} does not exist")

    with pytest.raises(UnknownTopic, match=r"does not exist \(existing topics: x\): topic 'nowhere' does not exist"):
        encode(plan(["value", "topic"], {"x": 1}), rows, find_topic=find)


@pytest.mark.parametrize("partition", [3, -2])
def test_partition_that_is_not_there_is_refused(partition: int) -> None:
    rows = pa.record_batch({"value": ["a"], "partition": pa.array([partition], pa.int32())})

    with pytest.raises(UnknownTopic, match=rf"partition {partition} of topic 't', which has the partitions 0 to 2"):
        encode(plan(["value", "partition"], {"t": 3}, topic="t"), rows)


def test_empty_columns_may_come_without_an_offset() -> None:
    """As the Java of Spark 4.0 writes them: no row has headers, so keys and values of headers are empty columns."""
    nothing = pa.py_buffer(b"")
    keys = pa.Array.from_buffers(pa.string(), 0, [None, nothing, nothing])
    contents = pa.Array.from_buffers(pa.binary(), 0, [None, nothing, nothing])
    entries = pa.StructArray.from_arrays([keys, contents], fields=list(HEADERS.value_type))
    offsets = pa.py_buffer(bytes(4 * 3))
    headers = pa.Array.from_buffers(HEADERS, 2, [pa.py_buffer(b"\x00"), offsets], children=[entries])
    rows = pa.record_batch({"value": pa.array([b"a", b"b"]), "headers": headers})

    written, _ = encode(plan(["value", "headers"], {"t": 1}, topic="t"), rows)

    assert [(record.value, record.headers) for record in written["t", 0]] == [(b"a", ()), (b"b", ())]


def test_header_without_a_name_is_refused() -> None:
    rows = pa.record_batch({"value": ["a"], "headers": pa.array([[{"key": None, "value": b"x"}]], HEADERS)})

    with pytest.raises(InvalidColumns, match="key is null"):
        encode(plan(["value", "headers"], {"t": 1}, topic="t"), rows)


def test_row_that_no_request_can_hold_is_refused() -> None:
    rows = pa.record_batch({"value": ["a" * 2000]})

    with pytest.raises(MessageTooLarge, match=r"kafka\.max\.request\.size is 1500"):
        encode(plan(["value"], {"t": 1}, **{"topic": "t", "kafka.max.request.size": "1500"}), rows)


def test_task_without_rows_emits_nothing() -> None:
    empty = pa.record_batch({"value": pa.array([], pa.string())})

    assert encode(plan(["value"], {"t": 1}, topic="t"), empty) == ({}, [])
    assert encode(plan(["value"], {"t": 1}, topic="t")) == ({}, [])


_payload = st.none() | st.binary(max_size=20)
_row = st.tuples(_payload, _payload, st.none() | st.lists(st.tuples(st.text(max_size=3), _payload), max_size=3))


@given(rows=st.lists(_row, max_size=40), cut=st.integers(0, 40), partitions=st.integers(1, 5))
@settings(max_examples=60)
def test_every_row_is_written_once_and_in_order_within_its_partition(
    rows: list[tuple[bytes | None, bytes | None, list[tuple[str, bytes | None]] | None]], cut: int, partitions: int
) -> None:
    def piece(part: list[tuple[bytes | None, bytes | None, list[tuple[str, bytes | None]] | None]]) -> pa.RecordBatch:
        headers = [None if h is None else [{"key": k, "value": v} for k, v in h] for _, _, h in part]
        return pa.record_batch(
            {
                "value": pa.array([value for value, _, _ in part], pa.binary()),
                "key": pa.array([key for _, key, _ in part], pa.binary()),
                "headers": pa.array(headers, HEADERS),
            }
        )

    described = plan(["value", "key", "headers"], {"t": partitions}, **{"topic": "t", "kafka.batch.size": "200"})
    written, _ = encode(described, piece(rows[:cut]), piece(rows[cut:]))

    found = Counter((record.value, record.key, record.headers) for records in written.values() for record in records)
    assert found == Counter((value, key, tuple(headers or ())) for value, key, headers in rows)
    for key in {key for _, key, _ in rows if key is not None}:
        (home,) = {where for where, records in written.items() if any(record.key == key for record in records)}
        kept = [record.value for record in written[home] if record.key == key]
        assert kept == [value for value, other, _ in rows if other == key]


DIGESTED = ["value", "key", "headers", "topic", "partition", "timestamp"]
Row = tuple[bytes | None, bytes | None, list[dict[str, object]] | None, str, int | None, datetime | None]


def piece(rows: list[Row]) -> pa.RecordBatch:
    kinds = (pa.binary(), pa.binary(), HEADERS, pa.string(), pa.int32(), pa.timestamp("us", "UTC"))
    columns = zip(*rows, strict=True) if rows else ([] for _ in kinds)
    arrays = [pa.array(list(column), kind) for column, kind in zip(columns, kinds, strict=True)]
    return pa.record_batch(arrays, names=DIGESTED)


def digest(*pieces: list[Row]) -> ContentDigest:
    """Of a task that gets its rows in these pieces."""
    encoder = TaskEncoder(
        plan(DIGESTED, {"t": 4, "u": 4}, includeTimestamp="true"), lambda *emitted: None, task=len(pieces)
    )
    for some in pieces:
        encoder.add(piece(some))
    encoder.finish()
    return encoder.digest


payloads = st.none() | st.binary(max_size=8) | st.binary(min_size=60, max_size=140)
header_lists = st.none() | st.lists(
    st.fixed_dictionaries({"key": st.text(max_size=3), "value": st.none() | st.binary(max_size=3)}), max_size=2
)
times = st.none() | st.integers(1, 2_000_000_000).map(lambda second: datetime.fromtimestamp(second, UTC))
partitions = st.none() | st.integers(0, 3)
some_rows = st.lists(st.tuples(payloads, payloads, header_lists, st.sampled_from("tu"), partitions, times), max_size=12)


@given(rows=some_rows, data=st.data())
def test_digest_depends_neither_on_the_order_nor_on_the_division_of_rows(rows: list[Row], data: st.DataObject) -> None:
    expected = digest(rows)
    shuffled = data.draw(st.permutations(rows))
    cut, task = sorted((data.draw(st.integers(0, len(rows))), data.draw(st.integers(0, len(rows)))))

    assert digest(shuffled[:cut], shuffled[cut:]) == expected
    assert ContentDigest.of_all([digest(shuffled[:cut]), digest(shuffled[cut:task], shuffled[task:])]) == expected
    assert expected.rows == len(rows)


@given(rows=some_rows, others=some_rows)
def test_digest_tells_rows_apart(rows: list[Row], others: list[Row]) -> None:
    same = Counter(map(_as_written, rows)) == Counter(map(_as_written, others))

    assert (digest(rows) == digest(others)) is same
    # Which rows are there how often.
    if rows:
        assert digest(rows) != digest(rows, rows)
        assert digest([*rows, rows[0]]) != digest(rows)


def _as_written(row: Row) -> tuple[object, ...]:
    """No headers are the same as none: a record cannot tell them apart."""
    value, key, headers, *others = row
    return (value, key, tuple((one["key"], one["value"]) for one in headers or ()), *others)


BASE: Row = (b"v", b"k", [{"key": "h", "value": b"x"}], "t", 1, datetime(2024, 1, 1, tzinfo=UTC))


@pytest.mark.parametrize(
    "changed",
    [
        (None, *BASE[1:]),
        (b"", *BASE[1:]),
        (b"v\x00", *BASE[1:]),
        (b"k", b"v", *BASE[2:]),
        (b"vk", b"", *BASE[2:]),
        (b"", b"vk", *BASE[2:]),
        (*BASE[:2], [{"key": "h", "value": None}], *BASE[3:]),
        (*BASE[:2], [{"key": "h", "value": b""}], *BASE[3:]),
        (*BASE[:2], [{"key": "hx", "value": b""}], *BASE[3:]),
        (*BASE[:2], [{"key": "h", "value": b"x"}] * 2, *BASE[3:]),
        (*BASE[:3], "u", *BASE[4:]),
        (*BASE[:4], None, BASE[5]),
        (*BASE[:4], 2, BASE[5]),
        (*BASE[:5], None),
        (*BASE[:5], datetime(2024, 1, 2, tzinfo=UTC)),
    ],
)
def test_every_part_of_a_row_counts(changed: Row) -> None:
    assert digest([changed]) != digest([BASE])


def test_time_at_which_rows_are_encoded_does_not_count() -> None:
    values = pa.record_batch({"value": ["a", "b"]})
    found = []
    for _ in range(2):
        encoder = TaskEncoder(plan(["value"], {"t": 1}, topic="t"), lambda *emitted: None, task=0)
        encoder.add(values)
        encoder.finish()
        found.append(encoder.digest)
        time.sleep(0.005)

    assert found[0] == found[1]

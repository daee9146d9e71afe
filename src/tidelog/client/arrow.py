"""Records as `pyarrow.RecordBatch`, in the columns of Spark's Kafka source and sink, and back to record batches.

The columns are key, value, topic, partition, offset, timestamp, timestampType and, if wanted, headers. No Python object
is made for a record in either direction: the work is done in `tidelog.records.columns`. pyarrow is imported when it is
used; `pip install 'tidelog[arrow]'` brings it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from tidelog.client.errors import ClientError
from tidelog.records.batch import BatchHeader, Buffer
from tidelog.records.columns import (
    NO_PARTITION,
    BinaryColumn,
    Columns,
    HeadersColumn,
    RowEncoder,
    RowSource,
    decode_columns,
    rows_by_partition,
)
from tidelog.records.compression import Compression

if TYPE_CHECKING:
    import pyarrow as pa

# Spark hands over time in microseconds of UTC, and takes an Arrow batch only if its types are exactly these.
_TIME_UNIT: Final = "us"
_TIME_ZONE: Final = "UTC"
_EVERYTHING: Final = (1 << 63) - 1
DEFAULT_BATCH_SIZE: Final = 256 * 1024


class ArrowMissing(ClientError, ImportError):
    """pyarrow is not installed."""


class UnfitRows(ClientError, ValueError):
    """A RecordBatch whose columns or rows cannot be written as records; the message says which, and why."""


class EncodedBatch(NamedTuple):
    """A finished record batch for one partition, without producer id and sequence."""

    topic: str
    partition: int
    data: bytes
    record_count: int


def arrow_schema(*, with_headers: bool = False) -> pa.Schema:
    """The schema of what is read, as Spark derives it from the columns of its Kafka source."""
    pa = _pyarrow()
    fields = [
        pa.field("key", pa.binary()),
        pa.field("value", pa.binary()),
        pa.field("topic", pa.string()),
        pa.field("partition", pa.int32()),
        pa.field("offset", pa.int64()),
        pa.field("timestamp", pa.timestamp(_TIME_UNIT, tz=_TIME_ZONE)),
        pa.field("timestampType", pa.int32()),
    ]
    if with_headers:
        header = pa.struct([pa.field("key", pa.string()), pa.field("value", pa.binary())])
        fields.append(pa.field("headers", pa.list_(pa.field("element", header))))
    return pa.schema(fields)


# Reading


def records_to_arrow(
    topic: str,
    partition: int,
    batches: Iterable[tuple[BatchHeader, Buffer]],
    *,
    wanted_from: int = 0,
    wanted_until: int = _EVERYTHING,
    with_headers: bool = False,
    check_crc: bool = True,
) -> pa.RecordBatch:
    """Whole record batches of one partition, each with its header, as one RecordBatch.

    Only offsets in [wanted_from, wanted_until) become rows. Which batches a reader may see (no markers, no aborted
    records) has been decided before: see `FetchedPartition.take_batches`. Raises CorruptBatch.
    """
    columns = decode_columns(
        batches, wanted_from=wanted_from, wanted_until=wanted_until, with_headers=with_headers, check_crc=check_crc
    )
    return columns_to_arrow(topic, partition, columns)


def columns_to_arrow(topic: str, partition: int, columns: Columns) -> pa.RecordBatch:
    pa = _pyarrow()
    count = columns.row_count
    milliseconds = pa.Array.from_buffers(
        pa.timestamp("ms", tz=_TIME_ZONE), count, [None, pa.py_buffer(columns.timestamps)]
    )
    arrays: list[Any] = [
        _binary_array(columns.keys, count, pa.binary()),
        _binary_array(columns.values, count, pa.binary()),
        pa.repeat(pa.scalar(topic, pa.string()), count),
        pa.repeat(pa.scalar(partition, pa.int32()), count),
        pa.Array.from_buffers(pa.int64(), count, [None, pa.py_buffer(columns.offsets)]),
        milliseconds.cast(pa.timestamp(_TIME_UNIT, tz=_TIME_ZONE), safe=False),
        pa.Array.from_buffers(pa.int32(), count, [None, pa.py_buffer(columns.timestamp_types)]),
    ]
    if columns.headers is not None:
        arrays.append(_headers_array(columns.headers, count))
    return pa.RecordBatch.from_arrays(arrays, schema=arrow_schema(with_headers=columns.headers is not None))


def _binary_array(column: BinaryColumn, count: int, kind: pa.DataType) -> pa.Array:
    pa = _pyarrow()
    validity = None if column.validity is None else pa.py_buffer(column.validity)
    return pa.Array.from_buffers(
        kind, count, [validity, pa.py_buffer(column.offsets), pa.py_buffer(column.data)], column.nulls
    )


def _headers_array(column: HeadersColumn, count: int) -> pa.Array:
    pa = _pyarrow()
    total = memoryview(column.offsets).cast("i")[count]
    entries = pa.StructArray.from_arrays(
        [_binary_array(column.keys, total, pa.string()), _binary_array(column.values, total, pa.binary())],
        fields=[pa.field("key", pa.string()), pa.field("value", pa.binary())],
    )
    kind = pa.list_(pa.field("element", entries.type))
    return pa.Array.from_buffers(kind, count, [None, pa.py_buffer(column.offsets)], 0, children=[entries])


# Writing


def encode_rows(
    rows: pa.RecordBatch,
    *,
    partition_counts: Mapping[str, int],
    now_ms: int,
    topic: str | None = None,
    batch_size: int = DEFAULT_BATCH_SIZE,
    compression: Compression = Compression.NONE,
    level: int | None = None,
    with_timestamps: bool = False,
    first_partition: int = 0,
) -> Iterator[EncodedBatch]:
    """Rows as finished record batches, each of at most `batch_size` bytes before compression unless a row is larger.

    The columns are those of Spark's Kafka sink: `value` must be there (binary or text); `key`, `headers`, `topic` and
    `partition` may be; `timestamp` counts if `with_timestamps` says so. `topic`, if given, wins over the column. A row
    without a partition goes where its key says, as with Java's client, or else to one partition for about a batch and
    then to the next, beginning with `first_partition`.
    """
    if "value" not in rows.schema.names:
        raise UnfitRows(f"there is no column `value`; the columns are {', '.join(rows.schema.names) or 'none'}")
    for name, part in _by_topic(rows, topic):
        count = partition_counts.get(name)
        if count is None or count < 1:
            raise UnfitRows(
                f"topic {name!r} has no number of partitions; given are those of {', '.join(sorted(partition_counts))}"
            )
        keys = _binary_column(part, "key")
        encoder = RowEncoder(
            RowSource(
                part.num_rows,
                keys,
                _binary_column(part, "value"),
                _headers_column(part),
                _timestamps(part, now_ms) if with_timestamps else None,
                now_ms,
            )
        )
        partitions, first_partition = encoder.partitions(
            keys,
            count,
            chosen=_chosen_partitions(part, name, count),
            run_bytes=batch_size,
            first_partition=first_partition,
        )
        for partition, chosen in rows_by_partition(partitions, part.num_rows, count):
            for batch in encoder.encode(chosen, batch_size=batch_size, compression=compression, level=level):
                yield EncodedBatch(name, partition, batch.data, batch.record_count)


def _by_topic(rows: pa.RecordBatch, topic: str | None) -> Iterator[tuple[str, pa.RecordBatch]]:
    if topic is not None:
        yield topic, rows
        return
    if "topic" not in rows.schema.names:
        raise UnfitRows("there is neither a topic given nor a column `topic` that says where rows go")
    import pyarrow.compute as pc

    column = rows.column("topic")
    if column.null_count:
        raise UnfitRows("the column `topic` is null in some rows, and no other topic is given")
    names = column.unique().to_pylist()
    for name in names:
        yield name, rows if len(names) == 1 else rows.filter(pc.equal(column, name))


def _binary_column(rows: pa.RecordBatch, name: str) -> BinaryColumn | None:
    if name not in rows.schema.names:
        return None
    return _as_binary(rows.column(name), name)


def _as_binary(array: pa.Array, name: str) -> BinaryColumn | None:
    pa = _pyarrow()
    kind = array.type
    if pa.types.is_null(kind):
        return None
    if pa.types.is_dictionary(kind):
        array = array.dictionary_decode()
        kind = array.type
    if not (_is_text(kind) or pa.types.is_binary(kind) or pa.types.is_large_binary(kind)):
        raise UnfitRows(f"column {name!r} is {kind}, and must be binary or string")
    array = array.cast(pa.binary())
    validity, offsets, data = array.buffers()
    return BinaryColumn(
        _memory(validity), _memory(offsets) or bytes(4), _memory(data) or b"", array.offset, array.null_count
    )


def _is_text(kind: pa.DataType) -> bool:
    types = _pyarrow().types
    return bool(types.is_string(kind) or types.is_large_string(kind))


def _headers_column(rows: pa.RecordBatch) -> HeadersColumn | None:
    pa = _pyarrow()
    if "headers" not in rows.schema.names:
        return None
    array = rows.column("headers")
    kind = array.type
    if pa.types.is_null(kind):
        return None
    if not pa.types.is_list(kind) or not pa.types.is_struct(kind.value_type) or kind.value_type.num_fields != 2:
        raise UnfitRows(f"column 'headers' is {kind}, and must be list<struct<key: string, value: binary>>")
    keys, values = array.values.flatten()
    if keys.null_count:
        raise UnfitRows("a header in column 'headers' has no key")
    validity, offsets = array.buffers()[:2]
    empty = BinaryColumn(None, bytes(4 * (len(keys) + 1)), b"")
    return HeadersColumn(
        _memory(validity),
        _memory(offsets) or bytes(4),
        _as_binary(keys, "headers.key") or empty,
        _as_binary(values, "headers.value") or _nulls(len(values)),
        array.offset,
    )


def _nulls(count: int) -> BinaryColumn:
    return BinaryColumn(bytes((count + 7) // 8), bytes(4 * (count + 1)), b"", 0, count)


def _timestamps(rows: pa.RecordBatch, now_ms: int) -> Buffer:
    """Milliseconds as int64; a row without a timestamp gets the time of now."""
    pa = _pyarrow()
    if "timestamp" not in rows.schema.names:
        raise UnfitRows("timestamps are wanted, but there is no column `timestamp`")
    array = rows.column("timestamp")
    if not pa.types.is_timestamp(array.type):
        raise UnfitRows(f"column 'timestamp' is {array.type}, and must be a timestamp")
    milliseconds = array.cast(pa.timestamp("ms", tz=array.type.tz), safe=False).cast(pa.int64())
    if milliseconds.null_count:
        milliseconds = milliseconds.fill_null(now_ms)
    return _fixed(milliseconds, 8)


def _chosen_partitions(rows: pa.RecordBatch, topic: str, count: int) -> Buffer | None:
    pa = _pyarrow()
    if "partition" not in rows.schema.names:
        return None
    import pyarrow.compute as pc

    array = rows.column("partition")
    if pa.types.is_null(array.type):
        return None
    if not pa.types.is_integer(array.type):
        raise UnfitRows(f"column 'partition' is {array.type}, and must be an integer")
    bounds = pc.min_max(array)
    least, most = bounds["min"].as_py(), bounds["max"].as_py()
    if least is not None and (least < 0 or most >= count):
        wrong = least if least < 0 else most
        raise UnfitRows(f"topic {topic!r} has the partitions 0 to {count - 1}, not {wrong}")
    return _fixed(array.cast(pa.int32()).fill_null(NO_PARTITION), 4)


def _fixed(array: pa.Array, width: int) -> Buffer:
    data = memoryview(array.buffers()[1])
    return data[array.offset * width : (array.offset + len(array)) * width]


def _memory(buffer: pa.Buffer | None) -> memoryview | None:
    return None if buffer is None else memoryview(buffer)


def _pyarrow() -> Any:
    try:
        import pyarrow
    except ImportError as error:
        raise ArrowMissing(
            "columns need pyarrow, which is not installed: pip install 'tidelog[arrow]' (or 'tidelog[spark]')"
        ) from error
    return pyarrow

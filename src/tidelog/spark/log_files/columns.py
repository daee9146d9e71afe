"""The columns of `tidelog-log`, and record batches as rows of them.

Records are decoded in bulk (`tidelog.records.columns`); what is the same for all records of a batch is spread over its
rows by Arrow. No Python object is made for a record, except for those of the quorum's control batches.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Final, NamedTuple, TypeVar

import pyarrow as pa
import pyarrow.compute as pc

from tidelog.client.arrow import columns_to_arrow
from tidelog.records.batch import SEQUENCE_MODULUS, BatchHeader
from tidelog.records.columns import decode_columns
from tidelog.records.compression import Compression
from tidelog.records.control import (
    ControlRecord,
    EndTransactionMarker,
    QuorumControl,
    decode_control_record,
    read_end_transaction_marker,
)
from tidelog.records.record import decode_records, read_payload
from tidelog.spark.log_files.segments import SegmentFile
from tidelog.spark.source.batches import null_if_empty
from tidelog.storage.segments.batch_scan import GoodBatch
from tidelog.storage.segments.walk import BadStretch

if TYPE_CHECKING:
    from pyspark.sql.types import StructType

T = TypeVar("T")

_HEADER: Final = pa.struct([pa.field("key", pa.string()), pa.field("value", pa.binary())])

# In the order in which Spark shows them.
ARROW_TYPES: Final[dict[str, pa.DataType]] = {
    "topic": pa.string(),
    "partition": pa.int32(),
    "offset": pa.int64(),
    "timestamp": pa.timestamp("us", tz="UTC"),
    "timestampType": pa.int32(),
    "key": pa.binary(),
    "value": pa.binary(),
    "headers": pa.list_(pa.field("element", _HEADER)),
    "producerId": pa.int64(),
    "producerEpoch": pa.int32(),
    "sequence": pa.int32(),
    "leaderEpoch": pa.int32(),
    "transactionState": pa.string(),
    "controlType": pa.string(),
    "coordinatorEpoch": pa.int32(),
    "compression": pa.string(),
    "segment": pa.string(),
    "batchBaseOffset": pa.int64(),
    "batchPosition": pa.int64(),
    "batchSize": pa.int64(),
    "error": pa.string(),
}
TRANSACTION_STATE: Final = "transactionState"

_OF_MARKERS: Final = ("controlType", "coordinatorEpoch")
_OF_RECORDS: Final = ("offset", "timestamp", "timestampType", "key", "value", "headers")


class StatedBatch(NamedTuple):
    batch: GoodBatch
    # Of its transaction.
    state: str | None


def spark_columns() -> StructType:
    from pyspark.sql.pandas.types import from_arrow_schema

    return from_arrow_schema(pa.schema(ARROW_TYPES))


class RowMaker:
    """Makes rows of the wanted columns, in the order in which they are wanted."""

    def __init__(self, place: SegmentFile, wanted: Sequence[str], max_batch_bytes: int) -> None:
        topic, partition = place.topic_partition
        self._same_for_all = {"topic": topic, "partition": partition, "segment": place.name}
        self._partition = place.topic_partition
        self._wanted = tuple(wanted)
        self._max_batch_bytes = max_batch_bytes

    def records(self, batches: Sequence[StatedBatch]) -> pa.RecordBatch:
        """The records of batches, markers included. Raises CorruptBatch if one cannot be decoded."""
        decoded = columns_to_arrow(
            *self._partition,
            decode_columns(
                [(one.batch.header, one.batch.data) for one in batches],
                with_headers="headers" in self._wanted,
                check_crc=False,
                max_decompressed_bytes=self._max_batch_bytes,
            ),
        )
        of_batch = _numbers_of_rows([one.batch.header.record_count for one in batches])
        arrays: dict[str, pa.Array] = {}
        for name in self._wanted:
            if name in _OF_RECORDS:
                column = decoded.column(decoded.schema.get_field_index(name))
                arrays[name] = null_if_empty(column) if name == "headers" else column
            elif name == "sequence":
                arrays[name] = _sequences(decoded.column("offset"), [one.batch.header for one in batches], of_batch)
            elif name in _OF_BATCH:
                arrays[name] = _spread([_OF_BATCH[name](one) for one in batches], ARROW_TYPES[name], of_batch)
        return self._assemble(arrays, decoded.num_rows)

    def control_records(self, one: StatedBatch) -> pa.RecordBatch:
        """The records of a control batch of the metadata log. Raises CorruptBatch."""
        header, data = one.batch.header, one.batch.data
        records = decode_records(header, read_payload(header, data, self._max_batch_bytes, check_crc=False))
        rows = []
        for record in records:
            control = decode_control_record(record.key, record.value)
            rows.append(
                {
                    "offset": record.offset,
                    "timestamp": record.timestamp * 1000,
                    "timestampType": header.timestamp_type,
                    "key": record.key,
                    "value": record.value,
                    "headers": [{"key": key, "value": value} for key, value in record.headers] or None,
                    **{name: value(one) for name, value in _OF_BATCH.items() if name not in _OF_MARKERS},
                    "controlType": _control_name(control),
                }
            )
        return self._from_rows(rows)

    def errors(self, found: Sequence[BadStretch]) -> pa.RecordBatch:
        """One row for each, with its reason. Nothing that a header says is believed, but its offset may help."""
        return self._from_rows(
            [
                {
                    "offset": None if stretch.header is None else stretch.header.base_offset,
                    "batchBaseOffset": None if stretch.header is None else stretch.header.base_offset,
                    "batchPosition": stretch.position,
                    "batchSize": stretch.size,
                    "error": stretch.reason,
                }
                for stretch in found
            ]
        )

    def problem(self, reason: str) -> pa.RecordBatch:
        """Of the segment as a whole."""
        return self._from_rows([{"error": reason}])

    def _from_rows(self, rows: Sequence[dict[str, Any]]) -> pa.RecordBatch:
        arrays = {name: pa.array([row.get(name) for row in rows], ARROW_TYPES[name]) for name in self._wanted}
        return self._assemble(arrays, len(rows))

    def _assemble(self, arrays: dict[str, pa.Array], count: int) -> pa.RecordBatch:
        columns = []
        for name in self._wanted:
            kind = ARROW_TYPES[name]
            if name in self._same_for_all:
                columns.append(pa.repeat(pa.scalar(self._same_for_all[name], kind), count))
            else:
                columns.append(arrays[name] if name in arrays else pa.nulls(count, kind))
        schema = pa.schema([pa.field(name, ARROW_TYPES[name]) for name in self._wanted])
        return pa.RecordBatch.from_arrays(columns, schema=schema)


def _known(number: int) -> int | None:
    return number if number >= 0 else None


def _of_marker(one: StatedBatch, read: Callable[[EndTransactionMarker], T]) -> T | None:
    marker = read_end_transaction_marker(one.batch.data) if one.batch.header.is_control else None
    return None if marker is None else read(marker)


_OF_BATCH: Final[dict[str, Callable[[StatedBatch], Any]]] = {
    "producerId": lambda one: _known(one.batch.header.producer_id),
    "producerEpoch": lambda one: _known(one.batch.header.producer_epoch),
    "leaderEpoch": lambda one: _known(one.batch.header.partition_leader_epoch),
    TRANSACTION_STATE: lambda one: one.state,
    "controlType": lambda one: _of_marker(one, _control_name),
    "coordinatorEpoch": lambda one: _of_marker(one, lambda marker: marker.coordinator_epoch),
    "compression": lambda one: Compression(one.batch.header.compression).name.lower(),
    "batchBaseOffset": lambda one: one.batch.header.base_offset,
    "batchPosition": lambda one: one.batch.position,
    "batchSize": lambda one: one.batch.header.size,
}


def _control_name(control: ControlRecord) -> str:
    if isinstance(control, EndTransactionMarker):
        return "COMMIT" if control.commit else "ABORT"
    return control.type.name if isinstance(control, QuorumControl) else f"UNKNOWN({control.type})"


def _numbers_of_rows(counts: Sequence[int]) -> pa.Array:
    """For each row, of which batch it is."""
    numbers = array("i")
    for number, count in enumerate(counts):
        numbers.extend(array("i", [number]) * count)
    return pa.Array.from_buffers(pa.int32(), len(numbers), [None, pa.py_buffer(numbers)])


def _spread(values: Sequence[Any], kind: pa.DataType, of_batch: pa.Array) -> pa.Array:
    return pa.array(values, kind).take(of_batch)


def _sequences(offsets: pa.Array, headers: Sequence[BatchHeader], of_batch: pa.Array) -> pa.Array:
    """The sequence number of each record; a batch has only its first one, and they wrap at 2^31."""
    shifts = [header.base_sequence - header.base_offset if header.base_sequence >= 0 else None for header in headers]
    plain = pc.add(offsets, _spread(shifts, pa.int64(), of_batch))
    wrapped = pc.if_else(
        pc.greater_equal(plain, SEQUENCE_MODULUS), pc.subtract(plain, pa.scalar(SEQUENCE_MODULUS, pa.int64())), plain
    )
    return wrapped.cast(pa.int32())

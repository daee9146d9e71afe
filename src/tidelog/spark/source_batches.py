"""From the bytes of a Fetch reply to Arrow batches for Spark: which record batches count, and their columns. No I/O.

Left out are control records, what belongs to aborted transactions, and records outside of the range of the task.
Offsets therefore have gaps, and the position moves over them: at the end of a log there may be nothing but markers.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc

from tidelog.records.batch import BatchHeader, Buffer, iterate_headers
from tidelog.records.control import read_end_transaction_marker
from tidelog.records.record import Record, decode_batch
from tidelog.spark.schema import source_arrow_schema
from tidelog.spark.source_ranges import OffsetRange

# Enough rows for Spark to work on at once, few enough for the memory of a task.
ROWS_PER_ARROW_BATCH = 50_000
BYTES_PER_ARROW_BATCH = 8 * 1024 * 1024

_MICROSECONDS = pa.scalar(1000, pa.int64())


@dataclass(frozen=True, slots=True, kw_only=True)
class Scanned:
    """The batches that a reader sees, and where the next fetch begins. `whole` is False if not one batch was whole."""

    batches: tuple[tuple[BatchHeader, memoryview], ...]
    next_offset: int
    whole: bool


def scan(data: Buffer, position: int, end: int, aborted: Iterable[tuple[int, int]] | None) -> Scanned:
    """Look at headers only. `aborted` are (first offset, producer id); None if the reader wants everything."""
    view = memoryview(data)
    waiting = sorted(aborted) if aborted is not None else []
    waiting.reverse()
    aborting: set[int] = set()
    batches: list[tuple[BatchHeader, memoryview]] = []
    next_offset = position
    whole = False
    for at, header in iterate_headers(data):
        whole = True
        batch = view[at : at + header.size]
        if header.base_offset >= end:
            next_offset = end
            break
        hidden = header.is_control
        if aborted is not None and header.is_transactional:
            while waiting and waiting[-1][0] <= header.last_offset:
                aborting.add(waiting.pop()[1])
            if header.is_control:
                marker = read_end_transaction_marker(batch)
                if marker is not None and not marker.commit:
                    aborting.discard(header.producer_id)
            else:
                hidden = header.producer_id in aborting
        # The first batch may begin before the position, and end there as well.
        if not hidden and header.next_offset > position:
            batches.append((header, batch))
        next_offset = max(next_offset, header.next_offset)
        if next_offset >= end:
            break
    return Scanned(batches=tuple(batches), next_offset=next_offset, whole=whole)


def arrow_batches(
    scanned: Scanned, wanted: OffsetRange, *, include_headers: bool, check_crcs: bool
) -> Iterator[pa.RecordBatch]:
    """The records of the range, as few Arrow batches as the bounds above allow."""
    rows: list[Record] = []
    types: list[tuple[int, int]] = []
    size = 0
    for header, batch in scanned.batches:
        records = decode_batch(batch, check_crc=check_crcs)
        if header.base_offset < wanted.start or header.next_offset > wanted.end:
            records = [record for record in records if wanted.start <= record.offset < wanted.end]
        if not records:
            continue
        rows += records
        types.append((header.timestamp_type, len(records)))
        size += len(batch)
        if len(rows) >= ROWS_PER_ARROW_BATCH or size >= BYTES_PER_ARROW_BATCH:
            yield _to_arrow(rows, types, wanted, include_headers=include_headers)
            rows, types, size = [], [], 0
    if rows:
        yield _to_arrow(rows, types, wanted, include_headers=include_headers)


def _to_arrow(
    rows: list[Record], types: list[tuple[int, int]], wanted: OffsetRange, *, include_headers: bool
) -> pa.RecordBatch:
    schema = source_arrow_schema(include_headers=include_headers)
    offsets, timestamps, keys, values, headers = zip(*rows, strict=True)
    count = len(rows)
    columns = [
        pa.array(keys, pa.binary()),
        pa.array(values, pa.binary()),
        pa.repeat(pa.scalar(wanted.partition.topic), count),
        pa.repeat(pa.scalar(wanted.partition.partition, pa.int32()), count),
        pa.array(offsets, pa.int64()),
        pc.multiply(pa.array(timestamps, pa.int64()), _MICROSECONDS).cast(schema.field("timestamp").type),
        pa.concat_arrays([pa.repeat(pa.scalar(kind, pa.int32()), number) for kind, number in types]),
    ]
    if include_headers:
        # Null where a record has none, as Spark's connector has it.
        described = [[{"key": key, "value": value} for key, value in each] or None for each in headers]
        columns.append(pa.array(described, schema.field("headers").type))
    return pa.RecordBatch.from_arrays(columns, schema=schema)

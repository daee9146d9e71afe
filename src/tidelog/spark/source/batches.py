"""From the record batches of a Fetch reply to Arrow batches for Spark: how many go together, and what they look like.

Which record batches a reader may see is decided in `tidelog.client.consumer.fetched`, their columns are made in
`tidelog.client.arrow`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from itertools import takewhile
from typing import TypeVar

import pyarrow as pa

from tidelog.client.arrow import records_to_arrow
from tidelog.records.batch import BatchHeader
from tidelog.spark.source.ranges import OffsetRange

# Enough rows for Spark to work on at once, few enough for the memory of a task.
ROWS_PER_ARROW_BATCH = 50_000
BYTES_PER_ARROW_BATCH = 8 * 1024 * 1024
# What compressed bytes are counted as. Few records become more than this, and the rows are counted as well.
_EXPANSION = 8

VisibleBatch = tuple[BatchHeader, memoryview]
T = TypeVar("T")


def arrow_batches(
    batches: Iterable[VisibleBatch], wanted: OffsetRange, *, include_headers: bool, check_crcs: bool
) -> Iterator[pa.RecordBatch]:
    """The records of the range, in as few Arrow batches as the bounds above allow."""
    inside = takewhile(lambda one: one[0].base_offset < wanted.end, batches)
    for group in bounded_groups(inside, lambda one: one[0]):
        rows = records_to_arrow(
            wanted.partition.topic,
            wanted.partition.partition,
            group,
            wanted_from=wanted.start,
            wanted_until=wanted.end,
            with_headers=include_headers,
            check_crc=check_crcs,
        )
        if rows.num_rows:
            yield _without_empty_headers(rows) if include_headers else rows


def bounded_groups(batches: Iterable[T], header_of: Callable[[T], BatchHeader]) -> Iterator[list[T]]:
    """Record batches that become one Arrow batch each."""
    group: list[T] = []
    rows = size = 0
    for batch in batches:
        header = header_of(batch)
        group.append(batch)
        rows += header.record_count
        size += header.size * (_EXPANSION if header.compression else 1)
        if rows >= ROWS_PER_ARROW_BATCH or size >= BYTES_PER_ARROW_BATCH:
            yield group
            group, rows, size = [], 0, 0
    if group:
        yield group


def null_if_empty(headers: pa.Array) -> pa.Array:
    """Spark's connector has null where a record has no headers, and not an empty list."""
    # Only here: it takes a worker a quarter of a second, and most read no headers.
    import pyarrow.compute as pc

    some = pc.greater(pc.list_value_length(headers), 0)
    return pc.if_else(some, headers, pa.scalar(None, headers.type))


def _without_empty_headers(rows: pa.RecordBatch) -> pa.RecordBatch:
    place = rows.schema.get_field_index("headers")
    return rows.set_column(place, rows.schema.field(place), null_if_empty(rows.column(place)))

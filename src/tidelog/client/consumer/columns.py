"""What a reader has taken, from several partitions, as one `pyarrow.RecordBatch`.

One partition's batches become columns in `tidelog.client.arrow`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tidelog.client.arrow import arrow_schema, records_to_arrow
from tidelog.client.consumer.fetched import BatchChunk
from tidelog.client.errors import ClientError
from tidelog.model.ids import TopicPartition
from tidelog.records.batch import CorruptBatch

if TYPE_CHECKING:
    import pyarrow


def as_record_batch(
    taken: list[tuple[TopicPartition, BatchChunk]], *, with_headers: bool, check_crcs: bool
) -> tuple[pyarrow.RecordBatch, int]:
    """(the rows, how many of `taken` they are from). Ends before damage; if that is in the first, raises."""
    schema = arrow_schema(with_headers=with_headers)
    import pyarrow

    parts: list[pyarrow.RecordBatch] = []
    for partition, chunk in taken:
        try:
            part = records_to_arrow(
                partition.topic,
                partition.partition,
                chunk.batches,
                wanted_from=chunk.first_offset,
                wanted_until=chunk.next_offset,
                with_headers=with_headers,
                check_crc=check_crcs,
            )
        except CorruptBatch as error:
            if parts:
                break
            raise ClientError(
                f"partition {partition} cannot be read from offset {chunk.first_offset} on: {error}. seek() past it to "
                "go on without it"
            ) from error
        parts.append(part)
    if not parts:
        return pyarrow.RecordBatch.from_pylist([], schema=schema), 0
    return parts[0] if len(parts) == 1 else pyarrow.concat_batches(parts), len(parts)

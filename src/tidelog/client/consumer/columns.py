"""What a reader has taken, from several partitions, as one `pyarrow.RecordBatch`.

One partition's batches become columns in `tidelog.client.arrow`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tidelog.client.arrow import arrow_schema, records_to_arrow
from tidelog.client.fetched import BatchChunk
from tidelog.model.ids import TopicPartition

if TYPE_CHECKING:
    import pyarrow


def as_record_batch(
    taken: list[tuple[TopicPartition, BatchChunk]], *, with_headers: bool, check_crcs: bool
) -> pyarrow.RecordBatch:
    schema = arrow_schema(with_headers=with_headers)
    import pyarrow

    parts = [
        records_to_arrow(
            partition.topic,
            partition.partition,
            chunk.batches,
            wanted_from=chunk.first_offset,
            wanted_until=chunk.next_offset,
            with_headers=with_headers,
            check_crc=check_crcs,
        )
        for partition, chunk in taken
    ]
    if not parts:
        return pyarrow.RecordBatch.from_pylist([], schema=schema)
    return parts[0] if len(parts) == 1 else pyarrow.concat_batches(parts)
